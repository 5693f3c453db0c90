import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.papers import ledger
from biasflow.papers.ledger import released_errors
from biasflow.registry import METRICS, PAPERS
from biasflow.results.scores import tidy
from tests.unit.test_docs import SCORES, documented_metrics

RATE = {"encoder": "e", "dataset": "gest", "metric": "gest_stereotype_rate"}


def scores(*values):
    """method, variant, value -> scores of GEST."""
    rows = [RATE | {"method": method, "variant": variant, "value": value} for method, variant, value in values]
    return tidy(pd.DataFrame(rows))


def test_both_readings_are_compared_where_nothing_else_differs():
    table = released_errors(
        scores(
            ("none", "base10", 10.0),
            ("none", "released", 2.7),
            ("hard", "base10", 1.0),
            ("hard", "released", 1.3),
            ("leace", "base10", 5.0),  # has no other reading
        )
    )
    row = table[table["metric"] == RATE["metric"]].iloc[0]
    assert (row["compared"], row["mean_released"], row["mean_here"]) == (2, 2.0, 5.5)
    assert row["largest_difference"] == pytest.approx(7.3)


def test_every_error_has_its_evidence_and_names_what_is_there():
    table = released_errors(scores(("none", "base10", 1.0)))
    assert (table[["of", "error", "where", "here"]] != "").all(axis=None)
    assert set(table.loc[table["metric"] != "", "metric"]) <= documented_metrics()
    variants = {*table["released"], *table["variant"]} - {"", "-"}
    parts = {part for variant in variants for part in variant.split("-", 1)}
    assert all(f"`{variant}`" in SCORES or f"`{part}`" in SCORES for variant in variants for part in parts)
    assert {"GEST", "StereoSet", "liang2020", "orgad2022", "dawkins2024"} <= set(table["of"])
    assert set(table["of"]) - {"WinoBias"} <= {metric.label for metric in METRICS.values()} | {*PAPERS, "StereoSet"}


def test_an_entry_that_lacks_a_key_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "errors.yaml"
    path.write_text("- {of: GEST, error: wrong, where: there, here: right, metric: gest_rate}\n")
    monkeypatch.setattr(ledger, "ERRORS", path)
    with pytest.raises(BiasflowError, match=r"errors.yaml, entry 1"):
        released_errors(scores(("none", "base10", 1.0)))
