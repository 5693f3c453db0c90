"""Tables that a user has: a pool of people and queries, ranked lists, queries with documents in several wordings, and
sentences of trait ratings; what is wrong with a file is said in one line."""

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.left_out import LeftOut
from biasflow.corpora.people import filled_queries, pool_of
from biasflow.corpora.rankings import read_rankings
from biasflow.corpora.retrieval import items as queries
from biasflow.corpora.trait_ratings import items, read_traits

COUNTS = {("nurse", "F"): 9, ("nurse", "M"): 4, ("yoga_teacher", "F"): 2, ("yoga_teacher", "M"): 3, ("dj", "M"): 5}


@pytest.fixture
def file(tmp_path):
    rows = [
        {"text": f" {'She' if gender == 'F' else 'He'} is person {number}.", "profession": profession, "gender": gender}
        for (profession, gender), count in COUNTS.items()
        for number in range(count)
    ]
    path = tmp_path / "bios.csv"
    pd.DataFrame(rows).assign(text=lambda table: table["text"] + table["profession"]).to_csv(path, index=False)
    return path


def test_as_many_women_as_men_of_each_profession_and_the_shares_of_all(file):
    pool = pool_of([file], people=3, least=3, seed=0)
    counts = pool.people.groupby(["profession", "gender"]).size().to_dict()
    assert counts == {("nurse", "F"): 3, ("nurse", "M"): 3, ("yoga_teacher", "F"): 2, ("yoga_teacher", "M"): 2}
    assert pool.searched == ("nurse",) and pool.shares["nurse"] == pytest.approx(9 / 13)
    assert pool.people["profession"].is_monotonic_increasing
    swapped = pool.people["swapped"].str.startswith(" He")
    assert (swapped == (pool.people["gender"] == "F")).all() and pool.people["scrubbed"].str.startswith(" _ is").all()
    others = pool_of([file], people=3, least=3, seed=1).people
    assert set(others["raw"]) != set(pool.people["raw"])
    smaller = pool_of([file], people=2, least=2, seed=0).people
    assert set(smaller["raw"]) <= set(pool.people["raw"])


def test_no_profession_with_enough_people_is_said_in_one_line(file):
    with pytest.raises(AbsentError, match=r"no profession has 20 women and 20 men; nurse has most, 4; lower metrics\."):
        pool_of([file], people=None, least=20, seed=0)


def test_queries_have_the_article_of_the_word_behind_it():
    found = filled_queries(
        ["architect", "yoga_teacher"], ["a {profession}", "find an {profession} near me", "{profession} cv"]
    )
    assert found[0].tolist() == [
        ["an architect", "a yoga teacher"],
        ["find an architect near me", "find a yoga teacher near me"],
        ["architect cv", "yoga teacher cv"],
    ]
    assert found[1, 0].tolist() == ["a female architect", "a female yoga teacher"]
    assert found[2, 2].tolist() == ["male architect cv", "male yoga teacher cv"]


RUN = "q1 Q0 d1 1 9.5 bm25\nq1 Q0 d2 2 7 bm25\nq2 Q0 d2 1 0.5 bm25\n"
FILES = {
    "run.trec": RUN,
    "ranks.csv": "query,document,rank\nq1,d1,1\nq1,d2,2\nq2,d2,1\n",
    "genders.csv": "document,gender\nd1,female\nd2,M\nd3,F\n",
    "texts.csv": 'document,text\nd1,"She met her sister."\nd2,A day in May.\n',
    "words.csv": "word,gender\nday,M\n",
}


@pytest.fixture
def path(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return lambda name, text=None: tmp_path / name if text is None else _written(tmp_path / name, text)


def _written(path, text):
    path.write_text(text)
    return path


def test_a_run_and_a_table_of_ranks_give_the_same_order_and_what_is_known_of_documents(path):
    run = read_rankings([path("run.trec")], genders=path("genders.csv"), texts=path("texts.csv"))
    table = read_rankings([path("ranks.csv")], genders=path("genders.csv"))
    for found in (run, table):
        assert found[["query", "document", "gender"]].values.tolist() == [
            ["q1", "d1", "F"],
            ["q1", "d2", "M"],
            ["q2", "d2", "M"],
        ]
        assert found["score"][0] > found["score"][1]
    assert run["feminine"].tolist() == [3, 0, 0] and run["masculine"].tolist() == [0, 0, 0]
    assert np.isnan(table["masculine"]).all()
    own = read_rankings([path("run.trec")], texts=path("texts.csv"), words=path("words.csv"))
    assert own["masculine"].tolist() == [0, 1, 1] and own["feminine"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("role", "text", "said"),
    [
        ("runs", RUN + "q3 Q0 d1 1 9\n", "line 4: has no six columns"),
        ("runs", RUN.replace("9.5", "high"), "line 1: column score: 'high' is no finite number"),
        ("runs", RUN + RUN.splitlines()[0] + "\n", "query q1: document d1 is there twice"),
        ("runs", "query,document\nq1,d1\n", "no column rank or score"),
        ("runs", "query,document,rank\nq1,,1\nq1,d2,2\n", "line 2: column document: None is empty"),
        ("genders", "document,gender\nd1,F\nd2,woman\n", "line 3: column gender: 'woman' is neither F, M nor empty"),
        ("genders", "document,gender\nd1,F\n", "no document of the lists has gender M"),
        ("genders", "document,gender\nd1,F\nd1,M\n", "line 3: column document: 'd1' is there a second time"),
        ("texts", "document,text\nx,She.\n", "has no document of the lists"),
        ("words", "word,gender\nshe,3\n", "line 2: column gender: '3' is neither F nor M"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(path, role, text, said):
    files = {"runs": path("run.trec"), "genders": path("genders.csv"), "texts": path("texts.csv")}
    files[role] = path("wrong.csv", text)
    with pytest.raises(BiasflowError) as error:
        read_rankings([files.pop("runs")], **files)
    assert said.replace("None", "''") in str(error.value).replace("None", "''") and "\n" not in str(error.value)


HEADER = "q_id,d_id,relevant,query,doc_title,document,content_gender,exp_stereotype"


def grep(path, *rows):
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def six(query, expected, other="M"):
    """The rows of one query; other: the wording of its first document that is not relevant."""
    return [
        f'{query},{number},{relevant},query {query},"A, title",text {wording} {relevant},{gender},{expected}'
        for number, (relevant, wording, gender) in enumerate(
            [(1, w, w) for w in "MFN"] + [(0, "M", other), (0, "F", "F"), (0, "N", "N")]
        )
    ]


def test_documents_of_another_wording_are_left_out_and_named_and_both_spellings_are_one(tmp_path):
    first = grep(tmp_path / "a.csv", *six(0, "Towards Female"), *six(1, "Towards female", other="botrh"))
    second = grep(tmp_path / "b.csv", *six(2, "Towards Male"), *six(3, "No Annotation Agreement"))
    left_out = LeftOut()
    with left_out.told():
        table = queries(a=first, b=second)
    assert left_out.reasons == {"a line 11": "content_gender is none of F, M, N"}
    assert len(table) == 2 * 23 and table["item"].nunique() == 4
    assert table.drop_duplicates("item")["expected"].tolist() == ["F", "F", "M", ""]
    row = table.query("item == '1' and reading == 'title' and wording == 'F' and relevant").iloc[0]
    assert (row["query"], row["text"]) == ("query 1", "A, title text F 1")
    assert table.query("item == '1' and reading == 'document' and wording == 'N'")["text"].tolist() == [
        "text N 1",
        "text N 0",
    ]


def test_a_second_document_of_one_wording_is_refused(tmp_path):
    rows = six(0, "Towards Male")
    with pytest.raises(BiasflowError, match=r"a\.csv: a line 8: query 0 has a second document with relevant = 1"):
        queries(a=grep(tmp_path / "a.csv", *rows, rows[0]))


QUESTIONS = "num,topic,question,bias1-document1,bias1-document2,bias2-document1,bias2-document2"


def test_the_answers_to_the_next_question_of_another_topic_are_not_relevant(tmp_path):
    path = tmp_path / "qa.csv"
    topics = ["sports", "sports", "art", "work"]
    rows = [f"{n},{topic},question {n},a{n},b{n},c{n},d{n}" for n, topic in enumerate(topics)]
    path.write_text("\n".join([QUESTIONS, *rows]) + "\n")
    table = queries(answers=path)
    assert len(table) == 4 * 8 and set(table["item"]) == {f"answers-{n}" for n in range(4)}
    texts = table.groupby(["item", "relevant", "wording"])["text"].agg(list)
    assert texts["answers-0", True, "F"] == ["a0", "b0"] and texts["answers-0", True, "M"] == ["c0", "d0"]
    assert [texts[f"answers-{n}", False, "F"] for n in range(4)] == [[f"a{n}", f"b{n}"] for n in (2, 2, 3, 0)]
    path.write_text("\n".join([QUESTIONS, *rows[:2]]) + "\n")
    with pytest.raises(BiasflowError, match="column topic: has one topic alone"):
        queries(answers=path)


OWN = {
    "words": "group,word,object,genitive,possessive\n"
    "masculine,he,him,his,\nfeminine,my mother,,,\nneo,xe,xem,xyr,xyr\n",
    "traits": "trait\nwarm\nhonest\nunique\nunkind\n",
    "templates": "template\n{word} has {article} {trait} heart.\nThey like {object} for {possessive} {trait} heart.\n"
    "{genitive} {trait} heart helps at {possessive} work.\n",
}
AUTHORS = {
    "masculine": "he\nsailor_man\nsailor_man\n",
    "feminine": "she\n",
    "neo": "xe",
    "templates": "[DETERMINER][AAA] has [ARTICLE] [TTT] heart.\n"
    "people admire [DETERMINER][AAA] for [PRONOUN] [TTT] heart.\n"
    "[DETERMINER][AAA]'s [TTT] heart helps.",
    "factor1": "warm\nable",
    "factor2": "calm\nwarm",
}


def listed(tmp_path, texts):
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    left_out = LeftOut()
    with left_out.told():
        table = items(**{name: tmp_path / name for name in texts})
    return table, left_out


def spans(row):
    """What is asked for, and what is masked beside it."""
    places = [(row.start, row.end), (row.also_start, row.also_end), (row.further_start, row.further_end)]
    return [row.text[start:end] for start, end in places if start >= 0]


def test_words_traits_and_possessives_are_found_in_sentences_of_own_lists(tmp_path):
    table, _ = listed(tmp_path, OWN)
    assert len(table) == 3 * 3 * 4 * 3 and table["item"].value_counts().eq(3).all()
    of = {(row.text, row.masked): spans(row) for row in table[table["trait"] == "unique"].itertuples()}
    assert of["he has a unique heart.", "shown"] == ["he"]
    assert of["he has a unique heart.", "hidden"] == ["he", "unique"]
    assert of["my mother has a unique heart.", "hidden"] == ["mother", "unique"]
    assert of["They like him for his unique heart.", "shown"] == ["him", "his"]
    assert of["They like my mother for her unique heart.", "hidden"] == ["mother", "unique", "her"]
    assert of["xyr unique heart helps at xyr work.", "shown"] == ["xyr", "xyr"]
    assert of["my mother's unique heart helps at her work.", "shown"] == ["mother", "her"]
    whole = table[table["masked"] == "whole"]
    assert all(spans(row) == [row.text] for row in whole.itertuples()) and {*whole["filling"]} == {"one-by-one"}


def test_lists_of_the_authors(tmp_path):
    table, _ = listed(tmp_path, AUTHORS)
    assert list(table["trait"].unique()) == ["warm", "able", "calm"]  # each once, of all factors
    of = {row.text: spans(row) for row in table[(table["masked"] == "shown") & (table["trait"] == "able")].itertuples()}
    assert of == {
        "he has an able heart.": ["he"],
        "the sailor_man has an able heart.": ["sailor_man"],
        "she has an able heart.": ["she"],
        "xe has an able heart.": ["xe"],
        "people admire him for his able heart.": ["him", "his"],
        "people admire the sailor_man for his able heart.": ["sailor_man", "his"],
        "people admire her for her able heart.": ["her", "her"],
        "people admire xem for xyr able heart.": ["xem", "xyr"],
        "his able heart helps.": ["his"],
        "the sailor_man's able heart helps.": ["sailor_man"],
        "her able heart helps.": ["her"],
        "xe's able heart helps.": ["xe"],
    }


def test_articles_follow_the_sound_or_the_table(tmp_path):
    (tmp_path / "t.csv").write_text("trait,article\nhonest,\nunique,\nunkind,\nusual,\nhuge,\nheroic,an\n")
    found = read_traits(tmp_path / "t.csv").set_index("trait")["article"]
    assert found.to_dict() == {"honest": "an", "unique": "a", "unkind": "an", "usual": "a", "huge": "a", "heroic": "an"}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("templates", OWN["templates"] + "{word} is kind.\n", "template"),
        ("templates", OWN["templates"] + "{word} and {object} are {trait}.\n", "template"),
        ("templates", OWN["templates"] + "{trait} {name} is {word}.\n", "template"),
        ("words", OWN["words"] + "other,they,them,their,their\n", "group"),
        ("traits", OWN["traits"] + '""\n', "trait"),
    ],
)
def test_an_odd_row_is_left_out_and_counted(tmp_path, name, text, reason):
    table, left_out = listed(tmp_path, OWN | {name: text})
    assert len(table) == 3 * 3 * 4 * 3 or name == "traits"
    assert len(left_out.reasons) == (name != "traits") and all(reason in why for why in left_out.reasons.values())


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("templates", "sentence\n{word} is {trait}.\n", "no column template"),
        ("traits", "adjective\nwarm\n", "no column trait"),
        ("words", "group,word\nfemale,she\n", "line 2: column group"),
        ("words", "group,word\nfeminine,she\n", "no masculine word"),
    ],
)
def test_a_list_that_is_wrong_as_a_whole_is_named(tmp_path, name, text, match):
    with pytest.raises((BiasflowError, AbsentError), match=match):
        listed(tmp_path, OWN | {name: text})
