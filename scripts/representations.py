"""Rule `representations`: what is read off a probed encoder: vectors of all biographies, associations of words."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.files import whole_file
        from scripts.biasflow.base.tabular import read_parquet
        from scripts.biasflow.corpora.ceat_sets import ceat_tests
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.first_token import first_token_vectors
        from scripts.biasflow.readouts.contextual_association import ceat_scores
        from scripts.biasflow.readouts.vectors import save_vectors
        from scripts.biasflow.readouts.word_contexts import read_word_contexts
        from scripts.biasflow.results.scores import write_scores
        from scripts.biasflow.tasks.occupation.encoders import probed_encoder
        from scripts.biasflow.tasks.occupation.task import of_model, seed_of_model, texts_of

        path, device = smk.wildcards.model, resolve_device(smk.params.device)
        model, tokenizer = probed_encoder(Path(smk.input.encoder[0]).parent, path, device=device)
        biographies = read_parquet(smk.input.biographies)
        found = {
            text: first_token_vectors(model, tokenizer, texts_of(biographies, text), max_length=smk.params.max_length)
            for text in smk.params.texts
        }
        with whole_file(smk.output.vectors) as temporary:
            save_vectors(found, temporary)
        if smk.params.ceat:
            options = dict(smk.params.ceat)
            tests = ceat_tests(options.pop("tests"), smk.input.words)
            scores = ceat_scores(model, tokenizer, read_word_contexts(smk.input.contexts), tests, **options)
            keys = {"encoder": smk.wildcards.encoder, "seed": seed_of_model(path), **of_model(path)}
            write_scores(scores.assign(**keys), smk.output.ceat)
        truncated = {text: each.truncated for text, each in found.items()}
        facts |= {"device": str(device), "biographies": len(biographies), "truncated": truncated}


if "snakemake" in globals():
    main(snakemake)
