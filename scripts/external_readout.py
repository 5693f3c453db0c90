"""Rule `external_readout`: files that an encoder of source external gives, made the readout that they stand for."""

import importlib
from pathlib import Path

from _rule import picked, rule
from biasflow.base.files import whole_folder


def main(smk) -> None:
    with rule(smk) as facts:
        module = importlib.import_module(smk.params.readout["module"])
        given = [Path(file) for file in smk.input.given]
        with whole_folder(smk.output[0]) as folder:
            for each in smk.params.readout["datasets"]:
                facts[each["dataset"]] = module.read(given, picked(smk.input, each["data"]), folder / each["file"])


if "snakemake" in globals():
    main(snakemake)
