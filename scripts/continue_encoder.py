"""Rule `continue_encoder`: an encoder that another one became by more training."""

from pathlib import Path

from _rule import model_folder, rule

with rule(snakemake) as facts:
    from biasflow.base.records import checkpoint_folder
    from biasflow.encoders.device import named, resolve_deterministic, resolve_device
    from biasflow.training.continue_ import continue_encoder

    device = resolve_device(snakemake.params.device, gpus=snakemake.resources.gpu)
    facts["deterministic"] = resolve_deterministic(snakemake.params.deterministic, device)
    source, target = model_folder(snakemake.input.encoder), Path(snakemake.output[0])
    files = {role: snakemake.input.get(role) for role in ("text", "swapped", "labour", "held_out")}
    options = snakemake.params.encoder | files | {"work": checkpoint_folder(target)}
    metrics = continue_encoder(source, target, device=device.type, **options)
    facts |= {"device": named(device), "seed": snakemake.params.encoder["seed"], "metrics": metrics}
