"""Every benchmark runs, at a small size; one that fails is named and keeps no other from running. No time is judged."""

import sys
from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml
from transformers import BertForMaskedLM, BertForPreTraining

from benchmarks import base, coverage, erasers, metrics
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


def test_operations_and_tokens_are_those_of_the_shape_of_a_model():
    config = random_bert(2, 24)
    model, ids = BertForMaskedLM(config).eval(), torch.ones(4, 10, dtype=torch.long)
    ids[0, 5:] = config.pad_token_id
    with torch.inference_mode():
        row = base.counted(lambda: model(ids, attention_mask=(ids > 0).long()), 2, config.intermediate_size)
    layer = 12 * 24**2 + 2 * 10 * 24  # products of one token with the weights, and with the other tokens
    assert row["operations"] == 2 * 40 * (2 * layer + 24**2 + 24 * config.vocab_size)
    assert row["tokens"] == 35 and row["padding"] == 5 / 40


def test_the_stages_are_what_a_configuration_reads(tmp_path):
    BertForPreTraining(random_bert(2, 24)).save_pretrained(tmp_path)
    word_tokenizer(["he", "she"]).save_pretrained(tmp_path)
    config = yaml.safe_load(Path("config/mine.yaml").read_text(encoding="utf-8")) | {"encoder": str(tmp_path)}
    titles = [title for title, _ in base.stages(config, "config/mine.yaml", tmp_path)]
    assert {"likelihoods gest", "vectors C6", "vectors sent-weat6", "sentence_vectors wikitext-2"} <= set(titles)
    assert len(titles) == len(set(titles)), "two rows of a table have one name"
