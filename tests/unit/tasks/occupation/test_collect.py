"""The biographies of a task: what is dropped from files, and whether all splits can be balanced."""

import json
from pathlib import Path

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.bios import dropped
from biasflow.corpora.labour import read_labour
from biasflow.overview.notes import dropped_of_tasks
from biasflow.tasks.occupation.collect import from_files, from_world
from biasflow.tasks.occupation.data import check_balanceable, split_counts

COUNTS = {"nurse": (200, 3), "surgeon": (40, 60), "painter": (50, 50), "dj": (1, 30)}
DATA = {"professions": None, "least": 20, "small": "drop"}
SPLITS = {"seeds": [0, 5, 11, 26, 42, 46, 50, 63, 83, 90], "strategies": ["plain", "subsampling"]}


@pytest.fixture
def file(tmp_path) -> Path:
    rows = [
        {"text": f"{profession} {gender} {k}.", "profession": profession, "gender": gender}
        for profession, both in COUNTS.items()
        for gender, n in zip("FM", both, strict=True)
        for k in range(n)
    ]
    rows += [*rows[:4], {"text": "Nobody.", "gender": "F"}]
    path = tmp_path / "bios.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def collect(file: Path, **data):
    labour = file.with_name("labour.csv")
    labour.write_text("profession,share_of_women\nnurse,0.9\nsurgeon,0.26\n")
    return from_files({"mine": str(file)}, DATA | data, read_labour(labour))


def balanced(found) -> pd.DataFrame:
    """The counts of all splits, after they were tried as the rule `splits` does."""
    check_balanceable(found.texts, advice="give more of them", **SPLITS)
    return split_counts(found.texts, SPLITS["seeds"])


def test_what_is_dropped_is_in_the_table_and_not_in_the_data(file):
    found = collect(file)
    table = found.professions.set_index("profession")
    assert table.index[table["kept"]].tolist() == ["painter", "surgeon"]
    assert set(table["reason"][["dj", "nurse"]]) == {"fewer than 20 of a gender"}
    assert table["labour_share"].dropna().to_dict() == {"nurse": 0.9, "surgeon": 0.26}
    assert set(found.texts["profession"]) == {"painter", "surgeon"}
    (file.parent / "bios").mkdir()
    found.professions.to_csv(file.parent / "bios/professions.csv", index=False)  # as the job of the page reads it
    said = "2 of 4 professions dropped (fewer than 20 of a gender): dj (1 women, 30 men), nurse (200 women, 3 men)"
    assert dropped_of_tasks([file.parent / "bios/professions.csv"]) == [f"bios: {said}."]
    assert dropped(found.professions[found.professions["kept"]]) == ""


@pytest.mark.parametrize(("n", "enough"), [(400, False), (1000, True)])
def test_planted_biographies_are_enough_or_more_are_asked_for(n, enough):
    found = from_world(bias=1.0, seed=0, biographies=n, advice="more")
    assert len(found.texts) == n and found.professions["kept"].all()
    assert found.professions["labour_share"].between(0, 1).all()
    if enough:
        assert balanced(found)["women"].sum() == (found.texts["gender"] == "F").sum() * 10
    else:
        with pytest.raises(BiasflowError, match="give more of them"):
            balanced(found)
