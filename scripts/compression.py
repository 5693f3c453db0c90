"""Rule `compression`: how well gender is compressed, given the test biographies' vectors by encoders of a kind."""

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.tabular import read_parquet
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.readouts.vectors import load_vectors
        from scripts.biasflow.results.scores import concatenate, write_scores
        from scripts.biasflow.tasks.occupation.task import compression_scores, of_model, splits_of_model

        facts["device"] = device = str(resolve_device(smk.params.device))
        probe = smk.params.probe
        biographies = read_parquet(smk.input.biographies)
        tables = [
            compression_scores(
                biographies,
                load_vectors(file),
                encoder=smk.wildcards.encoder,
                **of_model(model),
                seeds=splits_of_model(model, smk.params.seeds),
                probe_seeds=probe["seeds"],
                fractions=probe["fractions"],
                epochs=probe["epochs"],
                device=device,
            )
            for model, file in zip(smk.params.models, smk.input.representations, strict=True)
        ]
        write_scores(concatenate(tables), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
