"""Rules `read_<readout>`, `read_together`, `probe_...`, `heads_...`: readouts of a model on all datasets of a block."""

import itertools
from pathlib import Path

from _rule import data_of, model_folder, rule

with rule(snakemake) as facts:
    from biasflow.base.by_name import module_named
    from biasflow.base.errors import AbsentError
    from biasflow.base.files import whole_folder
    from biasflow.base.progress import parts
    from biasflow.base.records import checkpoint_folder
    from biasflow.encoders.device import named, resolve_deterministic, resolve_device
    from biasflow.readouts.files import not_fitted, reason_of, reasons_of, write_left_out, write_reasons
    from biasflow.readouts.source import Source

    device = resolve_device(snakemake.params.device, gpus=snakemake.resources.gpu)
    # Heads and probes are trained, too.
    facts |= {"device": named(device), "deterministic": resolve_deterministic(snakemake.params.deterministic, device)}
    methods_file = Path(snakemake.input.methods) if snakemake.input.get("methods") else None
    tried, failed = 0, []
    with whole_folder(snakemake.output[0]) as folder:
        for readout in parts(snakemake.params.readout, lambda readout: readout["file"].partition(".")[0]):
            path, reasons = folder / readout["file"], not_fitted(methods_file)
            data = data_of(snakemake.input, readout, folder)
            for file in itertools.chain(*data.values()):
                reasons |= reasons_of(file)
            name = str(Path(readout["file"]).with_suffix(""))
            source = Source(
                model_folder=model_folder(snakemake.input.model),
                methods=tuple(method for method in readout["methods"] if method not in reasons),
                methods_file=methods_file,
                draws=readout["draws"],
                data=data,
                dataset=readout["dataset"],
                training=snakemake.wildcards.training,
                device=device.type,
                work=checkpoint_folder(snakemake.output[0]) / name,
            )
            tried += bool(source.methods)
            try:
                if source.methods:
                    module = module_named(readout["module"])
                    facts[name] = module.read(source, path, **readout["options"])
                    write_left_out(path, facts[name])
            except Exception as error:  # its own: the other readouts are kept
                reasons |= dict.fromkeys(source.methods, reason_of(error, snakemake.log[0]))
                failed += [] if isinstance(error, AbsentError) else [error]
            write_reasons(path, {method: reasons[method] for method in readout["methods"] if method in reasons})
        if failed and len(failed) == tried:
            raise failed[0]
