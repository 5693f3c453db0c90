"""Rule `occupation_scores`: the scores of a fine-tuned encoder with its own head, and with heads retrained on it."""

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        import json
        from pathlib import Path

        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.vectors import load_head, load_vectors
        from scripts.biasflow.scores import write_scores
        from scripts.biasflow.tabular import read_parquet, write_csv
        from scripts.biasflow.tasks.linear_heads import save_linear_heads
        from scripts.biasflow.tasks.occupation import read_labour_shares, tuned_scores

        facts["device"] = device = str(resolve_device(smk.params.device))
        training = dict(smk.params.heads)
        found = tuned_scores(
            read_parquet(smk.input.biographies),
            load_vectors(smk.input.representations),
            load_head(Path(smk.input.encoder[0]).parent),
            json.loads(Path(smk.input.encoder[1]).read_text(encoding="utf-8")),
            encoder=smk.wildcards.encoder,
            strategy=smk.wildcards.strategy,
            seed=int(smk.wildcards.seed),
            labour=read_labour_shares(smk.input.professions),
            head_seeds=training.pop("seeds"),
            device=device,
            **training,
        )
        save_linear_heads(found.heads, smk.output.heads)
        write_csv(found.counts, smk.output.counts)
        write_scores(found.scores, smk.output.scores)


if "snakemake" in globals():
    main(snakemake)
