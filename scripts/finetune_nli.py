"""Rules `finetune_nli` and `finetune_nli_edited`: an encoder fine-tuned on NLI pairs, resumable after a kill."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.files import whole_folder
        from scripts.biasflow.corpora.nli import read_pairs
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.methods.grid import setting_named
        from scripts.biasflow.metrics.nli import CLASSES
        from scripts.biasflow.tasks.finetune import Recipe, finetune
        from scripts.biasflow.tasks.nli.task import TEXTS, interventions_in_training
        from scripts.biasflow.text.sentence_pairs import load_sentence_pairs

        device = resolve_device(smk.params.device)
        with whole_folder(Path(smk.output[0]).parent) as folder:
            edits = {}
            if smk.params.get("setting"):
                edits["edits"] = interventions_in_training(
                    setting_named(smk.params.setting),
                    load_sentence_pairs(smk.input.sentence_pairs),
                    folder / "subspaces.safetensors",
                    encoder=smk.wildcards.encoder,
                    device=device,
                    **smk.params.subspaces,
                )
            metrics = finetune(
                Path(smk.input.encoder[0]).parent,
                folder,
                smk.params.checkpoints,
                read_pairs(smk.input.train),
                read_pairs(smk.input.validation),
                texts=TEXTS,
                labels=CLASSES,
                recipe=Recipe(**smk.params.recipe),
                seed=int(smk.wildcards.seed),
                device=device.type,
                **edits,
            )
        facts |= {"device": str(device), "seed": int(smk.wildcards.seed), "metrics": metrics}


if "snakemake" in globals():
    main(snakemake)
