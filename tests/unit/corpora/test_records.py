"""Records of any format, and tables as pandas writes them: what was written is read, whatever separates the columns."""

import csv
import io
import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.corpora import bec_pro, crows_pairs
from biasflow.corpora.bios import collect_bios
from biasflow.corpora.gest import read_gest
from biasflow.corpora.labour import read_labour
from biasflow.corpora.nli import read_nli
from biasflow.corpora.published_scores import read_scores
from biasflow.corpora.records import columns_of, json_lines, read_records
from biasflow.corpora.stereoset import LABELS, read_gender_swapped
from biasflow.corpora.winogender import read_shares, read_winogender
from biasflow.corpora.word_sets import read_word_pairs, read_word_sets

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


def test_all_rows_of_another_length_are_counted_and_the_first_five_named(read):
    table = [["1", "2", "3"], *[["x"] * n for n in (2, 3, 4, 1, 2, 3, 5, 2)], ["", "", ""]]
    with pytest.raises(
        BiasflowError, match=r"line 3: fewer .*\(6 lines are wrong; the others: 5, 6, 7, 9, \.\.\.\)\.$"
    ):
        read(written(table))


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


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('a,b\nx,"y', "line 2"),
        ('a,b\nx,y\n"x"y,z', "line 3"),
        ("a;b\nx;y\nx;y;z", "line 3: more .*semicolon"),
        ("a,b,a\n", "column 'a'"),
        ("[1]", "JSON array"),
        ('{"a": 1}\n{"a', "line 2, column 2: not valid JSON"),
        ('{"a": 1}\n{"a\n\nb\n{"a": 2}\n{"a": 1, "a": 2}', "line 2, .*JSON.*3 lines are wrong; the others: 4, 6"),
        ('{"a": 1}\n["a"]', "line 2: not a record"),
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


TEXTS = ['"Hello; there," she said', 'a "nurse", then;', '"quoted"', "None", "tab\there"]


# Reader -> a table of its file.
TABLES = {
    "biographies": (
        lambda path: collect_bios({"mine": path}, professions=None)[0],
        {"text": TEXTS, "profession": "nurse", "gender": "F", "name": "None"},
    ),
    "NLI": (lambda path: read_nli(path).pairs, {"premise": TEXTS, "hypothesis": TEXTS[::-1], "label": "neutral"}),
    "GEST": (read_gest, {"sentence": TEXTS, "stereotype": [1, 2, 3, 4, 16]}),
    "CrowS-Pairs": (
        lambda path: crows_pairs.items(path, bias_type="all"),
        {
            "sent_more": TEXTS,
            "sent_less": [*TEXTS[1:], "x"],
            "stereo_antistereo": "stereo",
            "bias_type": "gender",
        },
    ),
    "scores": (read_scores, {"first": TEXTS, "second": TEXTS[::-1], "score": [-0.5, 1, 2, 3, 0]}),
    "shares": (read_labour, {"profession": TEXTS, "share_of_women": 0.5}),
    "word pairs": (lambda path: read_word_pairs(path).words, {"male": ["he", "none"], "female": ["NA", "nan"]}),
    "BEC-Pro": (
        bec_pro.read_bec_pro,
        {
            "Sentence": ["He is a cook, too.", "She is a cook, too."],
            "Template": "<p> is a <o>",
            "Person": ["He", "She"],
            "Gender": ["male", "female"],
            "Profession": "cook",
            "Prof_Gender": "balanced",
        },
    ),
    "Winogender": (
        read_winogender,
        {
            "sentence": ["The nurse said that he, too, left.", "The nurse said that she, too, left."],
            "sentid": ["nurse.patient.0.male.txt", "nurse.patient.0.female.txt"],
        },
    ),
    "shares by occupation": (
        read_shares,
        {"occupation": ["nurse", "cook; chef"], "bls_pct_female": [89.5, 50], "bergsma_pct_female": [88, 40]},
    ),
    "gender-swapped triples": (
        read_gender_swapped,
        {
            "next_sentence": ["She, a nurse; cooks.", "She boxes.", "It rains."],
            "context": "She came.",
            "context_id": "7",
            "label": LABELS,
            "gender": "F",
            "gender_swapped_context": "He came.",
            "gender_swapped_next_sentence": ["He, a nurse; cooks.", "He boxes.", "It rains."],
        },
    ),
    "words": (
        lambda path: read_word_sets(path, "test"),
        {"role": list("XXYYAABB"), "set_name": list("ssttuuvv"), "word": ["null", "NaN", "NA", *TEXTS]},
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_same_is_read_from_every_table_that_pandas_writes(tmp_path, name):
    read, columns = TABLES[name]
    frame, path = pd.DataFrame(columns), tmp_path / "table"
    found = []
    for dialect in ({}, {"sep": ";"}, {"sep": "\t"}, {"sep": "\t", "lineterminator": "\r\n", "encoding": "utf-8-sig"}):
        frame.to_csv(path, index=False, **dialect)
        found.append(read(path))
    frame.to_csv(path.with_suffix(".csv.gz"), index=False)
    found.append(read(path.with_suffix(".csv.gz")))
    for other in found[1:]:
        assert other.equals(found[0]) if hasattr(other, "equals") else other == found[0]
    texts = found[0].astype(str).to_csv() if hasattr(found[0], "to_csv") else str(found[0])
    assert all(text.replace('"', "") in texts.replace('"', "") for text in map(str, next(iter(columns.values()))))


OPTIONAL = {"biographies": {"name"}, "scores": {"first", "second"}}


@pytest.mark.parametrize("name", TABLES)
def test_a_column_that_is_missing_is_named_and_so_is_a_table_without_a_row(tmp_path, name):
    (read, columns), path = TABLES[name], tmp_path / "table"
    frame = pd.DataFrame(columns)
    for column in columns.keys() - OPTIONAL.get(name, set()):
        frame.drop(columns=column).to_csv(path, index=False)
        with pytest.raises(BiasflowError, match=rf"table: .*({column}|give two)"):
            read(path)
    frame.head(0).to_csv(path, index=False)
    with pytest.raises(BiasflowError, match=r"table: .*no (row|biography)"):
        read(path)


@pytest.mark.parametrize("name", TABLES)
def test_no_message_holds_control_characters_of_a_cell(tmp_path, name):
    (tmp_path / "table").write_text("\x1b[2J,b,c\na\x1b]0;title\x07,b,c,d\n")
    with pytest.raises(BiasflowError) as raised:
        TABLES[name][0](tmp_path / "table")
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_labour, "profession;share_of_women\nnurse;0,9\n"),
        (read_scores, "id;score\n0;-1,5\n"),
        (read_scores, "-0,5\n-1,5\n"),
    ],
)
def test_a_decimal_comma_is_named(tmp_path, read, text):
    (tmp_path / "table").write_text(text)
    with pytest.raises(BiasflowError, match="decimal point"):
        read(tmp_path / "table")
