"""Rules `read_<readout>`, `probe_...`, `heads_...`: a readout of a model under methods, on all datasets of a block."""

import importlib
import itertools
from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.errors import AbsentError
        from scripts.biasflow.base.files import whole_folder
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.readouts.reasons import not_fitted, reasons_of, write_reasons
        from scripts.biasflow.readouts.source import Source

        module = importlib.import_module(smk.params.readout["module"])
        facts["device"] = device = str(resolve_device(smk.params.device, gpus=smk.resources.gpu))
        methods_file = Path(smk.input.methods) if smk.input.get("methods") else None
        rows = []
        with whole_folder(smk.output[0]) as folder:
            for each in smk.params.readout["datasets"]:
                reasons = not_fitted(methods_file)
                for path in itertools.chain(*each["data"].values()):
                    reasons |= reasons_of(path)
                source = Source(
                    model_folder=Path(smk.input.model[0]).parent,
                    methods=tuple(method for method in each["methods"] if method not in reasons),
                    methods_file=methods_file,
                    data={role: tuple(map(Path, files)) for role, files in each["data"].items()},
                    dataset=each["dataset"],
                    training=smk.wildcards.training,
                    device=device,
                    work=Path(smk.params.checkpoints) / Path(each["file"]).stem,
                )
                try:
                    if source.methods:
                        facts[each["dataset"]] = module.read(source, folder / each["file"], **each["options"])
                except AbsentError as error:
                    reasons |= dict.fromkeys(source.methods, str(error))
                rows += [(each["file"], name, reasons[name]) for name in each["methods"] if name in reasons]
            write_reasons(folder, rows)
        facts |= {"not_measured": rows} if rows else {}


if "snakemake" in globals():
    main(snakemake)
