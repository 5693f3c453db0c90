"""Rule `eraser_stereoset`: paper B's Strength and Distance under paper A's erasers."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.tabular import read_text_csv
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.erasers.eraser import load_erasers
        from scripts.biasflow.metrics.stereoset import score_settings
        from scripts.biasflow.readouts.intrinsic import methods_of
        from scripts.biasflow.readouts.next_sentence import edited_probabilities
        from scripts.biasflow.results.scores import tidy, write_scores

        device = resolve_device(smk.params.device)
        facts["device"] = str(device)
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="next_sentence", device=device)
        erasers = {name: load_erasers(path) for name, path in zip(smk.params.layers, smk.input.erasers, strict=True)}
        methods = {(each.method, each.setting): each.edits for each in methods_of(erasers, smk.params.layers)}
        probabilities = edited_probabilities(model, tokenizer, read_text_csv(smk.input.stimuli), methods, device=device)
        scores = score_settings(probabilities, tops=[0.1]).rename(columns={"level": "method", "settings": "setting"})
        write_scores(
            tidy(scores, paper="densray", task=smk.wildcards.stimuli, encoder=smk.wildcards.encoder), smk.output[0]
        )


if "snakemake" in globals():
    main(snakemake)
