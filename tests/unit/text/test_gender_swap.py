"""Swapping genders in texts, and token for token: tags decide on her, names stay or go. Scrubbing them from texts."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import read_text_csv
from biasflow.text.gender_lexicon import BY_RULE, FOLDER, WHENS, WORD, Lexicon, default_lexicon
from biasflow.text.gender_swap import gender_of, swap_gender, swap_stimuli, swap_tokens, swap_triple
from biasflow.text.scrub import TERMS, WORDS, gendered_nouns, scrub

LEXICON = default_lexicon()
KNOWN = yaml.safe_load(Path(__file__).with_name("gender_swap.yaml").read_text(encoding="utf-8"))


SIDES, LISTS = ("masculine", "feminine"), ("words", "names", "fixed_phrases", "cues")


def name_of(word):
    head = LEXICON.heads.get(word.lower())
    return head and head.name


def rows(name):
    with open(FOLDER / name, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


# --- her and his -----------------------------------------------------------------------------------------------------

POSSESSIVE = """
her book | Her book is red | of her own | her very first day | her up-to-date list | her then-boyfriend | her family
her best, oldest friend | in her back yard | on her back | hurt her back | kept her home clean | at her home
her "friend" left | her three sons | gave her son a ball | gave her book to them | made her debut | her running shoes
see her sexy, big eyes | made her first move | her oldest friend's car | her will | in her will | against her will
her happy and healthy family | gave her all | her later work | her vegetable garden | found her work
in her My Linguistic Autobiography | her friend'll come | her friend's car | earned her Bachelor's | told her Mom'd come
her more expensive car | her most important day | used her more than 20 years | did her best | her better half
her left hand | let her hair down | find her keys | loves her daily walk | her only child | her many friends"""
OBJECTIVE = """
saw her | saw her. | with her, | told her that | told her to go | told her a joke | all of her, | is with her in town
gave her a book | gave her flowers | gave her two books | bought her some | paid her 20 | made her happy | made her cry
let her sleep | saw her crying | held her tightly | called her back | took her home | call her Kim | follow her?
asked her if they knew | love her and the dog | picked her up | help her relax | there for her when | a man like her was
something wrong with her if | grope her, but | loved her so much | for her because | took her out | told her "no"
called her ma'am | loved her very much | made her very happy | left her money | with her all day
help her load the truck | kept her comfortable | makes her uniquely qualified to | stop her leaving
gave her The Old Book | watched her cook in the kitchen | want her back | gave her all the information
like her more. | like her less than Tom | love her more and more | miss her most, | know her better now | like her best.
told her "it's fine" | wrote to her “I’m late” | loved her 'cause | told her let's go | told her y'all should
told her Mary'd come | told her I'm Mary | told her theyll come | told her I'd've gone | told her don't go"""
BEFORE_NOUN = """
his book | his own | his old car | in his up-to-date list | his "friend" | his not knowing | his often quoted words
In his My Linguistic Autobiography | reads his On Liberty | using his @account"""
ALONE = """
it is his. | his is better | a friend of his | a friend of his who left | taller than his,
the book is his but not mine | a friend of his I met | a friend of his And another | It is his. The End
a friend of his who'd left | a friend of his I'd met"""


def phrases(block):
    return [phrase.strip() for line in block.strip().splitlines() for phrase in line.split("|")]


def pronouns(sentence):
    return [word.lower() for word in WORD.findall(sentence) if word.lower() in ("his", "him", "her", "hers")]


BECOMES = {"his": POSSESSIVE, "him": OBJECTIVE, "her": BEFORE_NOUN, "hers": ALONE}


@pytest.mark.parametrize(
    ("phrase", "pronoun"), [(phrase, pronoun) for pronoun, block in BECOMES.items() for phrase in phrases(block)]
)
def test_her_and_his_become_what_their_use_says(phrase, pronoun):
    assert pronouns(swap_gender(phrase)) == [pronoun]


PRONOUNS = "I you he she it we they this that there these who what where how someone everybody nobody".split()


@pytest.mark.parametrize("apostrophe", ["'", "’", "‘", "`", "´"])
@pytest.mark.parametrize("verb", ["ll", "d", "ve", "re", "m", "s", "LL", "d've"])
def test_her_is_no_possessive_before_a_pronoun_with_a_verb(verb, apostrophe):
    for word in PRONOUNS:
        clause = f"{word}{apostrophe}{verb.replace(chr(39), apostrophe)} come."
        for before in ("They told", "They wrote to", "They left"):
            assert "her" not in pronouns(swapped := swap_gender(f"{before} her {clause}")) and " him " in swapped
            assert swap_gender(f"{before} her {clause}".upper()).startswith(f"{before} him ".upper())


# --- known answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sentence", "swapped"), KNOWN["swapped"])
def test_known_answers(sentence, swapped):
    assert swap_gender(sentence) == swapped


@pytest.mark.parametrize("sentence", KNOWN["unchanged"])
def test_what_is_no_name_and_no_gendered_word_stays(sentence):
    assert swap_gender(sentence) == sentence


@pytest.mark.parametrize(
    "sentence",
    [
        "Mark is late.",
        "I saw Mark.",
        "Mark's car",
        "Jessica left.",
        "JESSICA LEFT.",
        "Uncle Tom's dog",
        "Dr. Sarah Low",
    ],
)
def test_names_take_one_of_the_other_gender(sentence):
    swapped = swap_gender(sentence)
    assert swapped != sentence and swap_gender(swapped) == sentence
    before, after = WORD.findall(sentence), WORD.findall(swapped)
    names = [(a, b) for a, b in zip(before, after, strict=True) if name_of(a) and a != b]
    assert names and all(name_of(a).gender != name_of(b).gender for a, b in names)


TITLES = LEXICON.cues["title"] | LEXICON.cues["kinship"]


@pytest.mark.parametrize("title", sorted(TITLES))
def test_a_title_and_its_name_are_both_swapped_or_neither(title):
    for name in ("Sarah", "Robert", "Camilla", "Guinevere", "Zelda", "Jordan", "Tintin", "Elton John"):
        for text in (f"{title.capitalize()} {name}", f"I met {title.capitalize()} {name}."):
            before, after = WORD.findall(text), WORD.findall(swap_gender(text))
            if LEXICON.heads[title].entries:
                assert (before[-1] == after[-1]) == (before == after), text


@pytest.mark.parametrize("given", [None, ["She left."], 3, b"She left.", float("nan")])
def test_what_is_no_text_is_one_line(given):
    with pytest.raises(BiasflowError, match=f"^swap_gender: sentence is of type {type(given).__name__}; .*$"):
        swap_gender(given)


# --- properties ------------------------------------------------------------------------------------------------------

FIXED = {word.lower() for row in rows("fixed_phrases.csv") for word in WORD.findall(row["phrase"])}
ENTRIES = [row for row in rows("words.csv") if row["when"] == "any" and row["direction"] == "both"]
ONE_TO_ONE = [
    row[side]
    for row in ENTRIES
    for side in ("masculine", "feminine")
    if WORD.fullmatch(row["masculine"]) and WORD.fullmatch(row["feminine"])
    if len(LEXICON.heads[row["masculine"]].entries) == len(LEXICON.heads[row["feminine"]].entries) == 1
    if not {row["masculine"], row["feminine"]} & FIXED
]
NAMES = [
    row[side]
    for row in rows("names.csv")
    for side in ("masculine", "feminine")
    if not row["ordinary_word"] and not {row["masculine"].lower(), row["feminine"].lower()} & FIXED
]
FILLERS = ["the", "table", "Blue", "walked", "QUICKLY", "3", "and", "é", "straße"]
GAPS = [" ", "  ", ", ", ". ", "\t", " - ", "-", "'", "’", ' "', "\n", " & ", "…"]

cased = st.sampled_from(ONE_TO_ONE).flatmap(lambda w: st.sampled_from([w, w.upper(), w[0].upper() + w[1:]]))
words = st.one_of(cased, st.sampled_from(NAMES), st.sampled_from(FILLERS))
gendered_sentences = st.lists(st.tuples(words, st.sampled_from(GAPS)), max_size=12).map(
    lambda pieces: "".join(word + gap for word, gap in pieces)
)


@given(gendered_sentences)
@example("mr Robert ")
@example("Robert Nun ")
@example("Stephen King Queen")
@example("DeShawn met Latoya. ")
def test_swapping_twice_gives_the_sentence_back(sentence):
    assert swap_gender(swap_gender(sentence)) == sentence


@given(gendered_sentences)
@example("groomsmen'")
def test_what_stands_between_the_words_and_their_case_are_kept(sentence):
    before, after = WORD.split(sentence), WORD.split(swap_gender(sentence))
    assert before[::2] == after[::2]  # so there are as many words, too
    for a, b in zip(before[1::2], after[1::2], strict=True):
        assert (a.isupper(), a[0].isupper()) == (b.isupper(), b[0].isupper())


# --- triples and stimuli ---------------------------------------------------------------------------------------------


def test_a_name_changes_alike_throughout_a_triple():
    swapped = swap_triple(["I met Rose.", "Rose, my friend, left.", "Jill saw Rose."])
    names = {sentence.split()[place].strip(".,") for sentence, place in zip(swapped, (2, 0, 2), strict=True)}
    assert len(names) == 1 and names != {"Rose"}
    assert swap_gender("Rose, my friend, left.") == "Rose, my friend, left."  # alone, it might be a flower


def triples(*sentences, triple="t"):
    labels = ["stereotype", "anti-stereotype", "unrelated"]
    return pd.DataFrame([(triple, label, *pair) for label, pair in zip(labels, sentences, strict=True)]).set_axis(
        ["triple", "label", "context", "next_sentence"], axis=1
    )


def test_swap_stimuli_gives_the_stimuli_table():
    context = "My sister is here."
    table = triples((context, "She knits."), (context, "She boxes."), (context, "It rains.")).assign(target="sister")
    stimuli = swap_stimuli(table)
    assert list(stimuli.columns) == [
        *("triple", "label", "gender", "context", "next_sentence", "swapped_context", "swapped_next_sentence")
    ]
    assert list(stimuli["label"]) == ["stereotype", "anti-stereotype", "unrelated"]
    assert set(stimuli["gender"]) == {"F"}
    assert set(stimuli["swapped_context"]) == {"My brother is here."}
    assert list(stimuli["swapped_next_sentence"]) == ["He knits.", "He boxes.", "It rains."]


@pytest.mark.parametrize(("sentences", "gender"), KNOWN["gender_of"])
def test_gender_of(sentences, gender):
    assert gender_of(sentences) == gender


# --- the lexicon -----------------------------------------------------------------------------------------------------


def test_every_word_and_name_of_the_lists_has_one_counterpart():
    words, names, phrases, cues = (pd.DataFrame(rows(f"{name}.csv")) for name in LISTS)
    assert set(words["direction"]) == {"both", "to_feminine", "to_masculine"} and set(words["when"]) == {*WHENS}
    sources = [words.loc[words["direction"] != f"to_{side}", [side, "when"]].to_numpy() for side in SIDES]
    sources = pd.DataFrame(np.concatenate(sources)).apply(lambda column: column.str.lower())
    assert not sources.duplicated().any() and not sources[0].isin(BY_RULE).any()
    first_names = pd.concat([names[side] for side in SIDES]).str.lower()
    assert first_names.str.fullmatch(WORD.pattern).all() and first_names.is_unique
    assert not first_names.isin({*sources[0], *BY_RULE}).any()
    assert set(names["ordinary_word"]) <= {"", *SIDES, "both"}
    assert not pd.concat([phrases["phrase"], sources[0]]).str.lower().duplicated()[: len(phrases)].any()
    assert not cues.duplicated().any() and all(cue in Lexicon.__doc__ for cue in cues["cue"])
    for table in (words.drop(columns="note"), names[[*SIDES]], phrases, cues):
        assert table.map(lambda cell: cell == cell.strip() != "").all(axis=None)
    assert pd.concat([sources[0], phrases["phrase"]]).str.fullmatch(r"\w.*\w|\w").all()


TOKENS = st.one_of(
    st.sampled_from(sorted(default_lexicon().heads)),
    st.sampled_from(["her", "Her", "his", "his/her", "step-mother-in-law", "-", "of", "honor", "'s", "best man", "."]),
    st.text(st.characters(codec="utf-8", exclude_characters="\t"), min_size=1, max_size=4),
)


def swap(text: str, tags: str = "", **options) -> tuple[str, int]:
    tokens = text.split()
    (swapped,), left = swap_tokens([tokens], [tags.split() or ["-"] * len(tokens)], **options)
    return " ".join(swapped), left


@pytest.mark.parametrize(("text", "tags", "expected"), KNOWN["tokens"])
def test_tokens_are_swapped_one_for_one(text, tags, expected):
    assert swap(text, tags) == (expected, 0)


def test_first_names_stay_or_are_swapped_in_all_sentences_alike():
    assert swap("James met his aunt Mary") == ("James met her uncle Mary", 0)
    sentences, tags = [["Grace", "my", "love"], ["I", "saw", "Grace"]], [["-"] * 3] * 2
    (first, second), _ = swap_tokens(sentences, tags, names="swap")
    assert first[0] == second[2] == "Mark"


@given(st.lists(st.lists(TOKENS, max_size=7), max_size=3), st.sampled_from(["keep", "swap"]))
def test_there_are_as_many_tokens_as_before(sentences, names):
    swapped, _ = swap_tokens(sentences, [["-"] * len(tokens) for tokens in sentences], names=names)
    assert [len(tokens) for tokens in swapped] == [len(tokens) for tokens in sentences]
    for tokens, new in zip(sentences, swapped, strict=True):
        assert ["".join(filter(str.isspace, token)) for token in tokens] == [
            "".join(filter(str.isspace, token)) for token in new
        ]


FRAGMENTS = ["he", "She", "HERS", "himself", "Mr.", "MS", "wife", "Women", "Miss", "Ann", "Annual", "De La", "A.", "_"]
texts = st.lists(st.sampled_from([*FRAGMENTS, " ", "-", "'", ".", "é", "x"]), max_size=25).map("".join) | st.text()
names = st.lists(st.sampled_from(["Ann", "A.", "De La", "De", "", "O'x", "x-x"]), max_size=4)


@pytest.mark.parametrize(
    ("text", "released", "pronouns", "gendered"),
    [
        ("He saw her; she saw him.", *["_ saw _; _ saw _."] * 3),
        ("His own, hers, himself and Herself, his, Hers", *["_ own, _, _ and _, _, _"] * 3),
        ("herself, Himself, She, Her, Him, he", *["_, _, _, _, _, _"] * 3),
        ("Mr. Hill, MRS Hill, ms. Hill", *["_. Hill, _ Hill, _. Hill"] * 3),
        ("She's here", *["_'s here"] * 3),
        ("HE HIMSELF and SHe: the, sheer, Hershey", "HE HIMSELF and SHe: the, sheer, Hershey")
        + ("_ _ and _: the, sheer, Hershey",) * 2,
        ("Sir Ian, Dame Ann, Miss _ and Miss Ann miss sir", "Sir Ian, Dame Ann, Miss _ and Miss Ann miss sir")
        + ("_ Ian, _ Ann, _ _ and _ Ann miss sir",) * 2,
        ("Her Husband and a woman", *["_ Husband and a woman"] * 2, "_ _ and a _"),
        ("the queen, Ann King, a bachelor", *["the queen, Ann King, a bachelor"] * 2, "the _, Ann King, a bachelor"),
        (" and\the", *[" and\t_"] * 3),
    ],
)
def test_words_of_each_list(text, released, pronouns, gendered):
    found = {terms: scrub(text, terms=terms) for terms in TERMS}
    assert found == {"released": released, "pronouns": pronouns, "gendered": gendered}
    assert scrub(text) == pronouns


@pytest.mark.parametrize(
    ("text", "parts", "scrubbed"),
    [
        ("Ann gave the Annual talk; Ann's.", ("Ann", "", "Hill"), "_ gave the Annual talk; _'s."),
        ("ann left", ("Ann",), "ann left"),
        ("Dr. A. van den Berg, den 3", ("A.", "van den Berg", "den"), "Dr. _ _, _ 3"),
        ("what (is) it", ("(is)", "w.*"), "what _ it"),
        ("Mary Ann Hill and Mary Ann", ("Mary Ann", "Mary Ann Hill"), "_ and _"),
    ],
)
def test_names(text, parts, scrubbed):
    assert scrub(text, parts) == scrubbed


@given(texts, names, st.sampled_from(TERMS))
def test_twice_is_once(text, parts, terms):
    once = scrub(text, parts, terms=terms)
    assert scrub(once, parts, terms=terms) == once


def test_the_list_of_nouns():
    nouns = gendered_nouns()
    assert {"husband", "wife", "mother", "women", "chairman", "midwife", "pregnant"} <= nouns.any_case
    assert not nouns.any_case & {"he", "her", "bachelor", "king", "maternity"}
    assert {"king", "queen"} <= nouns.lower_case and not nouns.any_case & nouns.lower_case
    titles = nouns.titles
    assert titles.search("Sir Ian") and not titles.search("sir Ian") and not titles.search("Miss them")


def test_every_word_of_the_list_is_of_one_kind_and_gendered():
    """A word that the swapper's lexicon does not know tells no gender, or has no counterpart."""
    table, heads = read_text_csv(WORDS), default_lexicon().heads
    assert table["word"].is_unique and set(table["kind"]) == {"relation", "person", "alone", "lower", "title"}
    words = table.loc[table["kind"] != "alone", "word"]
    assert [word for word in words if word not in heads or not heads[word].entries] == []
