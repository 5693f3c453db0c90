"""Rule `frozen_scores`: the scores of linear heads on an encoder that was not fine-tuned."""

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.tabular import read_parquet, write_csv
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.readouts.heads import save_linear_heads
        from scripts.biasflow.readouts.vectors import load_vectors
        from scripts.biasflow.results.scores import write_scores
        from scripts.biasflow.tasks.occupation.task import frozen_scores, read_labour_shares

        facts["device"] = device = str(resolve_device(smk.params.device))
        found = frozen_scores(
            read_parquet(smk.input.biographies),
            load_vectors(smk.input.representations),
            encoder=smk.wildcards.encoder,
            strategies=smk.params.strategies,
            labour=read_labour_shares(smk.input.professions),
            oversampling=smk.params.oversampling,
            device=device,
            **smk.params.heads,
        )
        save_linear_heads(found.heads, smk.output.heads)
        write_csv(found.counts, smk.output.counts)
        write_scores(found.scores, smk.output.scores)


if "snakemake" in globals():
    main(snakemake)
