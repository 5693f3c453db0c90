"""Rule `finetune_occupation`: an encoder fine-tuned to tell professions from biographies that were debiased or not."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.files import whole_folder
        from scripts.biasflow.base.tabular import read_parquet
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.first_token import new_first_token_classifier
        from scripts.biasflow.tasks.finetune import Recipe, finetune
        from scripts.biasflow.tasks.occupation.task import labelled_texts, professions_of

        device, seed = resolve_device(smk.params.device), int(smk.wildcards.seed)
        biographies = read_parquet(smk.input.biographies)
        train, validation = labelled_texts(
            biographies, strategy=smk.wildcards.strategy, seed=seed, oversampling=smk.params.oversampling
        )
        with whole_folder(Path(smk.output[0]).parent) as folder:
            metrics = finetune(
                Path(smk.input.encoder[0]).parent,
                folder,
                smk.params.checkpoints,
                train,
                validation,
                texts=["text"],
                labels=professions_of(biographies),
                recipe=Recipe(**smk.params.recipe),
                seed=seed,
                device=device.type,
                new_model=new_first_token_classifier,
                keep_diverged=True,
            )
        facts |= {"device": str(device), "seed": seed, "metrics": metrics}


if "snakemake" in globals():
    main(snakemake)
