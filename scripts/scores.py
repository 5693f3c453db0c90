"""Rule `scores`: all scores of the run in one table."""

from scripts._rule import rule
from scripts.biasflow.results.scores import concatenate, read_scores, write_scores


def main(smk) -> None:
    with rule(smk):
        write_scores(concatenate(map(read_scores, smk.input.scores)), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
