"""One odd item of a file is left out, counted and named; the others are as they are without it."""

import json

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.base.left_out import LeftOut, leave_out
from biasflow.corpora import bec_pro, crows_pairs, gest, stereoset, stereoset_pairs, winogender

HEADER = "id,sent_more,sent_less,stereo_antistereo,bias_type"
PAIRS = [HEADER, "0,A.,B.,stereo,age", "1,C.,D.,antistereo,age", "2,E.,F.,stereo,age"]
BEC = "\tSentence\tTemplate\tPerson\tGender\tProfession\tProf_Gender"
BEC_ROWS = [  # the templates of the first profession come in another order than those of one that lacks a row
    f"-\t{template.format(person, job)}\t{template.format('x', 'y')}\t{person}\t{gender}\t{job}\tmale"
    for job in ("cook", "taper", "miner")
    for template in ("{} is a {}.", "{} was a {}.")
    for person, gender in (("He", "male"), ("She", "female"))
]
SHARES = "occupation\tbergsma_pct_female\tbls_pct_female\nnurse\t88\t89\ncook\t50\t51"
WINOGENDER = ["sentid\tsentence"] + [
    f"{item}.{gender}.txt\t{text.format(word)}"
    for item, text in (
        ("nurse.patient.1", "The nurse told that {} was late."),
        ("nurse.patient.0", "The nurse said that {} was late."),
        ("cook.guest.0", "The cook said that {} was late."),
    )
    for gender, word in (("male", "he"), ("female", "she"))
]


def blank(number: int, context: str = "The BLANK nurse.", *words: str) -> dict:
    sentences = [
        {"gold_label": label, "sentence": context.replace("BLANK", word)}
        for label, word in zip(stereoset.LABELS, words or ("kind", "rich", "red"), strict=True)
    ]
    return {"id": f"x{number}", "bias_type": "gender", "target": "nurse", "context": context, "sentences": sentences}


def stereoset_file(*items: dict) -> str:
    return json.dumps({"data": {"intrasentence": items}})


def lines(*rows: str) -> str:
    return "\n".join(rows) + "\n"


def crows(path):
    return crows_pairs.items(path, bias_type="age")


def read_winogender(path):
    shares = path.with_name("shares.tsv")
    shares.write_text(SHARES)
    return winogender.items(path, shares)


FILES = {  # reader, file with the odd item, file without it, its name, why
    "no second sentence": (crows, lines(*PAIRS, "3,G.,,stereo,age"), lines(*PAIRS), "line 5", "sent_less is empty"),
    "no difference": (crows, lines(*PAIRS, "3,G.,G.,stereo,age"), lines(*PAIRS), "line 5", "sent_less is sent_more"),
    "no direction": (crows, lines(*PAIRS, "3,G.,H.,-,age"), lines(*PAIRS), "line 5", "stereo_antistereo is none"),
    "an empty sentence": (
        gest.items, "sentence,stereotype\nI cook.,4\nI won.,3\n ,3\n", "sentence,stereotype\nI cook.,4\nI won.,3\n",
        "line 4", "sentence is empty",
    ),
    "no stereotype": (
        gest.items, "sentence,stereotype\nI cook.,4\nI won.,3\nI lost.,17\n",
        "sentence,stereotype\nI cook.,4\nI won.,3\n", "line 4", "stereotype is none of",
    ),
    "another profession": (
        lambda path: bec_pro.items(path).query("profession != 'cook' or template != 0").drop(columns="item"),
        lines(BEC, BEC_ROWS[0].replace("He is a cook", "He is a chef"), *BEC_ROWS[1:]), lines(BEC, *BEC_ROWS),
        "line 2", "Profession is not in its sentence",
    ),
    "two blanks": (
        stereoset.items, stereoset_file(blank(0), blank(1), blank(2, "The BLANK BLANK nurse.")),
        stereoset_file(blank(0), blank(1)), "intrasentence item 3 (id x2)", "field context",
    ),
    "two blanks in a pair": (
        stereoset_pairs.items, stereoset_file(blank(0), blank(1), blank(2, "The BLANK BLANK nurse.")),
        stereoset_file(blank(0), blank(1)), "intrasentence item 3 (id x2)", "field context",
    ),
    "one pronoun": (
        read_winogender, lines(*WINOGENDER[:-1]), lines(*WINOGENDER[:-2]), "cook.guest.0", "needs one sentence of each",
    ),
    "no share": (
        read_winogender, lines(*WINOGENDER).replace("cook.", "maid."), lines(*WINOGENDER[:-2]), "maid.guest.0",
        "its occupation has no share",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("items", "with_it", "without_it", "name", "why"), FILES.values(), ids=FILES)
def test_an_odd_item_is_left_out_and_named(tmp_path, items, with_it, without_it, name, why):
    left_out, path = LeftOut(), tmp_path / "items"
    path.write_text(without_it)
    expected = items(path)
    path.write_text(with_it)
    with left_out.told():
        found = items(path)
    pd.testing.assert_frame_equal(found.reset_index(drop=True), expected.reset_index(drop=True))
    assert name in left_out.reasons and left_out.reasons[name].startswith(why)
    assert left_out.facts()["left_out"]["items"] == left_out.reasons


def test_items_are_counted_and_named_and_most_of_them_are_an_error(caplog):
    left_out = LeftOut()
    with left_out.told():
        leave_out("file", {"line 3": "empty", "line 4": "empty", "line 9": "odd"}, 1508)
    assert left_out.facts() == {"left_out": {"of": 1508, "items": left_out.reasons}}
    assert "3 of 1,508 items left out: empty (2); odd (1)" in caplog.text
    assert LeftOut().facts() == {}
    with pytest.raises(BiasflowError, match="file: line 3: empty"), left_out.told():
        leave_out("file", {"line 3": "empty", "line 4": "empty"}, 3)
