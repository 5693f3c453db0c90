import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.metrics import stereoset
from biasflow.results.bootstrap import interval

ITEM = ["triple", "label", "swapped", "p", "truncated"]
METHODS = [("none", "-"), ("dawkins2024", "sent 0"), ("dawkins2024", "layer-11+attention 0,1,1,0,1"), ("densray", "-")]


def test_strength_of_the_printed_examples():
    assert stereoset.triple_strengths(*np.array([0.9986, 0.0253, 0.9888, 0.9930])) == pytest.approx(0.9691)
    assert stereoset.triple_strengths(*np.array([0.9994, 0.9836, 0.9894, 0.9997])) == pytest.approx(0.0055)


def test_distance_of_the_printed_examples():
    assert stereoset.triple_distances(*np.array([[0.0151, 0.2752], [0.9985, 0.9955]])) == pytest.approx(
        [0.9834, 0.7203]
    )


def test_resamples_draw_the_same_triples_whatever_their_order():
    """So that those of two models stand beside each other (results.changes), though other triples are on top."""
    values = np.random.default_rng(0).random(60)
    of_all, of_turned = (stereoset.top_interval(side, [1.0]).resampled[0] for side in (values, 1 - values))
    assert of_all + of_turned == pytest.approx(1)
    counts = interval(lambda drawn: drawn, np.arange(60), resamples=stereoset.RESAMPLES).resampled
    largest = np.full(60, 0.5)
    largest[7] = 1.0  # it is the whole of the top wherever it is drawn
    of_top = stereoset.top_interval(largest, [0.01]).resampled[0]
    assert np.array_equal(of_top > 0.75, counts[7] > 0.5)


@pytest.mark.parametrize(
    ("n", "top", "kept"), [(242, 0.1, 25), (234, 0.1, 24), (30, 0.1, 3), (10, 0.05, 1), (7, 1.0, 7), (100, 0.07, 7)]
)
def test_number_kept_is_rounded_up_without_float_error(n, top, kept):
    assert stereoset.number_kept(n, top) == kept


def test_shares_and_means_of_the_largest():
    assert stereoset.stereotype_score([0.9, 0.5, 0.1], [0.1, 0.5, 0.2]) == pytest.approx(1 / 3)  # a tie is none
    values, zero = np.array([0.1, 0.9, 0.5, 0.3, 0.2, 0, 0, 0, 0, 0]), np.zeros(10)
    assert stereoset.strength(values, zero, zero, zero) == pytest.approx(0.9)
    assert stereoset.strength(values, zero, zero, zero, top=0.2) == pytest.approx(0.7)
    assert stereoset.distance(values, zero, top=1) == pytest.approx(0.2)


def test_a_model_to_which_all_sentences_are_the_same_prefers_none():
    table = probabilities([f"t{i}" for i in range(60)], methods=METHODS[:1]).assign(p=0.3)
    found = stereoset.summary(table).set_index(["metric", "variant"])
    for name, variant in (
        ("stereotype_score", "original"),
        ("stereotype_score", "both"),
        ("language_model_score", "both"),
    ):
        assert found.loc[name, variant][["value", "low", "high"]].tolist() == [0.5, 0.5, 0.5]
    assert stereoset.stereotype_score([0.2, 0.4], [0.2, 0.4]) == 0.5


@pytest.mark.parametrize("p", [([], []), ([0.1, 0.2], [0.1]), ([float("nan")], [0.1]), ([0.1], [1.2]), (0.1, 0.2)])
def test_what_is_not_a_list_of_probabilities_is_refused(p):
    with pytest.raises(BiasflowError):
        stereoset.stereotype_score(*p)


def test_known_answers_and_a_tie_is_no_stereotype():
    """Three triples; in the swapped copies the sentence that was the anti-stereotype is the stereotype."""
    p = {"stereotype": (0.9, 0.5, 0.1), "anti-stereotype": (0.1, 0.5, 0.2), "unrelated": (0.3, 0.4, 0)}
    swapped = {"stereotype": (0.2, 0.6, 0.3), "anti-stereotype": (0.8, 0.6, 0.2), "unrelated": (0.3, 0.1, 0.5)}
    rows = [
        (triple, label, is_swapped, of_label[triple], False)
        for is_swapped, of_copy in ((False, p), (True, swapped))
        for label, of_label in of_copy.items()
        for triple in range(3)
    ]
    table = pd.DataFrame(rows, columns=ITEM)
    value = stereoset.summary(table, tops=(0.1, 1.0)).set_index(["metric", "part", "variant"])["value"]
    assert value["stereotype_score", "-", "original"] == pytest.approx(1 / 3)
    assert value["stereotype_score", "-", "both"] == pytest.approx(2 / 6)
    assert value["language_model_score", "-", "both"] == pytest.approx(8 / 12)
    assert value["strength", "top=10%", "-"] == pytest.approx(0.8 + 0.6)
    assert value["strength", "top=100%", "-"] == pytest.approx((0.8 + 0.6 + 0 + 0 - 0.1 - 0.1) / 3)
    assert value["distance", "top=10%", "-"] == pytest.approx(0.5)
    assert value["distance", "top=100%", "-"] == pytest.approx((0 + 0.3 + 0.5) / 3)


def probabilities(triples, methods=METHODS):
    axis = pd.DataFrame(methods, columns=["method", "setting"])
    labels, swapped = pd.DataFrame({"label": stereoset.LABELS}), pd.DataFrame({"swapped": [False, True]})
    rows = axis.merge(pd.DataFrame({"triple": triples}), how="cross").merge(labels, how="cross")
    rows = rows.merge(swapped, how="cross")
    return rows.assign(p=np.random.default_rng(0).beta(0.3, 0.3, len(rows)), truncated=False)


def test_pairs_that_were_cut_are_counted_once(tmp_path):
    frame = probabilities(["a", "b"])
    cut = (frame["triple"] == "a") & frame["swapped"]
    frame.assign(truncated=cut).to_parquet(tmp_path / "p.parquet")
    rows = stereoset.score(tmp_path / "p.parquet").query("metric == 'truncated'")
    assert rows[["method", "setting"]].to_numpy().tolist() == [list(pair) for pair in METHODS]
    assert set(rows["value"]) == {3} and set(rows["n"]) == {12} and set(rows["part"]) == set(rows["variant"]) == {"-"}


def test_every_setting_scores_as_one_by_one(tmp_path):
    frame = probabilities([f"t{i}" for i in range(23)])
    frame.sample(frac=1, random_state=0).to_parquet(tmp_path / "p.parquet")
    scored = stereoset.score(tmp_path / "p.parquet")
    assert (scored["n"] == 23).all()
    assert len(scored) == len(METHODS) * 11
    for method, setting in METHODS:
        of_setting = [(table["method"] == method) & (table["setting"] == setting) for table in (frame, scored)]
        alone = stereoset.summary(frame[of_setting[0]])
        measure = ["metric", "part", "variant"]
        assert scored[of_setting[1]].set_index(measure)["value"].equals(alone.set_index(measure)["value"])


@pytest.mark.parametrize(
    "damage",
    [
        lambda f: f.drop(f.index[7]),
        lambda f: f.drop(f.index[f["label"] == "unrelated"]),
        lambda f: f.assign(p=f["p"].where(f.index != 7)),
        lambda f: f.assign(p=f["p"].where(f.index != 7, 1.5)),
        lambda f: f.assign(label=f["label"].where(f.index != 7, "related")),
        lambda f: pd.concat([f, f.iloc[[7]]]),
    ],
    ids=["row missing", "label missing", "NaN", "above 1", "unknown label", "twice"],
)
def test_a_damaged_table_is_refused_by_setting_and_triple(damage, tmp_path):
    damage(probabilities(["first", "second"], methods=[("dawkins2024", "sent 0")])).to_parquet(tmp_path / "p.parquet")
    with pytest.raises(BiasflowError, match=r"p\.parquet: dawkins2024 sent 0: triple (first|second) \("):
        stereoset.score(tmp_path / "p.parquet")


def triples_of(rng, n, preference):
    """p(NS) of n triples, in which the stereotype is preferred by so much on average."""
    rows = []
    for triple in range(n):
        for swapped in (False, True):
            for label in ("stereotype", "anti-stereotype", "unrelated"):
                sign = {"stereotype": 1, "anti-stereotype": -1, "unrelated": 0}[label] * (-1 if swapped else 1)
                p = np.clip(0.5 + sign * preference / 2 + rng.normal(0, 0.1), 0, 1)
                rows.append((triple, label, swapped, p, False))
    return pd.DataFrame(rows, columns=ITEM)


def test_strength_reaches_0_without_a_preference_and_not_with_one():
    rng = np.random.default_rng(0)
    found = {
        preference: stereoset.summary(triples_of(rng, 80, preference)).set_index(["metric", "part", "variant"])
        for preference in (0.0, 0.2)
    }
    for rows in found.values():
        assert (rows["low"] <= rows["value"] + 1e-9).all() and (rows["value"] <= rows["high"] + 1e-9).all()
    assert found[0.0].loc[("strength", "top=10%", "-"), "low"] == 0
    assert found[0.2].loc[("strength", "top=10%", "-"), "low"] > 0
    assert found[0.2].loc[("stereotype_score", "-", "original"), "low"] > 0.5
