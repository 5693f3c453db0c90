"""Rule `next_sentence`: p(next sentence) of every stimulus under all 76 interventions, in one pass."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.interventions import all_settings
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.encoders.next_sentence import next_sentence_probabilities
        from scripts.biasflow.encoders.subspaces import load_subspaces
        from scripts.biasflow.tabular import read_text_csv, write_csv, write_parquet

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
