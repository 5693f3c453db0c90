"""Rule `scores`: the scores of all encoders and stimuli in the one tidy table of the run."""

from scripts._rule import rule
from scripts.biasflow.results.scores import concatenate, read_scores, write_scores


def main(smk) -> None:
    with rule(smk):
        write_scores(concatenate(read_scores(path) for path in smk.input.scores), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
