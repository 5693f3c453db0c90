"""Rules `read_<readout>`, `read_together`, `probe_...`, `heads_...`: readouts of a model on all datasets of a block."""

import importlib
import itertools
from pathlib import Path

from _rule import data_of, model_folder, rule


def main(smk) -> None:
    with rule(smk) as facts:
        from biasflow.base.errors import AbsentError
        from biasflow.base.files import whole_folder
        from biasflow.base.progress import parts
        from biasflow.base.records import checkpoint_folder
        from biasflow.encoders.device import resolve_deterministic, resolve_device
        from biasflow.readouts.files import not_fitted, reason_of, reasons_of, write_left_out, write_reasons
        from biasflow.readouts.source import Source

        device = resolve_device(smk.params.device, gpus=smk.resources.gpu)
        # Heads and probes are trained, too.
        facts |= {"device": str(device), "deterministic": resolve_deterministic(smk.params.deterministic, device)}
        methods_file = Path(smk.input.methods) if smk.input.get("methods") else None
        tried, failed = 0, []
        with whole_folder(smk.output[0]) as folder:
            for readout in parts(smk.params.readout, lambda readout: readout["file"].partition(".")[0]):
                path, reasons = folder / readout["file"], not_fitted(methods_file)
                data = data_of(smk.input, readout, folder)
                for file in itertools.chain(*data.values()):
                    reasons |= reasons_of(file)
                name = str(Path(readout["file"]).with_suffix(""))
                source = Source(
                    model_folder=model_folder(smk.input.model),
                    methods=tuple(method for method in readout["methods"] if method not in reasons),
                    methods_file=methods_file,
                    data=data,
                    dataset=readout["dataset"],
                    training=smk.wildcards.training,
                    device=device.type,
                    work=checkpoint_folder(smk.output[0]) / name,
                )
                tried += bool(source.methods)
                try:
                    if source.methods:
                        module = importlib.import_module(readout["module"])
                        facts[name] = module.read(source, path, **readout["options"])
                        write_left_out(path, facts[name])
                except Exception as error:  # its own: the other readouts are kept
                    reasons |= dict.fromkeys(source.methods, reason_of(error, smk.log[0]))
                    failed += [] if isinstance(error, AbsentError) else [error]
                write_reasons(path, {method: reasons[method] for method in readout["methods"] if method in reasons})
            if failed and len(failed) == tried:
                raise failed[0]


if "snakemake" in globals():
    main(snakemake)
