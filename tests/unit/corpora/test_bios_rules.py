"""What the rules of the biographies write and refuse, run as Snakemake runs them but for Snakemake."""

import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from scripts import biographies, biographies_planted, internal_data, splits

COUNTS = {"nurse": (200, 3), "surgeon": (40, 60), "painter": (50, 50), "dj": (1, 30)}
DATA = {"professions": None, "least": 2, "small": "drop"}
SPLITS = {"seeds": [0, 5, 11, 26, 42, 46, 50, 63, 83, 90], "strategies": ["none", "subsampling"]}


class Named(list):
    """Values by name and, lists made flat, as one list: what Snakemake hands to a script."""

    def __init__(self, named):
        super().__init__(each for value in named.values() for each in (value if isinstance(value, list) else [value]))
        self.__dict__ = dict(named)

    def get(self, name):
        return self.__dict__.get(name)

    def items(self):
        return self.__dict__.items()


@pytest.fixture
def run(tmp_path):
    """Run a rule's script; returns the paths of its outputs."""

    def run(script, *, inputs, outputs, params=None):
        found = Named({name: str(tmp_path / name) for name in outputs})
        smk = SimpleNamespace(
            input=Named(inputs),
            output=found,
            params=Named(params or {}),
            log=[str(tmp_path / "log")],
            rule=script.__name__,
            threads=1,
            config={},
        )
        script.main(smk)
        return found

    return run


@pytest.fixture
def files(tmp_path):
    rows = [
        {"text": f"{profession} {gender} {k}.", "profession": profession, "gender": gender}
        for profession, both in COUNTS.items()
        for gender, n in zip("FM", both, strict=True)
        for k in range(n)
    ]
    rows += [*rows[:4], {"text": "Nobody.", "gender": "F"}]
    (tmp_path / "bios.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "labour.csv").write_text("profession,share_of_women\nnurse,0.9\nsurgeon,0.26\n")
    return {"files": [str(tmp_path / "bios.jsonl")], "labour": str(tmp_path / "labour.csv")}


def collect(run, files, **data):
    params = {"data": {**DATA, **data}, "names": ["mine"], "scrubbing": "pronouns", "splits": SPLITS}
    return run(biographies, inputs=files, outputs=["biographies", "professions", "sources"], params=params)


def test_what_is_dropped_is_in_the_table_and_not_in_the_data(run, files):
    found = collect(run, files)
    table = pd.read_csv(found.professions).set_index("profession")
    assert table.index[table["kept"]].tolist() == ["painter", "surgeon"]
    assert "fewer than 2" in table["reason"]["dj"] and "0 men" in table["reason"]["nurse"]
    assert table["labour_share"].dropna().to_dict() == {"nurse": 0.9, "surgeon": 0.26}
    assert set(pd.read_parquet(found.biographies)["profession"]) == {"painter", "surgeon"}


def test_what_was_left_out_is_said_with_the_table(run, files):
    found = collect(run, files)
    inputs = {"professions": found.professions, "sources": found.sources}
    tables = run(internal_data, inputs=inputs, outputs=["csv", "tex", "html"])
    for path in (tables.tex, tables.html):
        text = " ".join(Path(path).read_text().split())
        assert "1 without a profession" in text and "4 whose text was there before" in text


def test_planted_biographies_come_from_no_file(run, files):
    inputs = {"professions": collect(run, files).professions, "sources": []}
    tables = run(internal_data, inputs=inputs, outputs=["csv", "tex", "html"])
    assert "left out" not in Path(tables.html).read_text()


def tried(run, found):
    """The counts of all splits of what a rule wrote."""
    inputs = {"biographies": found.biographies, "professions": found.professions}
    counts = run(splits, inputs=inputs, outputs=["counts"], params={"splits": SPLITS, "advice": "give more of them"})
    return pd.read_csv(counts.counts)


def test_after_dropping_all_splits_can_be_balanced(run, files):
    counts = tried(run, collect(run, files))
    assert set(counts["seed"]) == set(SPLITS["seeds"]) and set(counts["profession"]) == {"painter", "surgeon"}
    assert counts.loc[counts["part"] == "test", ["women", "men"]].min(axis=None) > 0


def test_small_professions_are_refused_before_anything_is_trained(run, files, capsys):
    [path] = files["files"]
    lines = Path(path).read_text().splitlines()  # without dj all are large enough for `least`
    Path(path).write_text("\n".join(line for line in lines if '"dj"' not in line))
    with pytest.raises(SystemExit):
        tried(run, collect(run, files, small="error"))
    message = capsys.readouterr().err
    assert "nurse (200 women, 3 men)" in message and "part of seed" in message and "give more of them" in message


@pytest.mark.parametrize(("n", "enough"), [(400, False), (1000, True)])
def test_planted_biographies_are_enough_or_more_are_asked_for(run, capsys, n, enough):
    params = {"planted": {"bias": 1.0, "seed": 0, "biographies": n}, "scrubbing": "pronouns"}
    found = run(biographies_planted, inputs={}, outputs=["biographies", "professions"], params=params)
    assert len(pd.read_parquet(found.biographies)) == n and pd.read_csv(found.professions)["kept"].all()
    if enough:
        assert tried(run, found)["women"].sum() == (pd.read_parquet(found.biographies)["gender"] == "F").sum() * 10
    else:
        with pytest.raises(SystemExit):
            tried(run, found)
        assert "give more of them" in capsys.readouterr().err
