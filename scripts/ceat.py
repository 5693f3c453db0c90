"""Rule `ceat`: the contextualised association tests of a probed encoder, in all readings."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.corpora.ceat_sets import ceat_tests
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.encoders.word_contexts import read_word_contexts
        from scripts.biasflow.scores import write_scores
        from scripts.biasflow.tasks.contextual_association import ceat_scores
        from scripts.biasflow.tasks.occupation import of_model

        device = resolve_device(smk.params.device)
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="none", device=device)
        scores = ceat_scores(
            model,
            tokenizer,
            read_word_contexts(smk.input.contexts),
            ceat_tests(smk.params.tests, smk.input.words),
            draws=smk.params.draws,
            seed=smk.params.seed,
            missing=smk.params.missing,
        )
        seed = smk.wildcards.model.rpartition("seed")[2] if "seed" in smk.wildcards.model else ""
        keys = {"encoder": smk.wildcards.encoder, "seed": seed, **of_model(smk.wildcards.model)}
        write_scores(scores.assign(**keys), smk.output[0])
        facts |= {"device": str(device), "seed": smk.params.seed}


if "snakemake" in globals():
    main(snakemake)
