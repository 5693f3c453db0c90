"""Rule `eraser_nli`: paper B's NLI fairness of a fine-tuned encoder under paper A's erasers."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.corpora.nli import read_pairs
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.erasers.eraser import load_erasers
        from scripts.biasflow.readouts.intrinsic import methods_of, nli_scores_of_methods
        from scripts.biasflow.results.scores import tidy, write_scores
        from scripts.biasflow.text.occupation_pairs import load_pairs

        device = resolve_device(smk.params.device)
        facts["device"] = str(device)
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="classification", device=device)
        erasers = {name: load_erasers(path) for name, path in zip(smk.params.layers, smk.input.erasers, strict=True)}
        scores = nli_scores_of_methods(
            model,
            tokenizer,
            load_pairs(smk.input.pairs),
            read_pairs(smk.input.test),
            methods_of(erasers, smk.params.layers),
        )
        keys = {
            "task": "nli",
            "encoder": smk.wildcards.encoder,
            "strategy": "at_evaluation",
            "seed": smk.wildcards.seed,
        }
        write_scores(tidy(scores, paper="densray", **keys), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
