"""The files of tests of bias, WinoBias among them: what is read, what is wrong, and which odd items are left out."""

import json

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.base.left_out import LeftOut, leave_out
from biasflow.corpora import bec_pro, crows_pairs, gest, stereoset, stereoset_pairs, winobias, winogender
from tests.unit.synthetic_conll import conll_text


@pytest.fixture
def file(tmp_path):
    def written(*lines: str, name: str = "file.txt"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return tmp_path / name

    return written


def words(table, start="start", end="end") -> list[str]:
    """The words that stand at the places of a table."""
    return [text[a:b] for text, a, b in zip(table["text"], table[start], table[end], strict=True)]


# CrowS-Pairs

CROWS = ",sent_more,sent_less,stereo_antistereo,bias_type,annotations"


def test_crows_pairs_of_one_type(file):
    path = file(
        CROWS, '0,"He won, then.",She won.,antistereo,gender,[]', "1,A.,B.,stereo,age,[]", "2,C.,D.,stereo,gender,[]"
    )
    table = crows_pairs.items(path, bias_type="gender")
    assert table["item"].tolist() == [0, 2] and table["direction"].tolist() == ["antistereo", "stereo"]
    assert table[["first", "second"]].to_numpy().tolist() == [["He won, then.", "She won."], ["C.", "D."]]


def test_pairs_of_the_user_need_two_columns_alone(file):
    path = file("sent_more;sent_less", "A nurse won.;A man won.", ";B.", "C.;C.", "D.;E.", name="own.csv")
    with (left_out := LeftOut()).told():
        table = crows_pairs.items(path, own=True)
    assert table.to_dict("list") == {
        "item": [0, 3],
        "first": ["A nurse won.", "D."],
        "second": ["A man won.", "E."],
        "direction": ["stereo"] * 2,
    }
    assert left_out.reasons == {"line 3": "sent_more is empty", "line 4": "sent_less is sent_more, too"}
    typed = crows_pairs.items(file("sent_more,sent_less,bias_type,stereo_antistereo", "A,B,caste,antistereo"), own=True)
    assert typed[["bias_type", "direction"]].to_numpy().tolist() == [["caste", "antistereo"]]


# GEST


def test_every_sentence_of_gest_in_every_template(file):
    table = gest.items(file("sentence,stereotype", '"I cook, often.",4', "I won.,10"))
    assert table["item"].tolist() == [0, 1] * 4 and table["stereotype"].tolist() == [4, 10] * 4
    assert table["template"].drop_duplicates().tolist() == list(gest.TEMPLATES)
    pairs = list(zip(table["first"], table["second"], strict=True))
    assert pairs[0] == ('He said: "I cook, often."', 'She said: "I cook, often."')
    assert pairs[2] == ('The man said: "I cook, often."', 'The woman said: "I cook, often."')
    assert pairs[5] == ('"I won.", he said.', '"I won.", she said.')
    assert pairs[7] == ('"I won.", the man said.', '"I won.", the woman said.')


# BEC-Pro

BEC = "\tSentence\tSent_TM\tTemplate\tPerson\tGender\tProfession\tProf_Gender"


def bec(*rows: tuple[str, ...]) -> list[str]:
    return [BEC, *("\t".join(["0", text, "-", *rest]) for text, *rest in rows)]


ROWS = [
    ("He is a shoe repairer.", "<p> is", "He", "male", "shoe repairer", "male"),
    ("This man is a manager.", "<p> is", "man", "male", "manager", "balanced"),
    ("She is a shoe repairer.", "<p> is", "She", "female", "shoe repairer", "male"),
    ("This woman is a manager.", "<p> is", "woman", "female", "manager", "balanced"),
]


def test_bec_pro_finds_whole_words(file):
    table = bec_pro.read_bec_pro(file(*bec(*ROWS)))
    assert words(table) == ["He", "man", "She", "woman"]  # "man" is not hidden in "manager", nor "He" in "shoe"
    assert words(table, "profession_start", "profession_end") == ["shoe repairer", "manager"] * 2
    assert table["pair"].tolist() == [0, 1, 0, 1] and table["template"].tolist() == [0] * 4
    items = bec_pro.items(file(*bec(*ROWS)))
    assert items["masked"].tolist() == ["person"] * 4 + ["both"] * 4 and items["item"].tolist() == [0, 1, 2, 3] * 2
    assert (items["also_start"][:4] == -1).all() and words(items[4:], "also_start", "also_end")[1] == "manager"


def test_german_professions_have_one_name_for_both_genders(file):
    rows = [
        ("Er, der Maler, kam.", "<p>, der", "Er", "male", "Maler", "male"),
        ("Sie, die Malerin, kam.", "<p>, die", "Sie", "female", "Malerin", "male"),
    ]
    lines = [f"{line}\tpainter" for line in bec(*rows)]
    table = bec_pro.read_bec_pro(file(f"{BEC}\tProfession_EN", *lines[1:]))
    assert table["profession"].tolist() == ["painter"] * 2 and table["template"].tolist() == [0, 0]
    assert words(table, "profession_start", "profession_end") == ["Maler", "Malerin"]


# Winogender

NURSE = [
    "nurse.patient.1.male.txt\tThe nurse told the patient that he was late.",
    "nurse.patient.1.female.txt\tThe nurse told the patient that she was late.",
    "nurse.patient.1.neutral.txt\tThe nurse told the patient that they were late.",
    "nurse.someone.0.male.txt\tSomeone saw the nurse and thanked him.",
    "nurse.someone.0.female.txt\tSomeone saw the nurse and thanked her.",
]
STATISTICS = ["occupation\tbergsma_pct_female\tbls_pct_female\tbls_year", "nurse\t88.31\t89.58\t2015"]


def test_winogender_has_two_pronouns_a_sentence_and_shares_by_occupation(file):
    path, shares = file("sentid\tsentence", *NURSE), file(*STATISTICS, name="shares.tsv")
    table = winogender.items(path, shares)
    assert words(table) == ["he", "she", "him", "her"] and table["gender"].tolist() == ["male", "female"] * 2
    assert table["item"].tolist() == ["nurse.patient.1"] * 2 + ["nurse.someone.0"] * 2
    assert table["refers_to"].tolist() == ["participant"] * 2 + ["occupation"] * 2
    assert table["bls"].tolist() == pytest.approx([0.8958] * 4) and table["bergsma"].tolist() == pytest.approx(
        [0.8831] * 4
    )


# StereoSet's blanks


def blank(context="The BLANKed nurse.", sentences=("The tired nurse.", "The bored nurse.", "The red nurse."), **keys):
    labels = [
        {"sentence": sentence, "gold_label": label} for sentence, label in zip(sentences, stereoset.LABELS, strict=True)
    ]
    return {"id": "x", "bias_type": "gender", "target": "nurse", "context": context, "sentences": labels, **keys}


@pytest.fixture
def blanks(file):
    return lambda *items: file(stereoset_file(*items), name="dev.json")


def test_the_word_is_what_stands_in_the_place_of_the_blank(blanks):
    capitals = blank("The Nurse is BLANK", ("The nurse is very Kind", "The nurse is rich", "The nurse is late"), id="y")
    table = stereoset.read_blanks(blanks(blank(), blank(bias_type="race"), capitals))
    assert words(table) == ["tired", "bored", "red", "very Kind", "rich", "late"]
    assert table["item"].tolist() == ["x"] * 3 + ["y"] * 3 and table["label"].tolist() == [*stereoset.LABELS] * 2
    assert table["text"][3] == "The Nurse is very Kind"  # the context as it is
    assert len(stereoset.items(blanks(blank()))) == 9


def test_the_released_reading_has_the_whole_word_before_its_ending(blanks):
    """The authors' code puts "tired" in the place of "BLANK" in "BLANKed", and asks for the whole word there."""
    table = stereoset.items(blanks(blank(), blank("A BLANK.", ("A maid.", "A cook.", "A cat."), id="y")))
    released = table[table["filling"] == "one-mask"]
    texts = ["The tired ed nurse.", "The bored ed nurse.", "The red ed nurse.", "A maid.", "A cook.", "A cat."]
    assert released["text"].tolist() == texts and words(released) == ["tired", "bored", "red", "maid", "cook", "cat"]
    ours = table[table["filling"] == "left-to-right"]
    assert ours["text"].tolist()[:3] == [text.replace(" ed", "") for text in texts[:3]] and words(ours) == words(
        released
    )


def test_stereoset_is_pairs_of_sentences(blanks):
    (row,) = stereoset_pairs.items(blanks(blank())).to_dict("records")
    expected = {"item": "x", "target": "nurse", "first": "The tired nurse.", "second": "The bored nurse."}
    assert row == expected | {"direction": "stereo"}


HEADER = "id,sent_more,sent_less,stereo_antistereo,bias_type"
PAIRS = [HEADER, "0,A.,B.,stereo,age", "1,C.,D.,antistereo,age", "2,E.,F.,stereo,age"]
BEC_ROWS = bec(  # the templates of the first profession come in another order than those of one that lacks a row
    *(
        (template.format(person, job), template.format("x", "y"), person, gender, job, "male")
        for job in ("cook", "taper", "miner")
        for template in ("{} is a {}.", "{} was a {}.")
        for person, gender in (("He", "male"), ("She", "female"))
    )
)[1:]
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


def of_nurses(*rows: str) -> str:
    return lines("sentid\tsentence", *rows)


def taper(person: str = "He", gender: str = "male", job: str = "taper") -> str:
    return lines(*bec(("He is a taper.", "<p>", person, gender, job, "male")))


def second(sentence: str) -> str:
    return stereoset_file(blank(sentences=("The tired nurse.", sentence, "The red nurse.")))


WRONG = [
    (bec_pro.read_bec_pro, taper(gender="man"), "line 2: column Gender: 'man'"),
    (bec_pro.read_bec_pro, taper(person="Her"), "line 2: column Person: 'Her'"),
    (bec_pro.read_bec_pro, taper(job="tape"), "line 2: column Profession: 'tape'"),
    (bec_pro.read_bec_pro, lines(*bec(*ROWS[:3])), "1 female and 2 male values of pair"),
    (read_winogender, of_nurses("nurse.male.txt\tHe."), "line 2: column sentid: 'nurse.male.txt'"),
    (read_winogender, of_nurses(NURSE[0], NURSE[1].replace("told", "asked")), "nurse.patient.1: its sentences"),
    (winogender.read_shares, lines(*STATISTICS, STATISTICS[1]), "line 3: column occupation: 'nurse'"),
    (winogender.read_shares, lines(STATISTICS[0], "nurse\t88.31\t189\t2015"), "line 2: column bls_pct_female: '189'"),
    (stereoset.read_blanks, second("The bored judge."), "field sentence"),
    (stereoset.read_blanks, second("The ed nurse."), "field sentence"),
    (stereoset.read_blanks, stereoset_file(blank(bias_type="race")), "no intrasentence item"),
]


@pytest.mark.parametrize(("read", "text", "named"), WRONG)
def test_a_wrong_file_is_named(file, read, text, named):
    with pytest.raises(BiasflowError, match=named):
        read(file(text))


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
        stereoset.items, stereoset_file(blank(id="x0"), blank(id="x1"), blank("The BLANK BLANK nurse.", id="x2")),
        stereoset_file(blank(id="x0"), blank(id="x1")), "intrasentence item 3 (id x2)", "field context",
    ),
    "two blanks in a pair": (
        stereoset_pairs.items, stereoset_file(blank(id="x0"), blank(id="x1"), blank("The BLANK BLANK nurse.", id="x2")),
        stereoset_file(blank(id="x0"), blank(id="x1")), "intrasentence item 3 (id x2)", "field context",
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


PRO = "The construction worker thanked the nurse because he is kind .".split()
ANTI = "The construction worker thanked the nurse because She is kind .".split()
GOLD = [((0, 2), (7, 7))]


@pytest.fixture
def write(tmp_path):
    def write(name: str, *documents):
        (tmp_path / name).write_text(
            "".join(conll_text(f"nw/{name}/{number}", [words], gold) for number, (words, gold) in enumerate(documents))
        )
        return tmp_path / name

    return write


def test_professions_are_20_of_either_stereotype():
    table = winobias.professions()
    assert table["stereotype"].value_counts().to_dict() == {"M": 20, "F": 20} and table.index.str.lower().is_unique
    assert table["share_of_women"].between(0.02, 0.95).all() and table.at["CEO", "share_of_women"] == 0.39


def test_sentences_are_paired_by_position(write):
    two = ["The", "nurse", "told", "her", "boss", "that", "she", "left"], [((0, 1), (3, 3), (6, 6))]
    his = ["A", "nurse", "told", "him", "that", "he", "left"], [((0, 1), (3, 3), (5, 5))]
    pairs = winobias.read_pairs(write("pro", (PRO, GOLD), two), write("anti", (ANTI, GOLD), his))
    first, second = pairs
    assert (first.pro.profession, first.pro.gender, first.pro.pronouns) == ("construction worker", "M", ((7, 7),))
    assert (first.anti.profession, first.anti.gender) == ("construction worker", "F")
    assert (second.pro.pronouns, second.anti.pronouns) == (((3, 3), (6, 6)), ((3, 3), (5, 5)))
    assert second.anti.document.key == "nw/anti/1"
    assert (first.pro.named, second.anti.named) == ((1, 2), (1, 1))


@pytest.mark.parametrize(
    ("words", "gold", "reason"),
    [
        (PRO, [], "0 clusters"),
        (PRO, [*GOLD, ((4, 5),)], "2 clusters"),
        (PRO, [((0, 2), (4, 5), (7, 7))], "needs one profession"),
        (PRO, [((7, 7),)], "needs one profession"),
        (PRO, [((0, 2), (8, 8))], "is kind|, is;"),
        (["The", "surgeon", "saw", "him"], [((0, 1), (3, 3))], "The surgeon, him"),
        (["The", "cook", "saw", "him", "and", "her"], [((0, 1), (3, 3), (5, 5))], "one gender"),
        (ANTI, GOLD, "construction worker with F is no stereotype"),
    ],
)
def test_a_document_that_is_no_sentence_of_winobias_is_named(write, words, gold, reason):
    with pytest.raises(BiasflowError, match=rf"document \(nw/pro/1\); part 000: .*({reason})"):
        winobias.read_pairs(write("pro", (PRO, GOLD), (words, gold)), write("anti", (ANTI, GOLD), (ANTI, GOLD)))


def test_files_that_do_not_belong_together(write):
    pro, anti, longer = write("pro", (PRO, GOLD)), write("anti", (ANTI, GOLD)), write("two", *[(ANTI, GOLD)] * 2)
    with pytest.raises(BiasflowError, match="2 documents, but 1"):
        winobias.read_pairs(pro, longer)
    with pytest.raises(BiasflowError, match="with M is the stereotype"):
        winobias.read_pairs(pro, pro)
    with pytest.raises(BiasflowError, match="with F is no stereotype"):
        winobias.read_pairs(anti, pro)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("The CEO and the ceo", {"CEO": (1, 1)}),
        ("a Construction worker works in construction", {"construction worker": (1, 2)}),
        ("the teachers ' cook", {"cook": (3, 3)}),
        ("the worker construction", {}),
        ("", {}),
    ],
)
def test_professions_are_whole_words(words, expected):
    assert winobias.professions_in(words.split()) == expected


def test_what_a_probe_asks_of_a_sentence(write):
    words = "The farmer told the nurse that his nurse and the construction worker saw Him".split()
    pairs = winobias.read_pairs(
        write("pro", (words, [((0, 1), (6, 6))])),
        write("anti", ([{"his": "her", "Him": "her"}.get(word, word) for word in words], [((0, 1), (6, 6))])),
    )
    assert winobias.two_professions(pairs[0].pro) == {"M": ("construction worker", (10, 11)), "F": ("nurse", (4, 4))}
    masked = winobias.masked_words(pairs[0].pro, "[MASK]")
    assert masked == winobias.masked_words(pairs[0].anti, "[MASK]")
    assert [at for at, word in enumerate(masked) if word == "[MASK]"] == [6, 13]
