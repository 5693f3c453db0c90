"""Rule `next_sentence`: p(next sentence) of every stimulus under all 76 interventions, in one pass."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.tabular import read_text_csv, write_csv, write_parquet
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.methods.grid import all_settings
        from scripts.biasflow.methods.subspaces import load_subspaces
        from scripts.biasflow.readouts.next_sentence import next_sentence_probabilities

        device = resolve_device(smk.params.device)
        facts["device"] = str(device)
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="next_sentence", device=device)
        probabilities, edits = next_sentence_probabilities(
            model,
            tokenizer,
            read_text_csv(smk.input.stimuli),
            all_settings(),
            load_subspaces(smk.input.subspaces),
            batch_size=smk.params.batch_size,
            device=device,
        )
        write_parquet(probabilities, smk.output.probabilities)
        write_csv(edits, smk.output.edits)


if "snakemake" in globals():
    main(snakemake)
