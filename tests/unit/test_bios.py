"""Reading biographies: every format, the codings, what is left out and counted, and what is refused."""

import json
import pickle
from pathlib import Path

import pandas as pd
import pytest

from scripts.biasflow.corpora.bios import (
    COLUMNS,
    PROFESSIONS,
    collect_bios,
    keep_professions,
    name_parts,
    read_bios,
)
from scripts.biasflow.errors import BiasflowError

ROWS = [
    {"text": 'She heals "all", always.', "profession": "nurse", "gender": "F"},
    {"text": "He reads, and reads.", "profession": "professor", "gender": "M"},
]
EXPECTED = [("nurse", "F"), ("professor", "M")]


def as_json(rows, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def as_csv(rows, path):
    pd.DataFrame(rows).to_csv(path, index=False)


def as_tsv(rows, path):
    lines = ["\t".join(rows[0]), *("\t".join(row.values()) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


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


def test_professions_are_the_28_in_alphabetical_order():
    assert len(PROFESSIONS) == 28 and list(PROFESSIONS) == sorted(set(PROFESSIONS))
    assert PROFESSIONS.index("nurse") == 13 and PROFESSIONS.index("professor") == 21


@pytest.mark.parametrize("how", [as_json, as_csv, as_tsv, as_parquet, as_pickle])
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


def test_other_files_have_no_numbers(write):
    """1 means a woman on the hub, and may mean a man elsewhere."""
    rows = [{**row, "gender": number} for number, row in enumerate(ROWS)]
    with pytest.raises(BiasflowError, match=r"line 1: gender: 0"):
        read_bios(write(rows))
    with pytest.raises(BiasflowError, match=r"row 1: gender: '0'"):
        read_bios(write(rows, as_csv))


def test_a_number_beyond_the_hubs_is_refused(write):
    rows = [{"hard_text": "She heals.", "profession": 28, "gender": 1}]
    with pytest.raises(BiasflowError, match="row 1: profession: 28"):
        read_bios(write(rows, as_parquet))


@pytest.mark.parametrize("gender", ["f", "F", "female", "Female", " F "])
def test_spellings_of_gender(write, gender):
    assert read_bios(write([{**ROWS[0], "gender": gender}]))["gender"].tolist() == ["F"]


@pytest.mark.parametrize("gender", ["x", "", None, "woman", 1])
def test_any_other_gender_is_named_with_file_and_row(write, gender):
    path = write([ROWS[1], {**ROWS[0], "gender": gender}])
    with pytest.raises(BiasflowError, match="line 2: gender") as error:
        read_bios(path)
    assert str(path) in str(error.value) and repr(gender) in str(error.value)


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


def test_one_file_twice_is_read_once(write):
    path = write(ROWS)
    bios, summary = collect_bios({"a": path, "b": path})
    assert labels(bios) == EXPECTED and summary["duplicate"].tolist() == [0, 2]


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
    """A pickle of it writes a file when it is read in the ordinary way."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("where", ["alone", "in a field"])
def test_a_pickle_with_a_global_is_refused_and_runs_nothing(tmp_path, protocol, where):
    sprung = tmp_path / "sprung"
    content = Trap(sprung) if where == "alone" else [{**BIOS_PKL, "raw": Trap(sprung)}]
    as_pickle(content, tmp_path / "BIOS.pkl", protocol)
    with pytest.raises(BiasflowError, match=r"pathlib|builtins|getattr") as error:
        read_bios(tmp_path / "BIOS.pkl")
    assert "BIOS.pkl" in str(error.value) and not sprung.exists()
    pickle.loads((tmp_path / "BIOS.pkl").read_bytes())
    assert sprung.exists()  # the trap works


@pytest.mark.parametrize("content", [b"", b"\x80\x04", b"\x80\x04]q", b"\x80\xff.", b"rubbish", b"P0\n."])
def test_a_damaged_pickle_is_named(tmp_path, content):
    (tmp_path / "BIOS.pkl").write_bytes(content)
    with pytest.raises(BiasflowError, match=r"BIOS\.pkl"):
        read_bios(tmp_path / "BIOS.pkl")


@pytest.mark.parametrize("records", [{"raw": "x"}, ["x"], []])
def test_a_pickle_of_something_else_is_named(tmp_path, records):
    as_pickle(records, tmp_path / "BIOS.pkl")
    with pytest.raises(BiasflowError, match=r"BIOS\.pkl"):
        read_bios(tmp_path / "BIOS.pkl")


@pytest.mark.parametrize("start", [None, -1, 2.5, "3"])
def test_a_wrong_start_is_named(tmp_path, start):
    as_pickle([BIOS_PKL, {**BIOS_PKL, "start_pos": start}], tmp_path / "BIOS.pkl")
    with pytest.raises(BiasflowError, match="record 2: start_pos"):
        read_bios(tmp_path / "BIOS.pkl")


@pytest.mark.parametrize("text", ["", "  ", None, 3])
def test_an_empty_text_is_named(write, text):
    with pytest.raises(BiasflowError, match="line 2: text"):
        read_bios(write([ROWS[0], {**ROWS[1], "text": text}]))


@pytest.mark.parametrize("column", ["text", "profession", "gender"])
@pytest.mark.parametrize("how", [as_json, as_csv, as_parquet])
def test_a_missing_column_is_named(write, column, how):
    rows = [{key: value for key, value in row.items() if key != column} for row in ROWS]
    with pytest.raises(BiasflowError, match=column):
        read_bios(write(rows, how))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "bios.data"),
        (b"text,profession,gender\n", "no biography"),
        (b'{"text": "A"}\nno json\n', "line 2"),
        (b'{"text": "A"}\n[1]\n', "line 2"),
        (b"PAR1 and no more", "Parquet"),
        (b"text,profession,gender\na,b,c,d\n\n,,,,,\n", "bios.data"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_an_unreadable_file_is_named(tmp_path, content, named):
    (tmp_path / "bios.data").write_bytes(content)
    with pytest.raises(BiasflowError, match=named):
        read_bios(tmp_path / "bios.data")


def test_no_file(tmp_path):
    with pytest.raises(BiasflowError, match="absent"):
        read_bios(tmp_path / "absent")
    with pytest.raises(BiasflowError, match="no file"):
        collect_bios({})


def test_nothing_left(write):
    with pytest.raises(BiasflowError, match="no biography is left"):
        read_bios(write([{"text": "A.", "gender": "F", "profession": None}]))


def bios_of(**counts):
    rows = [
        (f"{name} {gender} {k}", name, gender, "", "")
        for name, (women, men) in counts.items()
        for gender, count in (("F", women), ("M", men))
        for k in range(count)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def test_professions_that_are_too_small():
    bios = bios_of(nurse=(5, 3), dj=(0, 9), poet=(3, 3), model=(2, 8))
    with pytest.raises(BiasflowError, match=r"dj \(0 women, 9 men\), model \(2 women, 8 men\)"):
        keep_professions(bios, least=3)
    kept, table = keep_professions(bios, least=3, small="drop")
    assert set(kept["profession"]) == {"nurse", "poet"} and len(kept) == 14
    assert kept.index.tolist() == list(range(14))
    assert table[["profession", "women", "men", "kept"]].to_numpy().tolist() == [
        ["dj", 0, 9, False],
        ["model", 2, 8, False],
        ["nurse", 5, 3, True],
        ["poet", 3, 3, True],
    ]
    assert (table["reason"] == "").tolist() == table["kept"].tolist()


def test_all_large_enough_and_all_too_small():
    bios = bios_of(nurse=(5, 3), poet=(3, 3))
    kept, table = keep_professions(bios, least=3)
    assert kept.equals(bios) and table["kept"].all()
    with pytest.raises(BiasflowError, match="poet"):
        keep_professions(bios, least=4, small="drop")


@pytest.mark.parametrize("wrong", [{"least": 1}, {"least": 2, "small": "keep"}])
def test_wrong_arguments(wrong):
    with pytest.raises(BiasflowError, match=str(list(wrong.values())[-1])):
        keep_professions(bios_of(nurse=(5, 3), poet=(3, 3)), **wrong)
