"""Rules `read_<readout>`, `probe_...`, `heads_...`: a readout of a model under methods, on all datasets of a block."""

import importlib
from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.files import whole_folder
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.readouts.source import Source

        module = importlib.import_module(smk.params.readout["module"])
        facts["device"] = device = str(resolve_device(smk.params.device))
        with whole_folder(smk.output[0]) as folder:
            for each in smk.params.readout["datasets"]:
                source = Source(
                    model_folder=Path(smk.input.model[0]).parent,
                    methods=tuple(each["methods"]),
                    methods_file=Path(smk.input.methods) if smk.input.get("methods") else None,
                    data={role: tuple(map(Path, files)) for role, files in each["data"].items()},
                    dataset=each["dataset"],
                    training=smk.wildcards.training,
                    device=device,
                )
                facts[each["dataset"]] = module.read(source, folder / each["file"], **each["options"])


if "snakemake" in globals():
    main(snakemake)
