"""Readers of StereoSet and its gender-swapped version, and what the latter's authors changed."""

import copy
import csv
import io
import json

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.base.left_out import LeftOut
from biasflow.corpora.stereoset import LABELS, align, changes, items, read_gender_swapped, read_stereoset
from biasflow.stimuli.triples import own_stimuli


def item(id, noun, *, bias_type="gender"):
    sentences = [
        {"id": f"{id}-{label}", "sentence": f"Sentence {label} on the {noun}.", "gold_label": label, "labels": []}
        for label in reversed(LABELS)
    ]
    context = f"Here comes the {noun}."
    return {"id": id, "target": noun, "bias_type": bias_type, "context": context, "sentences": sentences}


ITEMS = [item("x1", "aunt"), item("x2", "plumber", bias_type="profession"), item("x3", "uncle")]


@pytest.fixture
def read_json(tmp_path):
    def read(items, **options):
        data = {"version": "1", "data": {"intersentence": items, "intrasentence": []}}
        (tmp_path / "dev.json").write_text(json.dumps(data), encoding="utf-8")
        return read_stereoset(tmp_path / "dev.json", **options)

    return read


HEADER = "context_id,context,next_sentence,label,gender,gender_swapped_context,gender_swapped_next_sentence"
ROWS = [
    [
        id,
        f"The {word} came.",
        f"The {word} was {label}.",
        label,
        gender,
        f"The {swapped} came.",
        f"The {swapped} {label}.",
    ]
    for id, word, swapped, gender in (("7", "aunt", "uncle", "F"), ("3", "king", "queen", "M"))
    for label in ("unrelated", "stereotype", "anti-stereotype")
]


@pytest.fixture
def read_csv(tmp_path):
    def read(rows, *, header=HEADER, encoding="utf-8"):
        text = io.StringIO()
        csv.writer(text).writerows([header.split(","), *rows])
        (tmp_path / "dev.csv").write_text(text.getvalue(), encoding=encoding)
        return read_gender_swapped(tmp_path / "dev.csv")

    return read


# StereoSet


def test_reads_the_triples_of_one_bias_type(read_json):
    table = read_json(ITEMS)
    assert list(table.columns) == ["triple", "label", "context", "next_sentence", "target"]
    assert list(table["triple"]) == ["x1"] * 3 + ["x3"] * 3
    assert list(table["label"]) == [*LABELS, *LABELS]  # whatever the file's order
    assert table.loc[1].to_dict() == {
        "triple": "x1",
        "label": "anti-stereotype",
        "context": "Here comes the aunt.",
        "next_sentence": "Sentence anti-stereotype on the aunt.",
        "target": "aunt",
    }
    assert set(read_json(ITEMS, bias_type="profession")["triple"]) == {"x2"}


@pytest.mark.parametrize(
    ("break_it", "field"),
    [
        (lambda it: it.pop("context"), "field context"),
        (lambda it: it.update(context="  "), "field context"),
        (lambda it: it.update(target=7), "field target"),
        (lambda it: it.pop("sentences"), "field sentences"),
        (lambda it: it["sentences"].pop(), "field sentences"),
        (lambda it: it["sentences"][1].update(gold_label="related"), "field gold_label"),
        (lambda it: it["sentences"][1].update(gold_label="unrelated"), "field gold_label"),
        (lambda it: it["sentences"][2].update(sentence=""), "field sentence"),
        (lambda it: it["sentences"][0].pop("sentence"), "field sentence"),
        (lambda it: it.update(id="x1"), "field id"),
        (lambda it: it.update({key: ITEMS[0][key] for key in ("context", "sentences")}), "field context and sentences"),
    ],
)
def test_a_broken_item_is_left_out_and_named_by_position_id_and_field(read_json, break_it, field):
    items, left_out = copy.deepcopy(ITEMS), LeftOut()
    break_it(items[2])
    with left_out.told():
        assert read_json(items).equals(read_json(ITEMS[:2]))
    ((name, why),) = left_out.reasons.items()
    assert name == f"intersentence item 3 (id {items[2]['id']})" and why.startswith(field) and left_out.of == 2


@pytest.mark.parametrize("key", ["bias_type", "id"])
def test_an_item_without_type_or_id_is_named_by_its_position(read_json, key):
    items, left_out = copy.deepcopy(ITEMS), LeftOut()
    del items[2][key]
    with left_out.told():
        read_json(items)
    assert left_out.reasons == {"intersentence item 3": f"field {key}: missing"}


def test_a_file_most_of_whose_items_are_broken_is_wrong_as_a_whole(read_json):
    items = [item(f"x{number}", "aunt") for number in range(3)]  # the same context and sentences
    with pytest.raises(BiasflowError, match=r"dev\.json: .*item 2 \(id x1\): field context and sentences.*2 of 3"):
        read_json(items)


def test_no_triples_of_that_bias_type(read_json):
    with pytest.raises(BiasflowError, match=r"dev\.json: field bias_type.*religion"):
        read_json(ITEMS, bias_type="religion")


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"", "empty"),
        (b"[]", "field data"),
        (b"{}", "field data"),
        (b'{"data": {"intrasentence": []}}', "field intersentence"),
        (b'{"data": {"intersentence": {}}}', "field intersentence"),
        (b'{"data": {"intersentence": []}}', "field intersentence"),
        (b'{"data": {"intersentence": [3]}}', "item 1: field bias_type"),
    ],
)
def test_a_file_that_is_not_stereoset(tmp_path, content, place):
    (tmp_path / "dev.json").write_bytes(content)
    with pytest.raises(BiasflowError, match=rf"dev\.json.*{place}"):
        read_stereoset(tmp_path / "dev.json")


# The gender-swapped version


def test_reads_a_stimuli_table(read_csv):
    table = read_csv(ROWS)
    assert list(table.columns) == [
        *("triple", "label", "gender", "context", "next_sentence", "swapped_context", "swapped_next_sentence")
    ]
    assert list(table["triple"]) == ["7"] * 3 + ["3"] * 3 and list(table["label"]) == [*LABELS, *LABELS]
    assert table.loc[0].to_dict() == {
        "triple": "7",
        "label": "stereotype",
        "gender": "F",
        "context": "The aunt came.",
        "next_sentence": "The aunt was stereotype.",
        "swapped_context": "The uncle came.",
        "swapped_next_sentence": "The uncle stereotype.",
    }


def test_upstreams_misspelt_column_and_a_byte_order_mark_are_accepted(read_csv):
    misspelt = HEADER.replace("swapped_context", "swapped_conext")
    assert read_csv(ROWS, header=misspelt, encoding="utf-8-sig").equals(read_csv(ROWS))


COLUMN = {name: place for place, name in enumerate(HEADER.split(","))}


@pytest.mark.parametrize(
    ("row", "column", "value", "line"),
    [
        (2, "label", "stereo", 4),
        (2, "label", "stereotype", 4),  # a second one
        (4, "gender", "f", 6),
        (4, "gender", "F", 6),  # not that of its triple
        (5, "context", "The king went.", 7),  # not that of its triple
        (0, "next_sentence", " ", 2),
        (0, "gender_swapped_next_sentence", "", 2),
    ],
)
def test_a_triple_with_a_broken_row_is_left_out_and_named_by_line_and_column(read_csv, row, column, value, line):
    rows, left_out = copy.deepcopy(ROWS), LeftOut()
    rows[row][COLUMN[column]] = value
    with left_out.told():
        assert list(read_csv(rows)["triple"]) == (["3"] if row < 3 else ["7"]) * 3
    assert_one(left_out, f"line {line}", f"column {column}:")


def assert_one(left_out: LeftOut, name: str, why: str) -> None:
    assert list(left_out.reasons) == [name] and left_out.reasons[name].startswith(why) and left_out.of == 2


@pytest.mark.parametrize(("rows", "line"), [(ROWS[:-1], 6), ([*ROWS, ROWS[-1]], 8)])
def test_a_triple_that_has_not_its_three_sentences(read_csv, rows, line):
    left_out = LeftOut()
    with left_out.told():
        assert set(read_csv(rows)["triple"]) == {"7"}
    assert_one(left_out, f"line {line}", "column label")


def test_a_swapped_context_that_differs_within_a_triple_is_kept_with_a_warning(read_csv, caplog):
    rows = copy.deepcopy(ROWS)
    rows[1][COLUMN["gender_swapped_context"]] = "Uncle came."
    assert read_csv(rows)["swapped_context"][0] == "Uncle came."
    assert "line 3: column gender_swapped_context" in caplog.text


# What the authors changed


@pytest.fixture
def tables(read_json, read_csv):
    """Four triples; the authors (in another order) dropped d, mended a sentence of b and the context of c."""
    original = read_json(
        [item(id, noun) for id, noun in zip("abcd", ["aunt", "baker", "clown", "dancer"], strict=True)]
    )
    rows = [
        [number, row.context, row.next_sentence, row.label, "F", "Swapped.", "Swapped."]
        for number, id in (("2", "c"), ("0", "a"), ("1", "b"))
        for row in original[original["triple"] == id].itertuples()
    ]
    for row in rows:
        if row[0] == "1" and row[3] == "unrelated":
            row[2] += " It was mended."
        if row[0] == "2":
            row[1] = "Here come the clowns."
    return original, read_csv(rows)


def test_the_authors_triples_are_linked_by_their_text(tables):
    links = align(*tables)
    assert dict(zip(links["authors_triple"], links["triple"], strict=True)) == {"2": "c", "0": "a", "1": "b"}
    assert list(links["similarity"] == 1) == [False, True, False] and links["similarity"].between(0.8, 1).all()


def test_a_triple_without_counterpart_is_named(tables):
    original, authors = tables
    with pytest.raises(BiasflowError, match="triple 1 "):
        align(original[original["triple"] != "b"], authors, least=0.95)


def test_every_change_is_listed(tables):
    found = changes(*tables)
    assert found[["triple", "authors_triple", "change", "label"]].values.tolist() == [
        ["b", "1", "mended", "unrelated"],
        *(["c", "2", "mended", label] for label in LABELS),
        *(["d", "", "dropped", label] for label in LABELS),
    ]
    assert found.loc[0, ["original_next_sentence", "authors_next_sentence"]].tolist() == [
        "Sentence unrelated on the baker.",
        "Sentence unrelated on the baker. It was mended.",
    ]
    assert (found["original_context"] == found["authors_context"]).tolist() == [True] + 6 * [False]
    assert set(found.loc[found["change"] == "dropped", "authors_next_sentence"]) == {""}


# A table of the user's

OWN = [
    "id,context,stereotype,anti-stereotype,unrelated,target",
    "0,My sister is a BLANK.,nurse,pilot,table,sister",
    "1,The BLANKed man,wait,fight,green,man",
    "2,No blank here.,nurse,pilot,table,man",
    "3,He was a BLANK.,,pilot,table,man",
    "4,My sister is a BLANK.,nurse,pilot,table,sister",
    "5,Two BLANK BLANK.,nurse,pilot,table,man",
    "6,He was a BLANK.,pilot,nurse,table,he",
    "7,She was a BLANK.,nurse,pilot,table,she",
]


def test_blanks_of_a_table_are_filled_and_rows_that_cannot_be_used_are_left_out(tmp_path):
    (tmp_path / "own.csv").write_text("\n".join(OWN))
    with (left_out := LeftOut()).told():
        table = items(tmp_path / "own.csv", own=True)
    assert left_out.reasons == {
        "line 4": "context has not exactly one BLANK",
        "line 5": "stereotype is empty",
        "line 6": "context is there with the same texts already",
        "line 7": "context has not exactly one BLANK",
    }
    once = table[table["filling"] == "together"]
    words = [text[start:end] for text, start, end in once[["text", "start", "end"]].itertuples(index=False)]
    assert words == ["nurse", "pilot", "table", "waited", "fighted", "greened", "pilot", "nurse", "table", *words[:3]]
    assert once["label"].tolist() == [*LABELS] * 4 and once["target"].tolist()[::3] == ["sister", "man", "he", "she"]
    assert once["text"].iloc[4] == "The fighted man" and once["item"].tolist()[::3] == ["2", "3", "8", "9"]
    # by the authors' reading the whole word stands before what the context has of it
    assert table.loc[table["filling"] == "one-mask", "text"].iloc[4] == "The fighted ed man"


def test_triples_of_a_table_are_sentences_that_may_follow_in_the_order_of_the_file(tmp_path):
    lines = [OWN[0].removesuffix(",target"), *(f"{n},She came.,S {n}.,A {n}.,U {n}." for n in range(12))]
    (tmp_path / "own.csv").write_text("\n".join(lines))
    table = items(tmp_path / "own.csv", own=True, part="intersentence")
    assert table["item"].tolist()[::3] == table["target"].tolist()[::3] == [str(n + 2) for n in range(12)]
    assert table["next_sentence"].tolist()[-3:] == ["S 11.", "A 11.", "U 11."] and set(table["context"]) == {
        "She came."
    }
    with pytest.raises(BiasflowError, match=r"own\.csv: no column unrelated"):
        (tmp_path / "own.csv").write_text("context,stereotype,anti-stereotype\na,b,c\n")
        items(tmp_path / "own.csv", own=True)


def test_triples_of_the_user_are_swapped_and_those_without_a_gender_left_out(tmp_path):
    lines = [
        "context,stereotype,anti-stereotype,unrelated",
        "My sister came.,She is a nurse.,She is a pilot.,It rains.",
        "It rains.,A nurse came.,A pilot came.,Tables are green.",
    ]
    (tmp_path / "own.csv").write_text("\n".join(lines))
    with (left_out := LeftOut()).told():
        table = own_stimuli(tmp_path / "own.csv")
    assert left_out.reasons == {"item 3": "has no word of a gender"}
    assert table["swapped_next_sentence"].tolist() == ["He is a nurse.", "He is a pilot.", "It rains."]
    assert table["swapped_context"].tolist() == ["My brother came."] * 3 and table["label"].tolist() == [*LABELS]
