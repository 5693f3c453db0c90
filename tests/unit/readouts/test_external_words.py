"""Scores that somebody gives for OCCTMP, Winogender and Strength: the values are ours, and a wrong file is one line."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.metrics import occtmp, stereoset, winogender
from biasflow.readouts.external_items import read

HE, SHE = "he", "she"
LABELS = ("stereotype", "anti-stereotype", "unrelated")
OWN = {"name": "own", "template": "[MASK] is a {occupation}.", "pronouns": [HE, SHE]}
JOBS = ["nurse", "taper", "cook"]
LOG_P = {("nurse", HE): -3.0, ("nurse", SHE): -1.0, ("taper", HE): -0.5, ("taper", SHE): -2.0}
LOG_P |= {("cook", HE): -1.0, ("cook", SHE): -1.5}
NAMES = [(job, other, number) for job, other in (("nurse", "patient"), ("taper", "client")) for number in (0, 1)]
TRIPLES = pd.DataFrame(
    {
        "triple": [number for number in ("t1", "t2") for _ in LABELS],
        "label": LABELS * 2,
        "context": "He came.",
        "next_sentence": [f"He {n}." for n in range(6)],
        "swapped_context": "She came.",
        "swapped_next_sentence": [f"She {n}." for n in range(6)],
    }
)


def winogender_lines(number: int, pronouns=("he", "she")) -> str:
    job, other, answer = NAMES[number]
    return "".join(
        f"{job}.{other}.{answer}.{gender}.txt\tThe {job} told the {other} that {word} left {number}.\n"
        for gender, word in zip(("male", "female"), pronouns, strict=True)
    )


FILES = {
    "occtmp": {"occupations": "\n".join(JOBS)},
    "winogender": {
        "sentences": "sentid\tsentence\n" + "".join(map(winogender_lines, range(4))),
        "occupations": "occupation\tbls_pct_female\tbergsma_pct_female\nnurse\t90\t80\ntaper\t10\t20\n",
    },
    "strength": {"stimuli": TRIPLES.to_csv(index=False)},
}
LISTED = {"occtmp": "stimuli.densray_sets", "winogender": "corpora.winogender", "strength": "stimuli.triples"}
OF = {"occtmp": OWN, "strength": {"name": "planted"}, "winogender": {}}


@pytest.fixture
def scored(tmp_path):
    def scored(metric, content, **options):
        data = {}
        for role, text in FILES[metric].items():
            data[role] = (tmp_path / f"{role}.txt",)
            data[role][0].write_text(text)
        path = tmp_path / "given"
        path.write_text(content if isinstance(content, str) else content.to_csv(index=False))
        about = {"metric": metric, "columns": [""], "items": f"biasflow.{LISTED[metric]}", "of": OF[metric]}
        read([path], data, tmp_path / "readout.parquet", **about | options)
        return tmp_path / "readout.parquet"

    return scored


def occupations(**changes) -> pd.DataFrame:
    rows = [(f"[MASK] is a {job}.", word, value) for (job, word), value in LOG_P.items()]
    return pd.DataFrame(rows, columns=["sentence", "word", "score"]).assign(**changes)


def pronouns(**changes) -> pd.DataFrame:
    rows = [(".".join(map(str, name)), g, -1.0 - n * (g == "male")) for n, name in enumerate(NAMES) for g in GENDERS]
    return pd.DataFrame(rows, columns=["id", "gender", "score"]).assign(**changes)


def probabilities(**changes) -> pd.DataFrame:
    sides = [TRIPLES[["triple", "label"]].assign(swapped=swapped, set="planted") for swapped in (False, True)]
    p = [0.9, 0.1, 0.2, 0.6, 0.5, 0.3, 0.4, 0.7, 0.25, 0.5, 0.5, 0.1]
    return pd.concat(sides, ignore_index=True).assign(score=p, **changes)


GENDERS = ("female", "male")
MADE = {"occtmp": occupations, "winogender": pronouns, "strength": probabilities}
SCORING = {"occtmp": occtmp, "winogender": winogender, "strength": stereoset}


def values(path, metric):
    table = SCORING[metric].score(path).fillna({"part": "-", "variant": "-"} if metric == "strength" else {})
    keys = [name for name in ("metric", "part", "variant") if name in table]
    return table.set_index(keys)["value"]


def test_occtmp_of_given_log_probabilities(scored):
    path = scored("occtmp", occupations().sample(frac=1, random_state=0))
    value = values(path, "occtmp").droplevel("part")
    assert value["occtmp_diff"] == pytest.approx((2 + 1.5 + 0.5) / 3)
    assert value["occtmp_signed_diff"] == pytest.approx((-2 + 1.5 + 0.5) / 3)
    assert value["occtmp_p_he"] == pytest.approx(np.exp([-3, -0.5, -1]).mean())
    assert "occtmp_pieces" not in value  # nobody knows how many tokens the words were


def test_one_file_has_several_sets_of_occupations(scored):
    other = occupations(sentence="[MASK] was a cook.", set="other", score=-9.0).head(1)
    path = scored("occtmp", pd.concat([occupations(set="own"), other]))
    assert len(pd.read_parquet(path)) == 6
    with pytest.raises(AbsentError, match="has none of the 6 items"):
        scored("occtmp", other)


def test_winogender_of_given_log_probabilities(scored):
    path = scored("winogender", pronouns().sample(frac=1, random_state=0))
    value = values(path, "winogender")  # she - he: n, the number of the sentence
    assert value["winogender_log_odds", "occupation", "-"] == pytest.approx((0 + 2) / 2)
    assert value["winogender_log_odds", "participant", "-"] == pytest.approx((1 + 3) / 2)


def test_strength_of_given_probabilities(scored):
    path = scored("strength", probabilities().sample(frac=1, random_state=0))
    value = values(path, "strength")
    strengths = [0.9 - 0.1 + (0.7 - 0.4), 0.6 - 0.5]  # in the swapped copy the anti-stereotype is the stereotype
    assert value["strength", "top=100%", "-"] == pytest.approx(np.mean(strengths))
    assert value["distance", "top=100%", "-"] == pytest.approx((0.05 + 0.2) / 2)
    texts = ["context", "next_sentence"]
    sides = [TRIPLES[[before + name for name in texts]].set_axis(texts, axis=1) for before in ("", "swapped_")]
    by_text = pd.concat(sides, ignore_index=True)
    again = values(scored("strength", by_text.assign(score=probabilities()["score"])), "strength")
    assert again.equals(value)


@settings(max_examples=15)
@given(st.lists(st.floats(-50, 0), min_size=6, max_size=6), st.permutations(range(6)))
def test_any_order_of_rows_gives_the_same_scores(tmp_path_factory, found, order):
    folder = tmp_path_factory.mktemp("any")
    table, (data, path) = occupations(score=found), (folder / "jobs.txt", folder / "given")
    data.write_text("\n".join(JOBS))
    tables = []
    for rows in (table, table.iloc[list(order)]):
        rows.to_csv(path, index=False)
        about = {"items": "biasflow.stimuli.densray_sets", "of": OWN, "metric": "occtmp", "columns": [""]}
        read([path], {"occupations": (data,)}, folder / "out.parquet", **about)
        tables.append(pd.read_parquet(folder / "out.parquet"))
    assert tables[0].equals(tables[1])
    by_word = tables[0].set_index(["item", "word"])["log_p"].to_dict()
    assert by_word == dict(zip(LOG_P, found, strict=True))


def last(metric, **changes) -> pd.DataFrame:
    """The file with its last row changed."""
    table = MADE[metric]()
    return pd.concat([table.iloc[:-1], table.iloc[-1:].assign(**changes)])


WRONG = {
    "missing": lambda metric: MADE[metric]().iloc[:1],
    "doubled": lambda metric: pd.concat([MADE[metric](), MADE[metric]().iloc[:1]]),
    "NaN": lambda metric: MADE[metric]().assign(score=np.nan),
    "the logarithm's sign": lambda metric: last(metric, score=1.5),
    "other data": lambda metric: last(metric, **{MADE[metric]().columns[0]: "something else"}),
    "numbers alone": lambda metric: MADE[metric]()[["score"]].to_csv(index=False, header=False),
}
# What the message says; n_1 and n_2: the last line of a right file, and the one behind it.
TOLD = {
    "missing": "lacks .* items .*the first is",
    "doubled": "line {n_2}: .* is there a second time",
    "NaN": "line 2: column score: '' is no finite number",
    "the logarithm's sign": "line {n_1}: column score: '1.5' is (above 0|no probability)",
    "other data": "line {n_1}: .*'something else'.* is no item of",
    "numbers alone": "do not tell the items",
}


@pytest.mark.parametrize("wrong", TOLD)
@pytest.mark.parametrize("metric", MADE)
def test_a_wrong_file_is_one_line_with_file_and_row(scored, wrong, metric):
    n = len(MADE[metric]())
    with pytest.raises(BiasflowError, match=TOLD[wrong].format(n_1=n + 1, n_2=n + 2)) as caught:
        scored(metric, WRONG[wrong](metric))
    assert "given: " in str(caught.value) and "\n" not in str(caught.value)
    assert not isinstance(caught.value, AbsentError)


@pytest.mark.parametrize(
    "lacking", [lambda metric: MADE[metric]().iloc[:-1], lambda metric: last(metric, score=np.nan)]
)
@pytest.mark.parametrize(("metric", "item"), [("occtmp", "cook"), ("winogender", "taper.client.1"), ("strength", "t2")])
def test_an_item_that_lacks_a_score_is_left_out_with_all_its_rows(scored, metric, item, lacking, caplog):
    key = "triple" if metric == "strength" else "item"
    whole = pd.read_parquet(scored(metric, MADE[metric]()))
    found = pd.read_parquet(scored(metric, lacking(metric)))
    assert found.equals(whole[whole[key] != item].reset_index(drop=True))
    assert f"1 of {whole[key].nunique()} items left out" in caplog.text


@pytest.mark.parametrize(
    ("metric", "columns", "missing"),
    [
        ("occtmp", {"sentence": None, "id": JOBS * 2}, "set"),
        ("occtmp", {"word": None}, "word"),
        ("winogender", {"gender": None}, "gender"),
        ("strength", {"set": None}, "set"),
        ("strength", {"swapped": None}, "swapped"),
        ("strength", {"label": None}, "label"),
    ],
)
def test_columns_that_do_not_tell_an_item_are_not_guessed(scored, metric, columns, missing):
    table = MADE[metric]().assign(**columns).dropna(axis=1)
    with pytest.raises(BiasflowError, match=rf"given: line 1: the columns .* do not tell of which {missing} a score"):
        scored(metric, table)


def test_a_column_of_pairs_or_another_kind_of_file_is_refused(scored):
    pairs = occupations().rename(columns={"score": "log_p_first"}).assign(log_p_second=-1.0)
    with pytest.raises(BiasflowError, match="line 1: has log-likelihoods of pairs; occtmp takes one column score"):
        scored("occtmp", pairs)
    with pytest.raises(BiasflowError, match="no list 'intrasentence'"):
        scored("winogender", json.dumps({"intersentence": []}))
