"""Records of any format: what was written is read, and no row of another length is."""

import csv
import io
import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.corpora.records import columns_of, json_lines, read_records, refuse_unknown

cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1, max_size=8)
rows = st.lists(st.lists(cells, min_size=3, max_size=3), max_size=5)


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    def read(text: str, *arguments, **options) -> pd.DataFrame:
        path = tmp_path_factory.getbasetemp() / "records"
        path.write_text(text, encoding="utf-8", newline="")
        return read_records(path, *arguments, **options)

    return read


def written(rows, lineterminator="\n", **dialect):
    stream = io.StringIO()
    csv.writer(stream, lineterminator=lineterminator, **dialect).writerows([["a", "b", "c"], *rows])
    return stream.getvalue()


@pytest.mark.parametrize(
    ("end", "quoting"),
    [("\n", csv.QUOTE_MINIMAL), ("\r\n", csv.QUOTE_MINIMAL), ("\n", csv.QUOTE_ALL), ("\r", csv.QUOTE_ALL)],
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@settings(max_examples=20)
@given(rows=rows)
def test_what_was_written_is_read(read, separator, end, quoting, rows):
    table = read("\ufeff" + written(rows, end, delimiter=separator, quoting=quoting))
    while rows and not any(map(str.strip, rows[-1])):  # as spreadsheets write them at the end
        rows = rows[:-1]
    assert table.to_numpy().tolist() == rows and list(table) == ["a", "b", "c"]
    breaks = [sum(cell.count("\n") for cell in row) for row in rows]
    assert table.index.tolist() == [2 + k + sum(breaks[:k]) for k in range(len(rows))] and table.index.name == "line"


@given(rows=rows, place=st.integers(0, 4), length=st.sampled_from([2, 4]))
def test_a_row_of_another_length_is_named(read, rows, place, length):
    place = min(place, len(rows))
    line = 2 + place + sum(cell.count("\n") for row in rows[:place] for cell in row)
    with pytest.raises(BiasflowError, match=f"records: line {line}: (more|fewer) fields"):
        read(written([*rows[:place], ["x"] * length, *rows[place:]]))


def test_quotes_are_plain_characters_in_published_tables_with_tabs(read):
    text = 'a\tb\n"x, y\tno "z"\n\n"\t\n'
    table = read(text, quoted=lambda names: names != ["a", "b"])
    assert table.to_numpy().tolist() == [['"x, y', 'no "z"'], ['"', ""]] and table.index.tolist() == [2, 4]
    with pytest.raises(BiasflowError, match=r"line 2: .*quotes"):
        read(text)
    assert read('a,b\n\n"x, ""y""",\n', quoted=lambda names: False).to_numpy().tolist() == [['x, "y"', ""]]


@pytest.mark.parametrize(
    ("text", "wanted", "row"),
    [
        ("a,b;c\tb\nx, y;\tz", ["b"], ["z"]),  # tabs, whatever the names hold
        ("id,a;b\n1,x;y", ["a", "b"], ["y"]),
        ("id;a,b,c\n1;x", ["id"], ["1"]),
        ("id;a\n1;x", None, ["1", "x"]),
        (';;\n\na;b;\nx;"y;z";\n;;\n', ["b"], ["y;z"]),
        ("sep=;\r\nid;a\r\n1;x", None, ["1", "x"]),
        ("sep=;\rid;a\r1;x\r", None, ["1", "x"]),
        ('id, a, b\n1, "x, y", z', ["a"], ["x, y"]),
    ],
)
def test_the_header_tells_the_separator(read, text, wanted, row):
    assert read(text, wanted).iloc[0].tolist() == row


def test_words_for_nothing_are_text(read):
    words = ["None", "NA", "nan", "null", "", "NULL"]
    assert read("a,b,c\n" + ",".join(words[:3]) + "\n" + ",".join(words[3:])).to_numpy().ravel().tolist() == words


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('a,b\nx,"y', "line 2"),
        ('a,b\nx,y\n"x"y,z', "line 3"),
        ("a;b\nx;y\nx;y;z", "line 3: more .*semicolon"),
        ("a,b,a\n", "column 'a'"),
        ("[1]", "JSON array"),
        ('{"a": 1}\n{"a', "line 2, column 2: not valid JSON"),
    ],
)
def test_broken_tables_are_named(read, text, named):
    with pytest.raises(BiasflowError, match=f"records: .*{named}"):
        read(text)


@pytest.mark.parametrize(
    ("encoding", "named"),
    [("utf-16", "UTF-16"), ("utf-16-le", "UTF-16"), ("cp1252", "line 3: byte 4 .*Windows-1252, where this is 'é'")],
)
@pytest.mark.parametrize("start", ["a,b\n1,2\n", '{"a": 1}\n{}\n'])
def test_other_encodings_are_named_with_the_one_to_try(tmp_path, encoding, named, start):
    (tmp_path / "records").write_bytes(f"{start}café,x\n".encode(encoding))
    with pytest.raises(BiasflowError, match=f"records: .*{named}"):
        read_records(tmp_path / "records")


def test_what_cannot_be_opened_is_named(tmp_path):
    for path in (tmp_path, tmp_path / "absent", tmp_path / "absent.gz"):
        with pytest.raises(BiasflowError, match=f"{path}: cannot be read"):
            read_records(path)
        with pytest.raises(BiasflowError, match=f"{path}: cannot be read"):
            list(json_lines(path))


@pytest.mark.parametrize("text", ["", "\n \n", "a,b\n", "a\tb\n"])
def test_no_row(read, text):
    assert read(text).empty


def test_columns_that_are_not_wanted_are_named_and_left_out(read, tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    frame.to_parquet(tmp_path / "parquet")
    lines = "".join(json.dumps(row) + "\n" for row in frame.to_dict("records"))
    for found in (
        read(frame.to_csv(index=False), ["b"]),
        read(lines, ["b"]),
        read_records(tmp_path / "parquet", ["b"]),
    ):
        assert list(found) == ["b"] and found["b"].tolist() == ["x", "y"] and found.attrs["columns"] == ["a", "b"]


def test_a_table_without_a_header(read):
    table = read("1,x\n2,y\n", headerless=lambda first: ["a", "b"] if len(first) == 2 else None)
    assert table.to_numpy().tolist() == [["1", "x"], ["2", "y"]] and table.index.tolist() == [1, 2]


def test_objects_lack_what_others_have(read):
    table = read('{"a": 1}\n\n{"b": [2]}\n')
    assert table["a"].tolist() == [1, None] and table["b"].tolist() == [None, [2]] and table.index.tolist() == [1, 3]


def test_columns_are_asked_for_by_the_naming_that_fits_best():
    table = pd.DataFrame({"premise": ["a"], "hypothesis": ["b"], "gold": ["c"]})
    namings = ("premise", "hypothesis", "label"), ("sentence1", "sentence2", "gold")
    with pytest.raises(BiasflowError, match=r"^f\.csv: no column label; .* premise, hypothesis, label or sentence1,"):
        columns_of("f.csv", table, *namings)
    assert columns_of("f.csv", table.rename(columns={"gold": "label"}), *namings) == namings[0]
    with pytest.raises(BiasflowError, match=r"^f\.csv: no row"):
        columns_of("f.csv", table.head(0), ["premise"])


def test_a_value_that_is_none_of_the_known_ones_is_named_with_these():
    values = pd.Series(["a", "x"], pd.Index([2, 3], name="line"), name="kind")
    refuse_unknown("f.csv", values, ["a", "x"])
    with pytest.raises(BiasflowError, match=r"^f\.csv: line 3: column kind: 'x' is none of a, 1\.$"):
        refuse_unknown("f.csv", values, ["a", 1])
