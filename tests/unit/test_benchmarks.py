"""Every benchmark runs, at a small size; one that fails is named and keeps no other from running. No time is judged."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from transformers import BertForPreTraining

from benchmarks import base, coverage, erasers, metrics, packages
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.encoders import random_bert
from tests.unit.fake_tokenizer import word_tokenizer


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
    assert rows["what"].nunique() == 33 and (rows["replications"] == 2).all()


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


def test_the_stages_are_what_a_configuration_reads(tmp_path):
    BertForPreTraining(random_bert(2, 24)).save_pretrained(tmp_path)
    word_tokenizer(["he", "she"]).save_pretrained(tmp_path)
    mine, whole = (
        yaml.safe_load(Path(f"config/{name}.yaml").read_text(encoding="utf-8")) for name in ("mine", "whole")
    )
    config = mine | whole | {"encoder": str(tmp_path)}
    titles = [title for title, _ in base.stages(config, "config/mine.yaml", tmp_path)]
    assert {"likelihoods gest", "vectors C6", "vectors sent-weat6", "sentence_vectors wikitext-2"} <= set(titles)
    assert len(titles) == len(set(titles)), "two rows of a table have one name"


def test_scores_of_other_packages_are_compared_item_by_item():
    own = {"csps": (np.array([[-1.0, -2.0, -3.0], [-2.0, -1.0, -4.0]]), 2.0)}
    theirs = {"csps": [[[-1.0, -2.0, -5.0], [-2.0, -1.0001, -4.0]], 3.0], "crows_pairs_score": 50.0}
    theirs["csps, as shipped, run 1"] = [[[-9.0, -9.0, -9.0], [-8.0, -8.0, -8.0]], 3.0]
    exact, shipped = packages.compared("theirs", theirs, own)
    assert exact["scores"] == 6 and exact["equal"] == 5 and exact["largest difference"] == 2
    assert exact["pairs"] == 3 and exact["same preference"] == 2 and exact["ratio"] == 1.5
    assert shipped["equal"] == 0 and shipped["same preference"] == 1
