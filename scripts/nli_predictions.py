"""Rule `nli_predictions`: classes of the gender-occupation pairs and of the test pairs in every setting."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.files import whole_file
        from scripts.biasflow.base.tabular import write_csv
        from scripts.biasflow.corpora.nli import read_pairs
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.methods.grid import all_settings, setting_named
        from scripts.biasflow.methods.subspaces import load_subspaces
        from scripts.biasflow.readouts.predictions import save_predictions
        from scripts.biasflow.readouts.sweep_heads import load_heads
        from scripts.biasflow.tasks.nli.task import predict_all
        from scripts.biasflow.text.occupation_pairs import load_pairs

        device = resolve_device(smk.params.device)
        facts |= {"device": str(device), "seed": int(smk.wildcards.seed)}
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="classification", device=device)
        predictions, edits = predict_all(
            model,
            tokenizer,
            load_pairs(smk.input.pairs),
            read_pairs(smk.input.test),
            [setting_named(smk.params.setting)] if smk.params.setting else all_settings(),
            load_subspaces(smk.input.subspaces),
            retrained=load_heads(smk.input.heads, device) if smk.input.get("heads") else None,
            batch_size=smk.params.batch_size,
            device=device,
        )
        with whole_file(smk.output.predictions) as temporary:
            save_predictions(predictions, temporary)
        write_csv(edits, smk.output.edits)


if "snakemake" in globals():
    main(snakemake)
