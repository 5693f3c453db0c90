"""Rule `continue_encoder`: an encoder that another one became by more training."""

from pathlib import Path

from _rule import model_folder, rule


def main(smk) -> None:
    with rule(smk) as facts:
        from biasflow.base.records import checkpoint_folder
        from biasflow.encoders.device import resolve_deterministic, resolve_device
        from biasflow.training.continue_ import continue_encoder

        device = resolve_device(smk.params.device, gpus=smk.resources.gpu)
        facts["deterministic"] = resolve_deterministic(smk.params.deterministic, device)
        source, target = model_folder(smk.input.encoder), Path(smk.output[0])
        files = {role: smk.input.get(role) for role in ("swapped", "labour")}
        options = smk.params.encoder | files | {"work": checkpoint_folder(target)}
        metrics = continue_encoder(source, target, smk.input.text, device=device.type, **options)
        facts |= {"device": str(device), "seed": smk.params.encoder["seed"], "metrics": metrics}


if "snakemake" in globals():
    main(snakemake)
