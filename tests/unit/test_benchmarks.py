"""Every benchmark runs, at a small size; one that fails is named and keeps no other from running. No time is judged."""

import sys

import pandas as pd
import pytest

from benchmarks import coverage, erasers, metrics
from benchmarks.__main__ import BENCHMARKS, main


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda benchmark: benchmark.__name__)
def test_every_benchmark_runs(benchmark, tmp_path):
    path = tmp_path / "bench.csv"
    main(str(path), {benchmark: BENCHMARKS[benchmark]})
    rows = pd.read_csv(path)
    assert list(rows) == ["name", "ours_seconds", "other_seconds", "ratio", "note"]
    assert len(rows) and (rows["ratio"] > 0).all()


def test_every_simulation_of_coverage_runs(tmp_path):
    coverage.main(str(tmp_path / "coverage.csv"), scale=0.0)  # two replications of each
    rows = pd.read_csv(tmp_path / "coverage.csv")
    assert rows["what"].nunique() == 6 and (rows["replications"] == 2).all()


def test_the_list_has_all_benchmarks():
    modules = [sys.modules[name] for name in {benchmark.__module__ for benchmark in BENCHMARKS}]
    assert {value for each in modules for name, value in vars(each).items() if name.startswith("bench_")} == {
        *BENCHMARKS
    }


def bench_broken():
    raise AttributeError("'numpy.ndarray' object has no attribute 'counts'")
    yield


def test_one_that_fails_is_named_in_the_end_and_does_not_take_the_others_with_it(tmp_path, capsys):
    before, after = metrics.bench_weat, erasers.bench_densray
    some = {before: BENCHMARKS[before], bench_broken: {}, after: BENCHMARKS[after]}
    with pytest.raises(SystemExit) as ended:
        main(str(tmp_path / "bench.csv"), some)
    assert str(ended.value).startswith("biasflow: 1 benchmark(s) failed: bench_broken;")  # printed, with exit code 1
    assert "has no attribute 'counts'" in capsys.readouterr().err
    assert len(pd.read_csv(tmp_path / "bench.csv")) == 2
