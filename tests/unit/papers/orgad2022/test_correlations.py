"""Tables 2 and 6, the correlations over models, and the figures of their points."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from biasflow.papers.orgad2022 import fits as internal
from biasflow.papers.rows import MISSING, NOTE, in_print
from biasflow.papers.rows import as_printed as layout
from tests.unit.papers.orgad2022.made_up import (
    FIGURES,
    MODELS,
    STRATEGIES,
    TABLES,
    TEXT,
    chosen,
    item_files,
    run,
    scores,
    with_diverged,
    with_value,
    without,
)

PARTS = ["before", "after", "compression", "ceat", "training"]


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


def test_ceat_has_the_significant_points_as_printed_and_all_of_them():
    table = TABLES["table2"](run(made(encoder="roberta-base")))
    kept = of(table, intrinsic="ceat C6", points="p < 0.05", measure="TPR gap (S)")
    every = of(table, intrinsic="ceat C6", points="all", measure="TPR gap (S)")
    # p is 0.01 for none and oversampling, 0.2 for the others.
    assert (kept["n_before"], kept["n_after"], every["n_before"], every["n_after"]) == (6, 12, 12, 24)
    assert kept["before_published"] == 0.022 and np.isnan(every["before_published"])


def test_r_squared_of_few_models_and_gaps_over_few_professions_are_blank_in_the_layout_with_the_reason(tmp_path):
    frame, files = as_printed(encoder="roberta-base"), item_files(tmp_path)  # 12 models; one profession is kept
    few = frame[frame["seed"].isin(["0", "-"])]
    numbers, of_few = (in_print(run(scored, files=files), TEXT) for scored in (frame, few))
    for shown, name, label, said in (
        (numbers, "table2", "TPR gap (P)", "fewer than 10 professions"),
        (numbers, "table3", "TPR gap (P)", "fewer than 10 professions"),
        (numbers, "table2", "TPR gap (S)", ""),
        (of_few, "table2", "TPR gap (S)", "fewer than 10 models"),
    ):
        table = layout(shown, TEXT, TEXT.tables[name]).set_index(["encoder", "Metric"])
        cell = table.loc["roberta-base"].loc[label].iloc[0]
        assert cell.startswith(MISSING) == bool(said) and said in table.attrs[NOTE]


BITS = {
    "intrinsic": "compression",
    "intrinsic_variant": "released-bits-best",
    "measure": "TPR gap (P)",
    "variant": "train",
}


@given(st.integers(0, 10_000))
def test_within_strategies_is_the_partial_correlation(seed):
    """Against ordinary regression: p of the slope of x beside an intercept per strategy."""
    models = np.repeat(MODELS[:3], 5)
    x, y = np.random.default_rng(seed).normal(size=(2, 15))
    rows = internal._correlated(pd.DataFrame({"model": models, "x": x, "y": y}), MODELS)
    one = of(pd.DataFrame(rows), strategies="within strategies", method="pearson")
    design = np.column_stack([x, *[models == model for model in np.unique(models)]]).astype(float)
    weights, (left,), *_ = np.linalg.lstsq(design, y, rcond=None)
    error = np.sqrt(left / 11 * np.linalg.inv(design.T @ design)[0, 0])
    assert one["p"] == pytest.approx(2 * stats.t.sf(abs(weights[0] / error), 11))


def test_what_cannot_be_correlated_says_why():
    flat = with_points(
        as_printed(),
        compression={name: [s] * 3 for s, name in enumerate(STRATEGIES)},
        gap={name: [0.1, 0.2, 0.3] for name in STRATEGIES},
        seeds=(0, 5, 11),
    )
    table = TABLES["correlations"](run(flat))
    own = table[chosen(table, stage="before", tested="raw", method="pearson", **BITS)].set_index("strategies")
    assert own.loc["all", "note"] == "" and own.loc["all", "estimate"] == pytest.approx(0)
    rest = own.drop(index="all")
    assert rest["estimate"].isna().all() and rest["p_holm"].isna().all() and rest["note"].str.contains("constant").all()
    few = TABLES["correlations"](run(as_printed(seeds=(0,), strategies=["plain", "oversampling", "subsampling"])))
    assert (few.loc[few["strategies"] == "within strategies", "note"] != "").all()


def test_p_is_corrected_over_the_correlations_of_one_stage_by_one_method(monkeypatch):
    found = (("pearson", 0.01), ("pearson", 0.2), ("spearman", 0.03))
    rows = [{"intrinsic_variant": BITS["intrinsic_variant"], "method": method, "p": p} for method, p in found]
    monkeypatch.setattr(internal, "_of_encoder", lambda table, chosen: rows)
    table = TABLES["correlations"](run(as_printed()))
    families = table.groupby(["stage", "tested"])["p_holm"].agg(sorted)
    assert len(families) == 4 and families.tolist() == [pytest.approx([0.02, 0.03, 0.2])] * 4


DRAWN = ["before", "after", "compression", "training"]


def drawn(**options):
    return scores(**({"tests": (), "probes": (0,), "heads": (0, 1, 2), "parts": DRAWN} | options))


@pytest.fixture(scope="module")
def tiny():
    return drawn()


def points_of(axes):
    found = [np.ma.getdata(collection.get_offsets()) for collection in axes.collections]
    return np.concatenate([offsets for offsets in found if len(offsets)])


def test_figure_3_has_a_point_per_model_and_a_box_per_retrained_encoder(tiny):
    before, after = FIGURES["figure3_scrubbed"](run(tiny)).axes
    found = points_of(before)
    # Compression 3 + 2 s + j / 10; TPR gap (P) 0.5 + s + j / 100: the fifth measure of the maker.
    assert found.shape == (12, 2)
    assert found[[0, -1]].ravel().tolist() == pytest.approx([3, 0.5, 9.2, 3.52])
    # Three heads: the median is the second one, at the compression of the encoder.
    boxes = [patch.get_path().vertices for patch in after.patches]
    assert len(boxes) == 12
    assert {round(float(box[:, 0].min() + np.ptp(box[:, 0]) / 2), 3) for box in boxes} == {
        round(3 + 2 * s + j / 10, 3) for s in range(4) for j in range(3)
    }
    assert points_of(FIGURES["figure3"](run(tiny)).axes[0])[-1].tolist() == pytest.approx(
        [9.2, 4.02]
    )  # tested on raw texts
    heights = [(box[:, 1].min(), box[:, 1].max()) for box in boxes]
    assert heights[0] == pytest.approx((1.5005, 1.5015))


def test_diverged_seeds_are_not_drawn(tiny):
    before, after = FIGURES["figure3"](run(with_diverged(tiny, "scrubbing", 5))).axes
    assert len(points_of(before)) == 11 and len(after.patches) == 11
