"""Rule `nli_heads`: the classification head of a fine-tuned encoder, retrained on the features of every setting."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.files import whole_file
        from scripts.biasflow.corpora.nli import read_pairs
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.methods.grid import all_settings
        from scripts.biasflow.methods.subspaces import load_subspaces
        from scripts.biasflow.metrics.nli import CLASSES
        from scripts.biasflow.readouts.sweep_heads import retrain_heads, save_heads
        from scripts.biasflow.tasks.nli.task import TEXTS, check_classifier

        device = resolve_device(smk.params.device)
        seed = int(smk.wildcards.seed)
        facts |= {"device": str(device), "seed": seed}
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="classification", device=device)
        check_classifier(model)
        heads = retrain_heads(
            model,
            tokenizer,
            read_pairs(smk.input.train),
            all_settings(),
            load_subspaces(smk.input.subspaces),
            texts=TEXTS,
            labels=CLASSES,
            seed=seed,
            device=device,
            **smk.params.training,
        )
        with whole_file(smk.output[0]) as temporary:
            save_heads(heads, temporary)


if "snakemake" in globals():
    main(snakemake)
