"""Tables 2 and 6, and the correlations over models."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from biasflow.base.errors import BiasflowError
from biasflow.papers.orgad2022 import correlations as internal
from biasflow.papers.orgad2022.correlations import correlations
from biasflow.papers.orgad2022.fits import line, table2, table6
from biasflow.papers.published import read_published
from biasflow.results.scores import concatenate
from biasflow.results.statistics import correlation, holm
from biasflow.results.tables import write_table
from tests.unit.papers.orgad2022.made_up import (
    MODELS,
    STRATEGIES,
    chosen,
    run,
    scores,
    with_diverged,
    with_value,
    without,
)

PRINTED = read_published("orgad2022", "values").query("task == 'occupation'")
ROBERTA, DEBERTA = "roberta-base", "deberta-base"
PARTS = ["before", "after", "compression", "ceat", "training"]
FINITE = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))
NOT_LISTED = "not run: it is not in papers.orgad2022.encoders"


def made(**options):
    return scores(**({"tests": ("C6",), "probes": (0,), "parts": PARTS} | options))


def as_printed(**options):
    """Without the other readings of the measures, which take most of the time."""
    frame = made(**options)
    return without(frame, variant=lambda column: column.isin(["test", "labour", "sum"]) | column.str.contains("order"))


def with_points(frame, *, compression, gap, seeds, head="own"):
    """`frame` with compression and TPR gap (P) given by strategy, a value per seed; every head has the gap."""
    for strategy in compression:
        for seed, x, y in zip(seeds, compression[strategy], gap[strategy], strict=True):
            keys = {"strategy": strategy, "seed": str(seed)}
            frame = with_value(frame, x, metric="compression", **keys)
            frame = with_value(frame, y, metric="tpr_gap_pearson", variant="train", head=head, **keys)
    return frame


def of(table, **keys):
    keys = {"tested": lambda column: column.isin(["", "raw"])} | keys if "tested" in table else keys
    rows = table[chosen(table, **keys)]
    assert len(rows) == 1
    return rows.iloc[0]


@given(st.lists(st.tuples(FINITE, FINITE), min_size=3, max_size=12))
def test_r_squared_is_the_share_of_the_variance_that_the_line_explains(pairs):
    x, y = np.array(pairs).T
    fitted = line(x, y)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert np.isnan(fitted.r_squared)
    else:
        left = ((y - fitted.intercept - fitted.slope * x) ** 2).sum() / ((y - y.mean()) ** 2).sum()
        assert fitted.r_squared == pytest.approx(1 - left, abs=1e-6) and 0 <= fitted.r_squared <= 1 + 1e-12


def test_line_of_exact_and_of_useless_points():
    fitted = line([1, 2, 3, np.nan], [5, 3, 1, 9])
    assert (fitted.slope, fitted.intercept, fitted.r_squared) == pytest.approx((-2, 7, 1)) and fitted.n == 3
    assert line([-1, 0, 1], [1, 0, 1]).r_squared == pytest.approx(0)
    assert np.isnan(line([1, 2], [1, 2]).r_squared) and line([1, 2], [1, 2]).n == 2


def test_r_squared_of_an_exact_line_is_one_before_and_counts_heads_after():
    table = table2(run(made(encoder=ROBERTA)))
    # Per strategy the maker raises compression by 2 and every measure by 1; seeds raise them by 0.1 and 0.01.
    x = np.array([3 + 2 * s + j / 10 for s in range(4) for j in range(3)])
    y = np.array([s + j / 100 for s in range(4) for j in range(3)])
    scrubbed = of(table, tested="scrubbed", intrinsic_variant="released-mixed-last", measure="FPR gap (S)")
    assert scrubbed["before"] == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2) and np.isnan(scrubbed["before_published"])
    y[9:] += 0.5  # scrubbing on raw biographies, where the printed values stand
    own = of(table, intrinsic="compression", intrinsic_variant="released-mixed-last", measure="FPR gap (S)")
    assert own["before"] == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2) and own["n_before"] == 12
    assert own["coded"] == 1000
    paper = of(table, intrinsic="compression", intrinsic_variant="paper-mixed-last", measure="FPR gap (S)")
    assert paper["coded"] == 200 and np.isnan(paper["before_published"])
    assert table.loc[table["intrinsic"] == "ceat C6", "coded"].isna().all()
    assert own["n_after"] == 24 and own["before_published"] == 0.353 and own["after_published"] == 0.046
    assert own["after_difference"] == pytest.approx(own["after"] - 0.046)
    exact = with_points(
        made(encoder=ROBERTA),
        compression={"plain": [1, 2, 3], "subsampling": [4, 5, 6], "oversampling": [7, 8, 9], "scrubbing": [2, 2, 2]},
        gap={"plain": [2, 4, 6], "subsampling": [8, 10, 12], "oversampling": [14, 16, 18], "scrubbing": [4, 4, 4]},
        seeds=(0, 5, 11),
    )
    table = table2(run(exact))
    for variant in ("released-mixed-last", "released-bits-best"):
        own = of(table, intrinsic="compression", intrinsic_variant=variant, measure="TPR gap (P)", variant="train")
        assert own["before"] == pytest.approx(1)
        assert np.isnan(own["before_published"]) == (variant == "released-bits-best")


def test_ceat_has_the_significant_points_as_printed_and_all_of_them():
    table = table2(run(made(encoder=ROBERTA)))
    kept = of(table, intrinsic="ceat C6", points="p < 0.05", measure="TPR gap (S)")
    every = of(table, intrinsic="ceat C6", points="all", measure="TPR gap (S)")
    # p is 0.01 for none and oversampling, 0.2 for the others.
    assert (kept["n_before"], kept["n_after"], every["n_before"], every["n_after"]) == (6, 12, 12, 24)
    assert kept["before_published"] == 0.022 and np.isnan(every["before_published"])


def test_scrubbing_is_tested_on_raw_and_on_scrubbed_texts_and_probed_on_scrubbed_ones():
    frame = made(encoder=ROBERTA)
    raw = {"strategy": "scrubbing", "dataset": "bios-raw"}
    probed = with_value(frame, 77.0, metric="compression", **raw)
    tested = with_value(frame, 77.0, metric="fpr_gap_sum", **raw)
    before, same, moved = (table2(run(each)) for each in (frame, probed, tested))
    pd.testing.assert_frame_equal(before, same)
    changed = (before["before"] - moved["before"]).abs() > 1e-9
    assert set(before.loc[changed, "tested"]) == {"raw"} and set(before.loc[changed, "measure"]) == {"FPR gap (S)"}


def test_diverged_seeds_are_no_points():
    table = table2(run(with_diverged(made(), "plain", 5)))
    own = of(
        table, encoder="tiny", intrinsic="compression", intrinsic_variant="released-bits-best", measure="TPR gap (S)"
    )
    assert (own["n_before"], own["n_after"]) == (11, 22)


def test_encoders_that_were_not_run_stand_with_their_printed_values_or_alone():
    table = table6(run(made(), not_run={DEBERTA: "no weights", "other": "too large"}))
    own = table[table["encoder"] == DEBERTA]
    assert set(own["status"]) == {"not run: no weights"} and len(own) == 18
    assert of(own, intrinsic="compression", measure="Precision gap (S)")["after_published"] == 0.362
    assert own["before"].isna().all() and own["before_published"].notna().all()
    assert of(table, encoder="other")["status"] == "not run: too large"
    assert set(table2(run(made())).query("encoder != 'tiny'")["status"]) == {NOT_LISTED}


def test_both_printed_tables_are_found_by_the_name_of_the_encoder():
    both = run(concatenate([made(encoder=ROBERTA), made(encoder=DEBERTA)]), encoders=[ROBERTA, DEBERTA])
    for name, number, function in ((ROBERTA, "2", table2), (DEBERTA, "6", table6)):
        table = function(both)
        printed = PRINTED[(PRINTED["table"] == number) & (PRINTED["stage"] == "after")]
        assert set(table["encoder"]) == {name} and sorted(table["after_published"].dropna()) == sorted(printed["value"])


def test_measures_that_were_not_run_give_the_reason():
    part = made(encoder=ROBERTA, parts=["before", "compression"])
    table = table2(run(part, lacks={("bios/plain/seed0", "ceat"): "no corpus"}))
    assert set(table.loc[table["intrinsic"] == "ceat C6", "status"]) == {"not run: no corpus"}
    own = table[table["intrinsic"] == "compression"]
    assert set(own["status"]) == {"run"} and own["before"].notna().all() and own["after"].isna().all()


def simpson():
    """Between strategies the gap rises with compression, within each it falls."""
    seeds = (1, 2, 3, 4)
    names = ["plain", "oversampling", "subsampling"]
    x = {name: 10 * s + np.arange(4) for s, name in enumerate(names)}
    y = {name: 10 * s - np.arange(4) for s, name in enumerate(names)}
    return with_points(as_printed(seeds=seeds, strategies=names, heads=(0,)), compression=x, gap=y, seeds=seeds)


@pytest.fixture(scope="module")
def found():
    return correlations(run(simpson()))


BITS = {
    "intrinsic": "compression",
    "intrinsic_variant": "released-bits-best",
    "measure": "TPR gap (P)",
    "variant": "train",
}


def test_the_sign_within_strategies_may_be_the_opposite(found):
    own = {"stage": "before", **BITS}
    every = of(found, **own, strategies="all", method="pearson")
    x = np.concatenate([10 * s + np.arange(4) for s in range(3)])
    y = np.concatenate([10 * s - np.arange(4) for s in range(3)])
    assert every["estimate"] == pytest.approx(np.corrcoef(x, y)[0, 1]) and every["estimate"] > 0.9
    assert every["r_squared"] == pytest.approx(every["estimate"] ** 2) and every["n"] == 12
    same = correlation(x, y, "pearson")
    assert every[["p", "low", "high"]].tolist() == pytest.approx([same.p, same.low, same.high])
    for group in ("within strategies", "none", "oversampling", "subsampling"):
        for method in ("pearson", "spearman"):
            assert of(found, **own, strategies=group, method=method)["estimate"] == pytest.approx(-1)
    alone = of(found, **own, strategies="none", method="pearson")
    assert alone["n"] == 4 and alone["note"] == ""


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_within_strategies_is_the_partial_correlation(seed):
    """Against ordinary regression: p of the slope of x beside an intercept per strategy."""
    models = np.repeat(MODELS[:3], 5)
    x, y = np.random.default_rng(seed).normal(size=(2, 15))
    rows = internal._correlated(pd.DataFrame({"model": models, "x": x, "y": y}), ["x"], ["y"], MODELS)["x", "y"]
    one = of(pd.DataFrame(rows), strategies="within strategies", method="pearson")
    design = np.column_stack([x, *[models == model for model in np.unique(models)]]).astype(float)
    weights, (left,), *_ = np.linalg.lstsq(design, y, rcond=None)
    error = np.sqrt(left / 11 * np.linalg.inv(design.T @ design)[0, 0])
    assert one["p"] == pytest.approx(2 * stats.t.sf(abs(weights[0] / error), 11))


def test_pairs_that_are_defined_elsewhere_do_not_change_each_other():
    generator = np.random.default_rng(0)
    table = pd.DataFrame(generator.normal(size=(12, 4)), columns=["x", "other", "y", "z"])
    table["model"] = np.repeat(MODELS[:3], 4)
    table.loc[2, "other"] = table.loc[[3, 7], "z"] = np.nan
    together = internal._correlated(table, ["x", "other"], ["y", "z"], MODELS)
    for x, y in together:
        alone = internal._correlated(table, [x], [y], MODELS)[x, y]
        pd.testing.assert_frame_equal(pd.DataFrame(together[x, y]), pd.DataFrame(alone))
        assert alone[0]["n"] == table[[x, y]].notna().all(axis=1).sum()


def test_holm_counts_the_tests_of_an_encoder_stage_and_method(found):
    for _, block in found.groupby(["encoder", "stage", "tested", "method"]):
        assert block["p_holm"].to_numpy() == pytest.approx(holm(block["p"]), nan_ok=True)
    other = correlations(run(concatenate([simpson(), as_printed(encoder="a", heads=(0,))])))
    pd.testing.assert_frame_equal(other[chosen(other, encoder="tiny", tested="raw")].reset_index(drop=True), found)


def test_after_retraining_heads_are_averaged():
    table = correlations(run(as_printed(heads=(0, 1, 2), tests=())))
    own = table[(table["stage"] == "after") & (table["strategies"] == "all")]
    assert set(own["n"]) == {12}


def test_what_cannot_be_correlated_says_why():
    flat = with_points(
        as_printed(),
        compression={name: [s] * 3 for s, name in enumerate(STRATEGIES)},
        gap={name: [0.1, 0.2, 0.3] for name in STRATEGIES},
        seeds=(0, 5, 11),
    )
    table = correlations(run(flat))
    own = table[chosen(table, stage="before", tested="raw", method="pearson", **BITS)].set_index("strategies")
    assert own.loc["all", "note"] == "" and own.loc["all", "estimate"] == pytest.approx(0)
    rest = own.drop(index="all")
    assert rest["estimate"].isna().all() and rest["p_holm"].isna().all() and rest["note"].str.contains("constant").all()
    few = correlations(run(as_printed(seeds=(0,), strategies=["plain", "oversampling", "subsampling"])))
    assert (few.loc[few["strategies"] == "within strategies", "note"] != "").all()


def test_an_encoder_without_a_correlation_has_a_row_that_says_why():
    frame = made(strategies=["plain", "oversampling"], seeds=(0,))
    frame = with_diverged(with_diverged(frame, "plain", 0), "oversampling", 0)
    (row,) = correlations(run(frame)).to_dict("records")
    assert row["encoder"] == "tiny" and "diverged" in row["note"] and row["n"] == 0 and np.isnan(row["estimate"])
    lacks = {("bios/plain/seed0", "compression"): "no probe"}
    table = correlations(run(made(parts=["before"]), lacks=lacks, not_run={"gone": "no weights"}))
    assert table["note"].tolist() == ["no probe", "no weights"]


def test_a_hole_is_an_error():
    hole = without(made(), strategy="oversampling", head="retrained", metric="separation", seed="5")
    for function in (table2, correlations):
        with pytest.raises(BiasflowError, match="encoder tiny, strategy oversampling"):
            function(run(hole))


def test_they_can_be_written(found, tmp_path):
    paths = [tmp_path / f"table.{kind}" for kind in ("csv", "tex", "html")]
    for table in (found, table6(run(made(encoder=ROBERTA)))):
        write_table(table, *paths, caption="")
        assert len(pd.read_csv(paths[0])) == len(table)
