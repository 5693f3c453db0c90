"""F1 of predicted clusters and its difference between pairs; WinoBias as a classification."""

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.winobias import Sentence, professions
from biasflow.metrics import fairness, occupation
from biasflow.metrics.coreference import conll_f1, f1_difference
from biasflow.metrics.coreference import score as score_coreference
from biasflow.metrics.winobias import (
    NONE,
    class_cells,
    classes,
    predicted_profession,
    profession_gaps,
    profession_separation,
    pronoun_kind,
)
from biasflow.metrics.winobias import score as score_winobias
from biasflow.readouts.predicted_clusters import cluster_rows
from biasflow.results import bootstrap
from biasflow.results.scores import tidy
from tests.unit.synthetic_conll import conll_text, documents_of

RIGHT, WRONG = ["ab", "cd"], ["ac"]


def counts(*predicted):
    return conll_f1([RIGHT] * len(predicted), predicted).per_document


def test_pairs_are_drawn_together():
    """Both of a pair are right or wrong alike: the F1s of resamples vary, but never their difference."""
    some = counts(*[RIGHT, WRONG, []] * 5)
    value, found = f1_difference(some, some)
    assert value == found.low == found.high == 0
    value, other = f1_difference(some, some[::-1])
    assert value == pytest.approx(0) and other.low < -1 < 1 < other.high


def test_many_predictions_are_scored_as_each_by_itself():
    rng = np.random.default_rng(1)
    right, wrong = counts(RIGHT)[0], counts(WRONG)[0]
    sides = [np.where(rng.random((3, 8, 1, 1)) < 0.5, right, wrong) for _ in "pa"]
    values, found = f1_difference(*sides)
    for number in range(3):
        value, alone = f1_difference(*(side[number] for side in sides))
        assert values[number] == pytest.approx(value)
        for of_many, of_one in zip(found, alone, strict=True):
            assert of_many[number] == pytest.approx(of_one)


WORDS = ["john saw mary and he knew she did".split()]
JOHN, MARY, HE, SHE = (0, 0), (2, 2), (4, 4), (6, 6)
GOLD = ((JOHN, HE), (MARY, SHE))


@pytest.fixture
def documents(tmp_path):
    """Two documents, the second one with a cluster of one mention beside."""
    texts = [conll_text("nw/0", WORDS, GOLD), conll_text("nw/1", WORDS, [GOLD[0], (MARY,)])]
    (tmp_path / "test.conll").write_text("".join(texts))
    return tmp_path / "test.conll"


def test_scores_of_a_file_of_clusters(documents, tmp_path):
    """All right but for singletons, which do not count; and one cluster with another mention in it."""
    names = {"method": "none", "setting": "-"}
    predicted = {
        ("own", "-"): [GOLD, (GOLD[0], (SHE,))],
        ("retrained", "3"): [((JOHN, MARY, HE),), ()],
        ("retrained", "4"): [(), ()],
    }
    tables = [
        cluster_rows({"pro": [()], "test": clusters}, **names, head=head, head_seed=seed)
        for (head, seed), clusters in predicted.items()
    ]
    pd.concat(tables).to_parquet(tmp_path / "coref.parquet")
    rows = score_coreference(tmp_path / "coref.parquet", test=documents)
    found = rows.set_index(["head", "head_seed", "metric"])["value"].sort_index()
    metrics = ("conll_f1", "muc_f1", "b_cubed_f1", "ceafe_f1", "lea_f1")
    assert (found["own", "-"][[*metrics]] == 1).all() and (found["retrained", "4"][[*metrics]] == 0).all()
    gold = [GOLD, GOLD[:1]]
    expected = conll_f1(gold, predicted["retrained", "3"])
    assert found["retrained", "3", "conll_f1"] == expected.average
    assert found["retrained", "3", "muc_f1"] == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    assert found["retrained", "3", "lea_f1"] == expected.lea.f1
    assert (rows["n"] == 2).all() and len(tidy(rows, dataset="coref-test")) == 3 * len(metrics)


def test_predictions_of_other_documents_are_refused(documents, tmp_path):
    names = {"method": "none", "setting": "-", "head": "own", "head_seed": "-"}
    cluster_rows({"test": [GOLD]}, **names).to_parquet(tmp_path / "coref.parquet")
    with pytest.raises(BiasflowError, match="predicts 1 documents, not each of the 2"):
        score_coreference(tmp_path / "coref.parquet", test=documents)


#        0   1            2      3    4   5    6       7   8    9     10  11  12


@pytest.fixture(autouse=True)
def few_resamples_and_pairs(monkeypatch):
    """Of 41 classes a thousand resamples take a second, and there are but two pairs."""
    monkeypatch.setattr(occupation, "RESAMPLES", 20)
    monkeypatch.setattr(bootstrap, "LEAST", 1)


SENTENCE = "The construction worker told the CEO because he said that the teacher left"
WORKER, CEO, HIM, TEACHER, TOLD_CEO = (0, 2), (4, 5), (7, 7), (10, 11), (3, 5)


@pytest.fixture
def sentence(tmp_path):
    (document,) = documents_of(tmp_path, conll_text("nw/a", [SENTENCE.split()], [(WORKER, HIM)]))
    return Sentence(document, "construction worker", (HIM,), "M")


def test_classes_are_in_the_order_of_ascii():
    assert classes()[:3] == ("CEO", "None", "accountant") and len(classes()) == 41
    assert [name for name in classes() if name != NONE] == list(professions().index)


@pytest.mark.parametrize(
    ("clusters", "kind", "tokens", "released"),
    [
        ([(WORKER, HIM)], "right", "construction worker", "construction worker"),
        ([(HIM, TOLD_CEO)], "other", "CEO", "CEO"),
        ([(WORKER, CEO, HIM)], "both", NONE, NONE),
        ([((3, 3), HIM)], "none", NONE, NONE),
        ([], "none", NONE, NONE),
        ([((0, 1), HIM)], "none", NONE, NONE),  # "The construction" is no profession
        ([(WORKER, CEO)], "none", NONE, NONE),
        ([((4, 4), TEACHER)], "none", NONE, "teacher"),  # "teacher" has "he" in it
        ([(WORKER, HIM), ((4, 4), TEACHER)], "right", "construction worker", "teacher"),  # the last one
        ([(WORKER, (1, 2), HIM)], "right", "construction worker", NONE),  # two mentions match
        ([(WORKER, (7, 8))], "none", NONE, "construction worker"),  # not the pronoun's own span
        ([(CEO, HIM), (HIM, WORKER)], "other", "CEO", "construction worker"),
        ([(CEO, (3, 3))], "none", NONE, NONE),  # the released script leaves out articles, and so the "he" of "the"
        ([(TOLD_CEO, (3, 3))], "none", NONE, "CEO"),  # but only the first word of a mention: "theCEO" has "he" in it
    ],
)
def test_both_readings(sentence, clusters, kind, tokens, released):
    assert predicted_profession(sentence, clusters) == tokens
    assert predicted_profession(sentence, clusters, reading="released") == released
    assert pronoun_kind(sentence, clusters) == kind


def test_none_is_a_miss_and_no_class_with_a_rate(sentence):
    """Four sentences: the woman among the workers, and that among the CEOs, stand with nobody."""
    sentences = [Sentence(sentence.document, y, (HIM,), z) for y in ("construction worker", "CEO") for z in "MF"]
    counts = fairness.counted(class_cells(sentences, ["construction worker", NONE, "CEO", NONE]), n_classes=41)
    assert counts.shape == (2, 41, 41) and counts.sum() == 4
    gaps, everything = profession_gaps(counts), fairness.gaps(counts)
    assert gaps.tpr.gap_sum() == 2
    assert gaps.fpr.gap_sum() == 0 and everything.fpr.gap_sum() == 1
    assert gaps.fpr.values.shape == (2, 40)
    assert fairness.independence(counts) > 0
    separation = profession_separation(counts)
    assert separation.values.shape == (2, 40) and np.isnan(separation.total())  # no woman is left
    assert not np.isnan(fairness.separation_distances(counts).total())


# Four sentences: the pronoun means the nurse in the first pair, the mechanic in the second one.
NURSE, MECHANIC, PRONOUN = (0, 1), (3, 4), (6, 6)
MEANT = [NURSE, MECHANIC]
PRONOUNS = {"pro": ["she", "he"], "anti": ["he", "she"]}
RIGHT_CLUSTERS = [((meant, PRONOUN),) for meant in MEANT]
OTHER = [((meant, PRONOUN),) for meant in MEANT[::-1]]
SAME_METHOD = {"method": "none", "setting": "-"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("winobias")
    for side, pronouns in PRONOUNS.items():
        texts = [
            conll_text(
                f"nw/{number}", [f"The nurse told the mechanic that {pronoun} left .".split()], [(meant, PRONOUN)]
            )
            for number, (meant, pronoun) in enumerate(zip(MEANT, pronouns, strict=True))
        ]
        (folder / f"{side}.conll").write_text("".join(texts))
    pd.DataFrame({"pair": [0, 1], "type": ["type1", "type2"]}).to_csv(folder / "pairs.csv", index=False)
    return folder


def scored(data, **heads):
    """Rows of heads, each pro and anti: metric, part and variant -> value, by head."""
    tables = [
        cluster_rows({"pro": pro, "anti": anti}, **SAME_METHOD, head=name, head_seed="-")
        for name, (pro, anti) in heads.items()
    ]
    pd.concat(tables).to_parquet(data / "clusters.parquet")
    files = {name: data / f"{name}.conll" for name in PRONOUNS}
    return score_winobias(data / "clusters.parquet", **files, pairs=data / "pairs.csv")


def values(rows, head, column="value"):
    return rows[rows["head"] == head].set_index(["metric", "part", "variant"])[column]


def test_a_head_that_follows_the_stereotype(data):
    """F1 of what is wrong: MUC 0, B-cubed 1/4, CEAFe 1/2."""
    rows = scored(data, own=(RIGHT_CLUSTERS, OTHER), silent=([(), ()], [(), ()]))
    own = values(rows, "own")
    for part in ("all", "type1", "type2"):
        assert own["f1_difference", part, "-"] == pytest.approx(75)
        assert values(rows, "own", "low")["f1_difference", part, "-"] == pytest.approx(75)
        assert values(rows, "own", "n")["f1_difference", part, "-"] == (2 if part == "all" else 1)
    assert own["conll_f1", "pro", "-"] == 1 and own["conll_f1", "anti", "-"] == pytest.approx(0.25)
    assert own["pronoun_accuracy", "right", "pro"] == own["pronoun_accuracy", "other", "anti"] == 1
    assert own["pronoun_accuracy", "other", "pro"] == own["pronoun_accuracy", "none", "anti"] == 0
    for reading in ("tokens", "released"):
        assert own["accuracy", "-", reading] == 0.5 and own["test_size", "-", reading] == 4
        assert own["tpr_gap_sum", "-", reading] == own["fpr_gap_sum", "-", reading] == 2
        assert own["independence", "-", reading] == pytest.approx(2 * np.log(2))
        assert own["separation", "-", f"{reading}-absdiff"] == pytest.approx(0)
        assert own["separation", "-", f"{reading}-sum"] == pytest.approx(4 * np.log(2))
        assert np.isnan(own["sufficiency", "-", f"{reading}-absdiff"])  # each is predicted for one gender alone
        assert own["undefined_cells", "tpr", reading] == own["undefined_cells", "separation", reading] == 2 * 38
        assert own["undefined_cells", "sufficiency", reading] == 2 * 41 - 2
    silent = values(rows, "silent")
    assert silent["pronoun_accuracy", "none", "pro"] == 1 and silent["accuracy", "-", "tokens"] == 0
    for name in ("f1_difference", "conll_f1", "tpr_gap_sum", "fpr_gap_sum"):
        assert (silent[name] == 0).all()
    assert own["conll_f1", "anti", "type1"] == pytest.approx(0.25)
    assert "repeated_mentions" not in own
    table = tidy(rows, dataset="coref-winobias")
    assert len(table) == len(rows) and not table[["part", "variant"]].isna().any().any()


def test_a_mention_in_two_clusters_counts_in_the_first_one_and_is_counted(data):
    """The pronoun stands with the nurse first, then with the mechanic, in whose cluster it is left out."""
    twice = ((NURSE, PRONOUN), (MECHANIC, PRONOUN, (2, 2)))
    found = values(scored(data, own=([twice, ()], [(), ()])), "own")
    assert found["repeated_mentions"].to_dict() == {("pro", "-"): 1}
    alone = values(scored(data, own=([((NURSE, PRONOUN), (MECHANIC, (2, 2))), ()], [(), ()])), "own")
    assert found["conll_f1", "pro", "-"] == alone["conll_f1", "pro", "-"] > 0


def test_the_first_predicted_cluster_begins_where_the_gold_cluster_begins(data):
    found = values(scored(data, own=([RIGHT_CLUSTERS[0], OTHER[1]], [OTHER[0], ()])), "own")["first_mention_f1"]
    assert found["pro", "type1"] == 1 and found["pro", "type2"] == found["anti", "type1"] == found["anti", "type2"] == 0
    assert found["pro", "-"] == pytest.approx(2 / 3)


def test_pairs_and_heads_of_other_files_are_refused(data, tmp_path):
    scored(data, own=(RIGHT_CLUSTERS, RIGHT_CLUSTERS))
    files = {name: data / f"{name}.conll" for name in PRONOUNS}
    (tmp_path / "pairs.csv").write_text("pair,type\n0,type1\n")
    with pytest.raises(BiasflowError, match=r"pairs.csv: 1 pairs, but 2"):
        score_winobias(data / "clusters.parquet", **files, pairs=tmp_path / "pairs.csv")
    table = pd.read_parquet(data / "clusters.parquet")
    table.loc[table["text"] == "anti", "head"] = "retrained"
    table.to_parquet(tmp_path / "clusters.parquet")
    with pytest.raises(BiasflowError, match="the heads of pro"):
        score_winobias(tmp_path / "clusters.parquet", **files, pairs=data / "pairs.csv")
