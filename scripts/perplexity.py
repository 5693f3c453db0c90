"""Rule `perplexity`: masked and pseudo-perplexity under every eraser."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.corpora.documents import read_sentences
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.erasers.eraser import load_erasers
        from scripts.biasflow.readouts.intrinsic import methods_of, perplexity_scores
        from scripts.biasflow.readouts.losses import sample_sentences, sentences_that_fit
        from scripts.biasflow.results.scores import tidy, write_scores

        device = resolve_device(smk.params.device)
        facts["device"] = str(device)
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="masked_lm", device=device)
        erasers = {name: load_erasers(path) for name, path in zip(smk.params.layers, smk.input.erasers, strict=True)}
        sentences, sample = read_sentences(smk.input.text), smk.params.pseudo_sentences
        scores = perplexity_scores(
            model,
            tokenizer,
            " ".join(sentences),
            sample_sentences(sentences_that_fit(model, tokenizer, sentences), sample, seed=0) if sample else [],
            methods_of(erasers, smk.params.layers),
            mask_seeds=smk.params.mask_seeds,
            max_length=smk.params.max_length,
            batch_size=smk.params.batch_size,
        )
        keys = {"task": f"perplexity:{smk.params.name}", "encoder": smk.wildcards.encoder, "stage": smk.wildcards.stage}
        write_scores(tidy(scores, paper="densray", **keys), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
