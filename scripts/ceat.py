"""Rule `ceat`: the contextualised association tests of the probed encoders of one kind, in all readings."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.corpora.ceat_sets import ceat_tests
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.word_contexts import read_word_contexts
        from scripts.biasflow.progress import progress
        from scripts.biasflow.scores import concatenate, write_scores
        from scripts.biasflow.tasks.contextual_association import ceat_scores
        from scripts.biasflow.tasks.occupation import of_model, seed_of_model
        from scripts.biasflow.tasks.occupation_encoders import probed_encoder

        device = resolve_device(smk.params.device)
        contexts = read_word_contexts(smk.input.contexts)
        tests = ceat_tests(smk.params.tests, smk.input.words)
        folders = [Path(file).parent for file in smk.input.encoders]
        tables = []
        for folder, path in progress(
            zip(folders, smk.params.models, strict=True), total=len(folders), description="CEAT: encoders"
        ):
            model, tokenizer = probed_encoder(folder, path, device=device)
            scores = ceat_scores(
                model,
                tokenizer,
                contexts,
                tests,
                draws=smk.params.draws,
                seed=smk.params.seed,
                missing=smk.params.missing,
            )
            keys = {"encoder": smk.wildcards.encoder, "seed": seed_of_model(path), **of_model(path)}
            tables.append(scores.assign(**keys))
        write_scores(concatenate(tables), smk.output[0])
        facts |= {"device": str(device), "seed": smk.params.seed}


if "snakemake" in globals():
    main(snakemake)
