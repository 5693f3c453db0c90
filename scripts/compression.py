"""Rule `compression`: how well gender is compressed, given an encoder's representations of the test biographies."""

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.vectors import load_vectors
        from scripts.biasflow.scores import write_scores
        from scripts.biasflow.tabular import read_parquet
        from scripts.biasflow.tasks.occupation import compression_scores, of_model

        facts["device"] = device = str(resolve_device(smk.params.device))
        probe = smk.params.probe
        scores = compression_scores(
            read_parquet(smk.input.biographies),
            load_vectors(smk.input.representations),
            encoder=smk.wildcards.encoder,
            **of_model(smk.wildcards.model),
            seeds=smk.params.seeds,
            probe_seeds=probe["seeds"],
            fractions=probe["fractions"],
            epochs=probe["epochs"],
            device=device,
        )
        write_scores(scores, smk.output[0])


if "snakemake" in globals():
    main(snakemake)
