"""Reading biographies: every format, the codings, what is left out and counted, and what is refused."""

import importlib
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.bios import COLUMNS, PROFESSIONS, collect_bios, name_parts
from biasflow.corpora.labour import read_labour

ROWS = [
    {"text": 'She heals "all", always.', "profession": "nurse", "gender": "F"},
    {"text": "He reads, and reads.", "profession": "professor", "gender": "M"},
]
EXPECTED = [("nurse", "F"), ("professor", "M")]


def read_bios(path, **options):
    """The biographies of one file."""
    return collect_bios({str(path): path}, **options)[0]


def as_json(rows, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def as_parquet(rows, path):
    pd.DataFrame(rows).to_parquet(path)


def as_pickle(rows, path, protocol=4):
    path.write_bytes(pickle.dumps(rows, protocol=protocol))


@pytest.fixture
def write(tmp_path):
    def write(rows, how=as_json, name="bios.data"):
        how(rows, tmp_path / name)
        return tmp_path / name

    return write


def labels(bios):
    return list(zip(bios["profession"], bios["gender"], strict=True))


@pytest.mark.parametrize("how", [as_json, as_parquet, as_pickle])
def test_every_format_gives_the_same_table(write, how):
    bios = read_bios(write(ROWS, how))
    assert tuple(bios.columns) == COLUMNS and labels(bios) == EXPECTED
    assert bios["text"].tolist() == [row["text"] for row in ROWS]
    assert bios["name"].tolist() == bios["scrubbed"].tolist() == ["", ""]


def test_the_hubs_numbers(write):
    rows = [
        {"hard_text": "She heals.", "profession": 13, "gender": 1},
        {"hard_text": "He reads.", "profession": 21, "gender": 0},
    ]
    for how in (as_parquet, as_json):
        assert labels(read_bios(write(rows, how))) == EXPECTED


def test_a_number_beyond_the_hubs_is_refused(write):
    rows = [{"hard_text": "She heals.", "profession": 28, "gender": 1}]
    with pytest.raises(BiasflowError, match="row 1: column profession: 28"):
        read_bios(write(rows, as_parquet))


@pytest.mark.parametrize("profession", ["Yoga Teacher", "yoga_teacher", " yoga teacher"])
def test_spellings_of_a_profession(write, profession):
    assert read_bios(write([{**ROWS[0], "profession": profession}]))["profession"].tolist() == ["yoga_teacher"]


def test_an_unknown_profession_is_refused_unless_ones_own_are_given(write):
    path = write([{**ROWS[0], "profession": "Sword Swallower"}])
    with pytest.raises(BiasflowError, match="Sword Swallower"):
        read_bios(path)
    assert read_bios(path, professions=None)["profession"].tolist() == ["Sword Swallower"]
    assert read_bios(path, professions=["sword_swallower", "x"])["profession"].tolist() == ["sword_swallower"]
    with pytest.raises(BiasflowError, match="Sword Swallower"):
        read_bios(path, professions=["x"])


@pytest.mark.parametrize("professions", [PROFESSIONS, None])
def test_rows_without_a_profession_are_counted(write, professions):
    without = [{"text": "A.", "gender": "F"}, {"text": "B.", "gender": "M", "profession": " "}]
    without.append({"text": "C.", "gender": "M", "profession": ""})
    bios, summary = collect_bios({"mine": write([*ROWS, *without])}, professions=professions)
    assert labels(bios) == EXPECTED
    assert summary.to_dict("records") == [
        {"file": "mine", "read": 5, "no_profession": 3, "duplicate": 0, "conflicting": 0, "kept": 2}
    ]


def test_repeated_texts_across_files(tmp_path):
    """The first copy stays; of copies that differ in label none does."""
    doubtful = {"text": "Twice.", "profession": "poet", "gender": "M"}
    as_json([*ROWS, doubtful], tmp_path / "one")
    again = [{**ROWS[0], "text": f" {ROWS[0]['text']}"}, {**doubtful, "gender": "F"}, {**doubtful, "text": "Once."}]
    as_json(again, tmp_path / "two")
    bios, summary = collect_bios({"first": tmp_path / "one", "second": tmp_path / "two"})
    assert bios["text"].tolist() == [ROWS[0]["text"], ROWS[1]["text"], "Once."]
    columns = ["file", "read", "no_profession", "duplicate", "conflicting", "kept"]
    assert summary[columns].to_numpy().tolist() == [["first", 3, 0, 0, 1, 2], ["second", 3, 0, 1, 1, 1]]


def test_names_and_scrubbed_texts(write):
    rows = [
        {**ROWS[0], "name": ["Ada", "", "King"], "scrubbed": "_ heals."},
        {**ROWS[1], "name": "Ben Hill", "scrubbed": None},
    ]
    bios = read_bios(write(rows))
    assert bios["name"].map(name_parts).tolist() == [("Ada", "King"), ("Ben", "Hill")]
    assert bios["scrubbed"].tolist() == ["_ heals.", ""]
    assert name_parts("Ada||De La Cruz") == ("Ada", "De La Cruz") and name_parts("") == ()


BIOS_PKL = {
    "raw": "Ada King is a nurse. She heals.",
    "start_pos": 20,
    "title": "nurse",
    "gender": "F",
    "name": ("Ada", "", "King"),
    "bio": "_ heals.",
    "path": "crawl/x.gz",
}


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize("name", ["BIOS.pkl", "BIOS.pickle"])
def test_the_original_pickle(tmp_path, protocol, name):
    as_pickle([BIOS_PKL], tmp_path / name, protocol)
    [bio] = read_bios(tmp_path / name).itertuples(index=False)
    assert tuple(bio) == (" She heals.", "nurse", "F", "Ada||King", "_ heals.")  # the leading space stays


class Trap:
    """A pickle of it calls something when it is read in the ordinary way."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


TRAPS = {
    "method": lambda path: Trap(Path.touch, path),
    "exec": lambda path: Trap(exec, f"open({str(path)!r}, 'w').close()"),
    "eval": lambda path: Trap(eval, f"open({str(path)!r}, 'w').close()"),
    "open": lambda path: Trap(open, str(path), "w"),
    "system": lambda path: Trap(os.system, f"touch '{path}'"),
    "import": lambda path: Trap(importlib.import_module, path.stem),
}


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("trap", TRAPS)
def test_a_pickle_with_a_global_is_refused_and_runs_nothing(tmp_path, protocol, trap, monkeypatch):
    sprung = tmp_path / f"sprung_{protocol}"
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{sprung.stem}.py").write_text(f"open({str(sprung)!r}, 'w').close()")  # what "import" runs
    for content in (TRAPS[trap](sprung), [{**BIOS_PKL, "raw": TRAPS[trap](sprung)}]):
        as_pickle(content, tmp_path / "BIOS.pkl", protocol)
        with pytest.raises(BiasflowError, match=r"BIOS\.pkl: the pickle asks for"):
            read_bios(tmp_path / "BIOS.pkl")
        assert not sprung.exists()
    pickle.loads((tmp_path / "BIOS.pkl").read_bytes())
    assert sprung.exists()  # the trap works


def refused(path):
    """The message: one line that names the file, clipped, without doubled full stops, that can be written."""
    with pytest.raises(BiasflowError) as error:
        read_bios(path)
    message = str(error.value)
    assert str(path) in message and not message.endswith("..")
    assert len(message.removeprefix(str(path))) < 700 and message.isprintable()
    return message.removeprefix(str(path))


HUGE, LONG = pytest.param(10**400, id="huge"), pytest.param("x" * 10**5, id="long")


ODD = [["F"], {"F": 1}, [["a"] * 50] * 50, True, 1.5, HUGE, LONG]


@pytest.mark.parametrize(
    ("column", "value"),
    [(column, value) for column in ("profession", "gender") for value in ODD]
    + [("gender", value) for value in ("x", "", None, "woman", 1)],
)
def test_a_label_of_any_kind_is_refused_in_one_line(write, column, value):
    path = write([{"hard_text": "A.", **ROWS[0]}, {"hard_text": "B.", **ROWS[1], column: value}])
    assert f"line 2: column {column}" in refused(path)


@pytest.mark.parametrize("depth", [500, 100_000])
def test_deep_nesting_is_refused(tmp_path, depth):
    line = json.dumps(ROWS[0])
    deep = line.replace('"F"', "[" * depth + "]" * depth)
    (tmp_path / "bios").write_text(f"{line}\n{deep}\n")
    assert "line 2" in refused(tmp_path / "bios")


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf", b"text,profession,gender\n"])
def test_an_empty_file_holds_no_biography(tmp_path, content):
    (tmp_path / "bios").write_bytes(content)
    assert "no biography" in refused(tmp_path / "bios")


BAD_PICKLES = [b"", b"\x80\x04", b"\x80\x04]q", b"\x80\xff.", b"rubbish", b"P0\n.", b"\x80\x04K\x01Q."]
BAD_PICKLES += [b"\x80\x04\x8c\x01ax", b"c" + b"o" * 9999 + b"\nx\n."]
OTHER_PICKLES = [pickle.dumps(records, protocol=4) for records in ({"raw": "x"}, ["x"], [])]


@pytest.mark.parametrize("content", BAD_PICKLES + OTHER_PICKLES)
def test_a_pickle_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "BIOS.pkl").write_bytes(content)
    refused(tmp_path / "BIOS.pkl")


HUB = [("She heals.", 13, 1), ("He reads.", 21, 0), ("He cuts.", 25, 0)]


@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_missing_number_is_named(tmp_path, row):
    """pandas makes the other numbers of the column 13.0, 21.0."""
    table = pd.DataFrame(HUB, columns=["hard_text", "profession", "gender"])
    table.loc[row, "gender"] = None
    table.to_csv(tmp_path / "hub.csv", index=False)
    assert f"{row + 2}: column gender: None" in refused(tmp_path / "hub.csv")


HEADER = "profession,bls_occupation,share_of_women,year,source,note\n"
TEXT = HEADER + 'nurse,Registered nurses,0.874,2020,"BLS, table 11",\ndj,,,,,no share published\n'


def test_shares_by_profession(save):
    expected = pd.Series([0.874, np.nan], index=pd.Index(["nurse", "dj"], name="profession"), name="share_of_women")
    pd.testing.assert_series_equal(read_labour(save(TEXT)), expected)
    assert read_labour(save(TEXT)).reindex(["plumber", "nurse"]).tolist() == pytest.approx([np.nan, 0.874], nan_ok=True)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (TEXT.replace("dj,", "nurse,"), "line 3: column profession: 'nurse' is repeated"),
        (TEXT.replace("dj,", " ,"), "line 3"),
        (TEXT.replace("2020", ""), "nurse.*year"),
        (TEXT.replace("Registered nurses", ""), "nurse.*bls_occupation"),
        (TEXT.replace("no share published", ""), "dj"),
        (TEXT.replace("dj,,", "dj,Disc jockeys,"), "dj"),
    ],
)
def test_wrong_files_are_refused(save, text, named):
    with pytest.raises(BiasflowError, match=named):
        read_labour(save(text))
