"""Every benchmark runs, at a small size. No time is judged."""

import itertools
import math

import pandas as pd
import pytest

from benchmarks import coverage, coverage_of_measures
from benchmarks.__main__ import BENCHMARKS, main


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda benchmark: benchmark.__name__)
def test_every_benchmark_runs(benchmark, tmp_path):
    path = tmp_path / "bench.csv"
    main(str(path), {benchmark: BENCHMARKS[benchmark]})
    rows = pd.read_csv(path)
    assert list(rows) == ["name", "ours_seconds", "other_seconds", "ratio", "note"]
    assert len(rows) and (rows["ratio"] > 0).all()


def first_and_last(*settings) -> list[tuple]:
    return [*itertools.product(*settings)][:: max(1, math.prod(map(len, settings)) - 1)]


def test_every_simulation_of_coverage_runs(tmp_path, monkeypatch):
    """With the first and the last of its settings."""
    for module in (coverage, coverage_of_measures):
        monkeypatch.setattr(module, "product", first_and_last)
    coverage.main(str(tmp_path / "coverage.csv"), scale=0.0)  # two replications of each
    rows = pd.read_csv(tmp_path / "coverage.csv")
    assert rows["what"].nunique() >= len(coverage.TABLES) and (rows["replications"] == 2).all()


def test_a_measure_that_moves_at_random_is_rarely_said_to_follow_in_all_encoders():
    for encoders, most in ((1, 0.0), (2, 0.05), (3, 0.02)):
        found = coverage.claims_of_calibrations(2.0, encoders=encoders, chance=2.0, replications=10)
        assert found["chance followed in all"] <= most and found["power"] > 0.9
    assert found["followed in all"] > 0.5  # of those that do follow
