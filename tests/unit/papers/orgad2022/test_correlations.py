import gc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.metrics.association import holm
from scripts.biasflow.papers import published
from scripts.biasflow.papers.orgad2022 import correlations as internal
from scripts.biasflow.papers.orgad2022.tables import CAPTIONS
from scripts.biasflow.results import tables
from scripts.biasflow.results.scores import concatenate
from tests.unit.synthetic_internal import chosen, scores, with_diverged, with_value, without

PRINTED = published.read_published("orgad2022")
ROBERTA, DEBERTA = "roberta-base", "deberta-base"
PARTS = ["before", "after", "compression", "ceat", "finetuning"]
FINITE = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))


@pytest.fixture(autouse=True, scope="module")
def frozen_heap():
    """Every Holm correction of statsmodels collects garbage: slow with all of torch loaded."""
    gc.freeze()
    yield
    gc.unfreeze()


def runs(**options):
    return scores(**({"tests": ("C6",), "probes": (0,), "parts": PARTS} | options))


def as_printed(**options):
    """Without the other readings of the measures, which take most of the time."""
    frame = runs(**options)
    return without(frame, variant=lambda column: column.isin(["test", "labour", "sum"]) | column.str.contains("order"))


def with_points(frame, *, compression, gap, seeds, stage="before"):
    """`frame` with compression and TPR gap (P) given by strategy, a value per seed; every head has the gap."""
    for strategy, (left, right) in {name: (compression[name], gap[name]) for name in compression}.items():
        for seed, x, y in zip(seeds, left, right, strict=True):
            keys = {"strategy": strategy, "seed": str(seed)}
            frame = with_value(frame, x, task="probe", metric="compression", **keys)
            frame = with_value(frame, y, metric="tpr_gap_pearson", variant="train", stage=stage, **keys)
    return frame


def of(table, **keys):
    rows = table[chosen(table, **keys)]
    assert len(rows) == 1
    return rows.iloc[0]


@given(st.lists(st.tuples(FINITE, FINITE), min_size=3, max_size=12))
def test_r_squared_is_the_share_of_the_variance_that_the_line_explains(pairs):
    x, y = np.array(pairs).T
    fitted = internal.line(x, y)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert np.isnan(fitted.r_squared)
    else:
        left = ((y - fitted.intercept - fitted.slope * x) ** 2).sum() / ((y - y.mean()) ** 2).sum()
        assert fitted.r_squared == pytest.approx(1 - left, abs=1e-6) and 0 <= fitted.r_squared <= 1 + 1e-12


def test_line_of_exact_and_of_useless_points():
    fitted = internal.line([1, 2, 3, np.nan], [5, 3, 1, 9])
    assert (fitted.slope, fitted.intercept, fitted.r_squared) == pytest.approx((-2, 7, 1)) and fitted.n == 3
    assert internal.line([-1, 0, 1], [1, 0, 1]).r_squared == pytest.approx(0)
    assert np.isnan(internal.line([1, 2], [1, 2]).r_squared) and internal.line([1, 2], [1, 2]).n == 2


def test_r_squared_of_an_exact_line_is_one_before_and_counts_heads_after():
    table = internal.r_squared_table(runs(encoder=ROBERTA), PRINTED, encoders=[ROBERTA])
    # Per strategy the maker raises compression by 2 and every measure by 1; seeds raise them by 0.1 and 0.01.
    x = np.array([3 + 2 * s + j / 10 for s in range(4) for j in range(3)])
    y = np.array([s + j / 100 for s in range(4) for j in range(3)])
    own = of(table, intrinsic="compression", intrinsic_variant="mixed-last", measure="FPR gap (S)")
    assert own["before"] == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2) and own["n_before"] == 12
    assert own["n_after"] == 24 and own["before_published"] == 0.353 and own["after_published"] == 0.046
    assert own["after_difference"] == pytest.approx(own["after"] - 0.046)
    exact = with_points(
        runs(encoder=ROBERTA),
        compression={"none": [1, 2, 3], "subsampling": [4, 5, 6], "oversampling": [7, 8, 9], "scrubbing": [2, 2, 2]},
        gap={"none": [2, 4, 6], "subsampling": [8, 10, 12], "oversampling": [14, 16, 18], "scrubbing": [4, 4, 4]},
        seeds=(0, 5, 11),
    )
    table = internal.r_squared_table(exact, PRINTED, encoders=[ROBERTA])
    for variant in ("mixed-last", "bits-best"):
        own = of(table, intrinsic="compression", intrinsic_variant=variant, measure="TPR gap (P)", variant="train")
        assert own["before"] == pytest.approx(1)
        assert np.isnan(own["before_published"]) == (variant == "bits-best")


def test_ceat_has_the_significant_points_as_printed_and_all_of_them():
    table = internal.r_squared_table(runs(encoder=ROBERTA), PRINTED, encoders=[ROBERTA])
    kept = of(table, intrinsic="ceat C6", points="p < 0.05", measure="TPR gap (S)")
    every = of(table, intrinsic="ceat C6", points="all", measure="TPR gap (S)")
    # p is 0.01 for none and oversampling, 0.2 for the others.
    assert (kept["n_before"], kept["n_after"], every["n_before"], every["n_after"]) == (6, 12, 12, 24)
    assert kept["before_published"] == 0.022 and np.isnan(every["before_published"])


def test_scrubbing_stands_with_its_scrubbed_test_input():
    frame = runs(encoder=ROBERTA)
    moved = with_value(frame, 77.0, strategy="scrubbing", setting="raw", task="occupation")
    tables_of = [internal.r_squared_table(each, PRINTED, encoders=[ROBERTA]) for each in (frame, moved)]
    pd.testing.assert_frame_equal(*tables_of)


def test_diverged_seeds_are_no_points():
    table = internal.r_squared_table(with_diverged(runs(), "none", 5), PRINTED, encoders=["tiny"])
    own = of(table, intrinsic="compression", intrinsic_variant="bits-best", measure="TPR gap (S)")
    assert (own["n_before"], own["n_after"]) == (11, 22)


def test_a_replica_that_was_not_run_stands_with_its_printed_values():
    table = internal.r_squared_table(runs(), PRINTED, encoders=[DEBERTA], not_run={DEBERTA: "no weights"})
    assert set(table["status"]) == {"not run: no weights"} and len(table) == 18
    assert of(table, intrinsic="compression", measure="Precision gap (S)")["after_published"] == 0.362
    assert table["before"].isna().all() and table["before_published"].notna().all()
    other = internal.r_squared_table(runs(), PRINTED, encoders=["other"])
    assert other["status"].tolist() == ["not run: not asked for"]


def test_both_printed_tables_are_found_by_the_name_of_the_encoder():
    both = concatenate([runs(encoder=ROBERTA), runs(encoder=DEBERTA)])
    table = internal.r_squared_table(both, PRINTED, encoders=[ROBERTA, DEBERTA])
    for name, number in ((ROBERTA, "2"), (DEBERTA, "6")):
        printed = PRINTED[(PRINTED["table"] == number) & (PRINTED["stage"] == "after")]
        own = table.loc[table["encoder"] == name, "after_published"].dropna()
        assert sorted(own) == sorted(printed["value"])


def test_measures_that_were_not_run_give_the_reason():
    table = internal.r_squared_table(
        runs(encoder=ROBERTA, parts=["before", "compression"]),
        PRINTED,
        encoders=[ROBERTA],
        measures_not_run={"ceat": "no corpus"},
    )
    assert set(table.loc[table["intrinsic"] == "ceat C6", "status"]) == {"not run: no corpus"}
    own = table[table["intrinsic"] == "compression"]
    assert set(own["status"]) == {"run"} and own["before"].notna().all() and own["after"].isna().all()
    with pytest.raises(BiasflowError, match="encoder"):
        internal.r_squared_table(runs(), PRINTED, encoders=[])


def test_r_squared_can_be_written(tmp_path):
    table = internal.r_squared_table(runs(encoder=ROBERTA), PRINTED, encoders=[ROBERTA, DEBERTA])
    paths = [tmp_path / f"table.{kind}" for kind in ("csv", "tex", "html")]
    tables.write_table(table, *paths, caption=CAPTIONS["table2"])
    assert len(pd.read_csv(paths[0])) == len(table)


def simpson():
    """Between strategies the gap rises with compression, within each it falls."""
    seeds = (0, 1, 2, 3)
    names = ["none", "oversampling", "subsampling"]
    x = {name: 10 * s + np.arange(4) for s, name in enumerate(names)}
    y = {name: 10 * s - np.arange(4) for s, name in enumerate(names)}
    return with_points(as_printed(seeds=seeds, strategies=names, heads=(0,)), compression=x, gap=y, seeds=seeds)


@pytest.fixture(scope="module")
def found():
    return internal.correlations(simpson(), resamples=100)


BITS = {"intrinsic": "compression", "intrinsic_variant": "bits-best", "measure": "TPR gap (P)", "variant": "train"}


def test_the_sign_within_strategies_may_be_the_opposite(found):
    own = {"stage": "before", **BITS}
    every = of(found, **own, strategies="all", method="pearson")
    x = np.concatenate([10 * s + np.arange(4) for s in range(3)])
    y = np.concatenate([10 * s - np.arange(4) for s in range(3)])
    assert every["estimate"] == pytest.approx(np.corrcoef(x, y)[0, 1]) and every["estimate"] > 0.9
    assert every["r_squared"] == pytest.approx(every["estimate"] ** 2) and every["n"] == 12
    for group in ("within strategies", "none", "oversampling", "subsampling"):
        for method in ("pearson", "spearman"):
            assert of(found, **own, strategies=group, method=method)["estimate"] == pytest.approx(-1)
    alone = of(found, **own, strategies="none", method="pearson")
    assert alone["n"] == 4 and alone["note"] == ""


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_within_strategies_is_the_partial_correlation(seed):
    """Against ordinary regression: p of the slope of x beside an intercept per strategy."""
    generator = np.random.default_rng(seed)
    strategies = np.repeat(["none", "oversampling", "subsampling"], 5)
    x, y = generator.normal(size=(2, 15))
    both = pd.DataFrame({"strategy": strategies, "x": x, "y": y})
    name, centred, lost = list(internal._groups(both))[1]
    one = internal._correlation(centred["x"], centred["y"], "pearson", lost, 10, 0)
    design = np.column_stack([x, *[strategies == strategy for strategy in np.unique(strategies)]]).astype(float)
    weights, (left,), *_ = np.linalg.lstsq(design, y, rcond=None)
    error = np.sqrt(left / 11 * np.linalg.inv(design.T @ design)[0, 0])
    assert name == "within strategies" and one["p"] == pytest.approx(2 * stats.t.sf(abs(weights[0] / error), 11))


def test_holm_counts_the_tests_of_an_encoder_stage_and_method(found):
    for _, block in found.groupby(["encoder", "stage", "method"]):
        assert block["p_holm"].to_numpy() == pytest.approx(holm(block["p"]), nan_ok=True)
    other = internal.correlations(concatenate([simpson(), as_printed(encoder="a", heads=(0,))]), resamples=100)
    pd.testing.assert_frame_equal(other[other["encoder"] == "tiny"].reset_index(drop=True), found)


def test_after_retraining_heads_are_averaged():
    table = internal.correlations(as_printed(heads=(0, 1, 2), tests=()), resamples=10)
    own = table[(table["stage"] == "after") & (table["strategies"] == "all")]
    assert set(own["n"]) == {12}


def test_what_cannot_be_correlated_says_why():
    flat = with_points(
        as_printed(),
        compression={name: [s] * 3 for s, name in enumerate(["none", "oversampling", "subsampling", "scrubbing"])},
        gap={name: [0.1, 0.2, 0.3] for name in ["none", "oversampling", "subsampling", "scrubbing"]},
        seeds=(0, 5, 11),
    )
    table = internal.correlations(flat, resamples=10)
    own = table[chosen(table, stage="before", method="pearson", **BITS)].set_index("strategies")
    assert own.loc["all", "note"] == "" and own.loc["all", "estimate"] == pytest.approx(0)
    rest = own.drop(index="all")
    assert rest["estimate"].isna().all() and rest["p_holm"].isna().all() and rest["note"].str.contains("constant").all()
    few = internal.correlations(
        as_printed(seeds=(0,), strategies=["none", "oversampling", "subsampling"]), resamples=10
    )
    assert (few.loc[few["strategies"] == "within strategies", "note"] != "").all()


def test_an_encoder_whose_models_all_diverged_has_a_row_that_says_so():
    scores = runs(strategies=["none", "oversampling"], seeds=(0,))
    scores = with_diverged(with_diverged(scores, "none", 0), "oversampling", 0)
    (row,) = internal.correlations(scores, resamples=10).to_dict("records")
    assert row["encoder"] == "tiny" and "diverged" in row["note"] and row["n"] == 0 and np.isnan(row["estimate"])


def test_correlations_need_both_sides_and_whole_scores():
    with pytest.raises(BiasflowError, match="extrinsic and intrinsic"):
        internal.correlations(runs(parts=["before"]))
    hole = without(runs(), strategy="oversampling", stage="after", metric="separation", seed="5")
    with pytest.raises(BiasflowError, match="encoder tiny, strategy oversampling"):
        internal.correlations(hole)


def test_correlations_can_be_written(found, tmp_path):
    paths = [tmp_path / f"table.{kind}" for kind in ("csv", "tex", "html")]
    tables.write_table(found, *paths, caption=CAPTIONS["correlations"])
    assert len(pd.read_csv(paths[0])) == len(found)
