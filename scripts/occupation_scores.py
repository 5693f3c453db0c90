"""Rule `occupation_scores`: the scores of fine-tuned encoders with their own heads, and with retrained ones."""

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        import json
        from pathlib import Path

        import pandas as pd

        from scripts.biasflow.base.tabular import read_parquet, write_csv
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.readouts.heads import save_linear_heads
        from scripts.biasflow.readouts.vectors import load_head, load_vectors
        from scripts.biasflow.results.scores import concatenate, write_scores
        from scripts.biasflow.tasks.occupation.task import read_labour_shares, tuned_scores

        facts["device"] = device = str(resolve_device(smk.params.device))
        biographies, labour = read_parquet(smk.input.biographies), read_labour_shares(smk.input.professions)
        training = dict(smk.params.heads)
        head_seeds = training.pop("seeds")
        files = zip(smk.input.representations, smk.input.own_heads, smk.input.trainings, strict=True)
        found = [
            tuned_scores(
                biographies,
                load_vectors(vectors),
                load_head(Path(head).parent),
                json.loads(Path(facts_of_training).read_text(encoding="utf-8")),
                encoder=smk.wildcards.encoder,
                strategy=smk.wildcards.strategy,
                seed=seed,
                labour=labour,
                head_seeds=head_seeds,
                device=device,
                **training,
            )
            for seed, (vectors, head, facts_of_training) in zip(smk.params.seeds, files, strict=True)
        ]
        for each, path in zip(found, smk.output.heads, strict=True):
            save_linear_heads(each.heads, path)
        write_csv(pd.concat([each.counts for each in found], ignore_index=True), smk.output.counts)
        write_scores(concatenate([each.scores for each in found]), smk.output.scores)


if "snakemake" in globals():
    main(snakemake)
