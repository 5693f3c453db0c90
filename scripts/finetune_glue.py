"""Rule `finetune_glue`: an encoder fine-tuned on a GLUE task, with an eraser active in every forward pass or none."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.files import whole_folder
        from scripts.biasflow.base.tabular import read_text_csv
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.erasers.eraser import load_erasers
        from scripts.biasflow.readouts.intrinsic import edits_of_method
        from scripts.biasflow.tasks.finetune import Recipe, finetune
        from scripts.biasflow.tasks.glue.task import texts_and_labels

        device, seed = resolve_device(smk.params.device), int(smk.wildcards.seed)
        edits = edits_of_method(load_erasers(smk.input.eraser), smk.params.layers) if smk.input.get("eraser") else ()
        texts, labels = texts_and_labels(smk.wildcards.task)
        with whole_folder(Path(smk.output[0]).parent) as folder:
            metrics = finetune(
                Path(smk.input.encoder[0]).parent,
                folder,
                smk.params.checkpoints,
                read_text_csv(smk.input.train),
                read_text_csv(smk.input.validation),
                texts=texts,
                labels=labels,
                recipe=Recipe(**smk.params.recipe),
                seed=seed,
                device=device.type,
                edits=lambda model, tokenizer: edits,
            )
        facts |= {"device": str(device), "seed": seed, "metrics": metrics}


if "snakemake" in globals():
    main(snakemake)
