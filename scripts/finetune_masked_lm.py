"""Rule `finetune_masked_lm`: an encoder after one epoch of masked language modelling."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.files import whole_folder
        from scripts.biasflow.corpora.documents import read_sentences
        from scripts.biasflow.encoders.continue_ import finetune_masked_lm
        from scripts.biasflow.encoders.device import resolve_device

        device = resolve_device(smk.params.device)
        with whole_folder(Path(smk.output[0]).parent) as folder:
            steps = finetune_masked_lm(
                Path(smk.input.encoder[0]).parent,
                folder,
                folder / "work",
                read_sentences(smk.input.text),
                max_length=smk.params.max_length,
                seed=0,
                device=device.type,
            )
        facts |= {"device": str(device), "seed": 0, "steps": steps}


if "snakemake" in globals():
    main(snakemake)
