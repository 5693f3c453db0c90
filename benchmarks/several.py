"""A run of several encoders against a run of each of them."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
import yaml
from transformers import BertConfig, BertForPreTraining

from benchmarks.start import children
from benchmarks.timing import row
from biasflow.base.shipped import ROOT, shipped

SHIPPED = shipped("data/planted_bert")
METHODS = ["none", "hard-last", "hard-last-random-matched", "leace", "leace-random-matched"]  # of config/mine.yaml
METRICS = ["strength", "occtmp", "weat", "similarity", "perplexity"]  # those whose tests come with the package


def bench_several(*, encoders: int = 5, options: Sequence[str] = ()) -> Iterator[dict]:
    """Random BERTs of two layers, from their folders to the page; what a run of several does once is shared."""
    with tempfile.TemporaryDirectory() as name:
        folder, names = Path(name), [f"encoder{seed}" for seed in range(encoders)]
        for seed, encoder in enumerate(names):
            _save(folder / encoder, seed)
        single = sum(_run(folder, encoder, [encoder], options) for encoder in names)
        together = _run(folder, "all", names, options)
    yield row(
        f"one run of {encoders} encoders against {encoders} runs of one",
        together,
        single,
        f"processor time; random BERTs of 2 layers x 128, {len(METHODS)} methods, {len(METRICS)} metrics",
    )


def _save(folder: Path, seed: int) -> None:
    """Write an encoder with random weights and the tokenizer of the demo's."""
    shutil.copytree(SHIPPED, folder)
    torch.manual_seed(seed)
    config = BertConfig.from_pretrained(folder)
    config.num_hidden_layers = 2
    BertForPreTraining(config).save_pretrained(folder)


def _run(folder: Path, name: str, encoders: list[str], options: Sequence[str]) -> float:
    """Return the processor time, in seconds, of a run of these encoders."""
    file = folder / f"{name}.yaml"
    sources = {encoder: {"source": "local", "path": encoder, "planted": {"bias": 1.0}} for encoder in encoders}
    keys = {"run": name, "device": "cpu", "encoders": sources, "fitting": {"n": 2000}}
    keys["metrics"] = {"perplexity": {"mask_seeds": [0], "max_length": 20}}
    keys["ask"] = {"inside": {"encoders": encoders, "methods": METHODS, "metrics": METRICS}}
    file.write_text(yaml.safe_dump(keys), encoding="utf-8")
    words = ["--cores", "1", "--snakefile", str(ROOT / "Snakefile"), "--configfile", str(file), *options]
    before = children()
    subprocess.run(
        [sys.executable, "-m", "snakemake", "--quiet", "all", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    return children() - before
