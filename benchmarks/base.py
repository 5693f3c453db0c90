"""How fast an encoder is read: every readout of a configuration, against the matrix products of this machine.

    snakemake --cores 1 --until fit_methods --configfile CONFIG --config KEY=VALUE ...
    snakemake --cores 1 --until files stimuli_authors wikitext --configfile CONFIG --config KEY=VALUE ...
    PYTHONPATH=scripts python -m benchmarks.base TABLE.csv SECONDS CONFIG KEY=VALUE ...

The first two commands make what readouts start from. The third runs each stage with one thread, and stops it after so
many seconds of processor time (inf: at its end). A large encoder gives speeds in this way; a small one with the same
vocabulary, which reads all, gives the tokens: together the time of a run that nobody had to wait for."""

import importlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from math import inf
from pathlib import Path

import pandas as pd
import torch
import yaml
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from biasflow.base.tabular import write_csv
from biasflow.plan.compiled import prepared
from biasflow.readouts.source import Source
from biasflow.registry import JOBS_OF_READOUTS, rule_of

# Attention on a processor, which torch does not count yet.
ATTENTION = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: lambda q, k, v, *_, **__: sdpa_flop_count(q, k, v)
}
ROWS, WIDTH, WIDER = 1024, 768, 3072  # of the product that stands for the machine: a layer of BERT-base on 1,024 tokens


def peak(repeats: int = 5) -> float:
    """Operations in a second of processor time of a matrix product of a layer's shape; the best of some tries."""
    left, right = torch.randn(ROWS, WIDTH), torch.randn(WIDTH, WIDER)
    times = []
    for _ in range(repeats):
        began = time.process_time()
        left @ right
        times.append(time.process_time() - began)
    return 2 * ROWS * WIDTH * WIDER / min(times)


class EnoughError(Exception):
    """A stage has run for as long as was asked."""


def counted(work: Callable[[], object], layers: int, wide: int, most: float = inf) -> dict[str, float]:
    """What `work` computes until its end, or for about `most` seconds of processor time: seconds, from the first batch
    on; operations, two for each multiplication and addition in a matrix product; tokens that went through all `layers`
    of a model, whose inner width is `wide`, without padding; padding, its share of all.

    loading: seconds until the first batch, for files, weights and tokens."""
    rows = padding = embedded = 0
    began, first = time.process_time(), inf

    def count(module: nn.Module, args: tuple) -> None:
        nonlocal rows, padding, embedded, first
        if isinstance(module, nn.Linear) and module.out_features == wide:
            rows += args[0].shape[:-1].numel()
        elif isinstance(module, nn.Embedding) and module.padding_idx is not None:
            first = min(first, time.process_time())
            if time.process_time() - first > most:
                raise EnoughError
            padding += int((args[0] == module.padding_idx).sum())
            embedded += args[0].numel()

    hook = register_module_forward_pre_hook(count)
    try:
        with FlopCounterMode(display=False, custom_mapping=ATTENTION) as operations, suppress(EnoughError):
            work()
    finally:
        hook.remove()
    share = padding / embedded
    return {
        "loading": first - began,
        "seconds": time.process_time() - first,
        "operations": operations.get_total_flops(),
        "tokens": rows / layers * (1 - share),
        "padding": share,
    }


def stages(config: Mapping, file: str, folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """(readout and dataset, what reads it into `folder`) for everything that a configuration reads."""
    jobs = list(prepared(config, [file]).jobs)
    for name in JOBS_OF_READOUTS:
        for job in (job for job in jobs if job.rule == rule_of(name)):
            inputs = job.inputs
            for one in job.params["readout"]:
                roles = [role for role in inputs if role.rpartition("/")[0] == one["inputs"]]
                source = Source(
                    model_folder=Path(inputs["model"][0]).parent,
                    methods=tuple(one["methods"]),
                    methods_file=Path(inputs["methods"]) if "methods" in inputs else None,
                    data={role.rpartition("/")[2]: tuple(map(Path, inputs[role])) for role in roles},
                    dataset=one["dataset"],
                )
                read, output = importlib.import_module(one["module"]).read, folder / Path(one["file"]).name
                title = f"{one['module'].rpartition('.')[2]} {output.stem}"
                yield title, lambda read=read, source=source, out=output, one=one: read(source, out, **one["options"])


def main(table: str, most: str, file: str, *options: str) -> None:
    torch.set_num_threads(1)
    config = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    config |= {key: yaml.safe_load(value) for key, _, value in (option.partition("=") for option in options)}
    about, rows = yaml.safe_load((Path(config["encoder"]) / "config.json").read_text(encoding="utf-8")), []
    with tempfile.TemporaryDirectory() as folder:
        for title, read in stages(config, file, Path(folder)):
            before = peak()
            row = counted(read, about["num_hidden_layers"], about["intermediate_size"], float(most))
            best, rate = max(before, peak()), row["operations"] / row["seconds"]
            rows.append({"stage": title, **row, "rate": rate, "peak": best, "share": rate / best})
            write_csv(pd.DataFrame(rows), table)
            print(pd.DataFrame(rows[-1:]).to_string(header=len(rows) == 1, index=False), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
