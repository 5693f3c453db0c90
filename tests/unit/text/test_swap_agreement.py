import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.text.gender_lexicon import DEFAULT_FOLDER, default_lexicon
from biasflow.text.gender_swap import swap_gender
from biasflow.text.swap_agreement import SET_ASIDE_COLUMNS, compare, digest, equal_but_names, kind_of_difference
from tests.unit.text.round_trips import is_held_out, round_trips

CONTEXT, SWAPPED = "My sister is here.", "My brother is here."
ROWS = [  # label, next sentence, the authors' swap of it
    ("stereotype", "She likes her kitchen.", "He likes him kitchen."),
    ("anti-stereotype", "She and Tom box.", "He and Judy box."),
    ("unrelated", "It rains.", "It rains."),
]
MISTAKE = ("1", "stereotype", "next_sentence", digest(*ROWS[0][1:]), "authors' mistake", "possessive her became him")


def stimuli(context=CONTEXT, swapped_context=SWAPPED, rows=ROWS, triple="1"):
    table = [(triple, label, "F", context, sentence, swapped_context, swapped) for label, sentence, swapped in rows]
    columns = ["triple", "label", "gender", "context", "next_sentence", "swapped_context", "swapped_next_sentence"]
    return pd.DataFrame(table, columns=columns)


def set_aside(*entries):
    return pd.DataFrame(entries, columns=SET_ASIDE_COLUMNS, dtype="str")


def unit(summary, name):
    return summary.set_index("unit").loc[name]


def test_every_disagreement_is_listed_with_the_three_texts():
    disagreements, _ = compare(stimuli(), set_aside())
    assert len(disagreements) == 1
    row = disagreements.iloc[0]
    assert (row["triple"], row["label"], row["part"], row["status"]) == ("1", "stereotype", "next_sentence", "counted")
    assert (row["original"], row["authors"], row["ours"]) == (*ROWS[0][1:], "He likes his kitchen.")
    assert row["digest"] == MISTAKE[3]


def test_the_summary_counts_sentences_and_rows():
    _, summary = compare(stimuli(), set_aside())
    counts = summary.set_index("unit")[["n", "n_equal", "n_equal_but_names", "n_set_aside", "n_stale"]]
    assert counts.loc["distinct sentences"].tolist() == [4, 3, 1, 0, 0]
    assert counts.loc["sentences"].tolist() == [6, 5, 1, 0, 0]
    assert counts.loc["rows"].tolist() == [3, 2, 1, 0, 0]
    assert unit(summary, "rows")["share_equal"] == unit(summary, "rows")["share_equal_after"] == 2 / 3


def test_what_is_set_aside_leaves_the_count():
    disagreements, summary = compare(stimuli(), set_aside(MISTAKE))
    assert disagreements[["status", "reason", "justification"]].values.tolist() == [["set aside", *MISTAKE[4:]]]
    assert (summary["share_equal_after"] == 1).all()
    assert unit(summary, "distinct sentences")["share_equal"] == 3 / 4
    assert summary["n_set_aside"].tolist() == [1, 1, 1]


def test_a_context_is_set_aside_once_for_its_rows():
    table = stimuli(swapped_context="My brothers is here.")
    entry = ("1", "all", "context", digest(CONTEXT, "My brothers is here."), "authors' mistake", "a plural")
    disagreements, summary = compare(table, set_aside(entry, MISTAKE))
    assert disagreements["status"].tolist() == ["set aside"] * 2
    assert unit(summary, "distinct sentences")["n_set_aside"] == 2
    assert unit(summary, "sentences")["n_set_aside"] == 4


def test_two_swaps_of_one_context_are_two_sentences():
    table = stimuli()
    table.loc[2, "swapped_context"] = "My brother are here."
    disagreements, summary = compare(table, set_aside(MISTAKE))
    assert unit(summary, "distinct sentences")["n"] == 5
    assert disagreements["status"].value_counts().to_dict() == {"set aside": 1, "counted": 1}


def test_entries_that_set_nothing_aside_are_stale():
    equal = ("1", "unrelated", "next_sentence", digest(*ROWS[2][1:]), "free rewording", "no more")
    elsewhere = ("7", *MISTAKE[1:])
    other_text = (*MISTAKE[:3], "0" * 12, *MISTAKE[4:])
    disagreements, summary = compare(stimuli(), set_aside(MISTAKE, equal, elsewhere, other_text))
    stale = disagreements[disagreements["status"].str.startswith("stale")]
    assert stale["triple"].tolist() == ["1", "7", "1"]
    assert stale["status"].tolist() == ["stale: now equal", *["stale: not in the stimuli"] * 2]
    assert summary["n_stale"].tolist() == [3, 3, 3]
    assert summary["n_set_aside"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ((*MISTAKE[:4], "because", "why"), "row 2.*because"),
        ((*MISTAKE[:5], ""), "row 2.*justification"),
        ((*MISTAKE[:5], None), "row 2.*justification"),
        (("1", "stereotype", "title", *MISTAKE[3:]), "row 2.*title"),
        (("1", "all", *MISTAKE[2:]), "row 2.*label"),
        (("1", "stereotype", "context", *MISTAKE[3:]), "row 2.*label"),
    ],
)
def test_a_broken_entry_is_an_error(entry, named):
    with pytest.raises(BiasflowError, match=named):
        compare(stimuli(), set_aside(entry))


def test_a_double_entry_and_a_missing_column_are_errors():
    with pytest.raises(BiasflowError, match="row 3"):
        compare(stimuli(), set_aside(MISTAKE, MISTAKE))
    with pytest.raises(BiasflowError, match="digest"):
        compare(stimuli(), set_aside().drop(columns="digest"))


@pytest.mark.parametrize(
    ("ours", "authors", "equal"),
    [
        ("Jill's dog", "Sue's dog", True),
        ("Jill's dog", "Tom's dog", False),
        ("Jill's dog", "jill's dogs", False),
        ("Jill's dog", "Blorb's dog", False),
        ("Jill  left.", "Jill left.", False),
        ("her dog", "hers dog", False),
    ],
)
def test_names_of_one_gender_count_as_equal(ours, authors, equal):
    assert equal_but_names(ours, authors, default_lexicon()) is equal


@given(
    st.lists(st.sampled_from(["She left.", "Her dog", "I saw Bob.", "It rains.", "THE GIRL"]), min_size=3, max_size=3)
)
def test_our_own_swap_agrees_with_itself(sentences):
    labels = [label for label, _, _ in ROWS]
    rows = [(label, sentence, swap_gender(sentence)) for label, sentence in zip(labels, sentences, strict=True)]
    disagreements, summary = compare(stimuli(rows=rows), set_aside())
    assert disagreements.empty
    assert (summary["share_equal"] == 1).all() and (summary["n_equal_but_names"] == 0).all()


@pytest.mark.parametrize(
    ("original", "authors", "ours", "kind"),
    [
        ("her own", "him own", "his own", "case of a pronoun"),
        ("his own", "hers own", "her own", "case of a pronoun"),
        ("the woman left", "the woman left", "the man left", "left by the authors"),
        ("the housewife left", "the homemaker left", "the housewife left", "left by us"),
        ("a nice guy", "a nice girl", "a nice gal", "another word"),
        ("his wife left", "a man left him", "her husband left", "another word"),
        ("Xanthippa left", "Xaver left", "Xanthippa left", "name or unknown word"),
        ("She saw the NBA", "He saw the Nba", "He saw the NBA", "characters"),
        ("a high-fived  girl", "a high fived boy", "a high-fived  boy", "characters"),
        ("Jane and her SUV", "Tom and his Suv", "Bob and his SUV", "characters"),
        ("Xanthippa and her mom", "Xaver and him mom", "Xanthippa and his dad", "case of a pronoun"),
    ],
)
def test_the_kind_of_a_difference_is_told_from_the_texts(original, authors, ours, kind):
    assert kind_of_difference(original, authors, ours, default_lexicon()) == kind


def test_round_trips_count_what_comes_back():
    sentences = ["He saw his dog.", "It rains.", "A blonde left.", "I told him lies.", "She saw him."]
    assert round_trips(sentences) == {"n": 5, "n_swapped": 4, "n_back": 3, "n_pronouns": 2, "n_pronouns_back": 2}


def test_a_pronoun_that_is_read_wrongly_does_not_come_back():
    assert round_trips(["We stop him sneezing."])["n_pronouns_back"] == 1
    assert round_trips(["We fear him sneezing."]) == {
        "n": 1, "n_swapped": 1, "n_back": 0, "n_pronouns": 1, "n_pronouns_back": 0,
    }  # fmt: skip


def test_half_of_the_items_are_held_out():
    assert 400 < sum(is_held_out(str(number)) for number in range(1000)) < 600


def test_the_own_list_holds_no_sentences():
    entries = pd.read_csv(DEFAULT_FOLDER / "set_aside.csv", dtype=str)
    assert list(entries.columns) == SET_ASIDE_COLUMNS
    assert entries["digest"].str.fullmatch("[0-9a-f]{12}").all()
    assert entries["justification"].str.len().between(10, 80).all()
