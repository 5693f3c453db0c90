"""Rule `stereoset_scores`: Stereotype Score, Strength and Distance of every setting."""

from scripts._rule import rule
from scripts.biasflow.base.tabular import read_parquet
from scripts.biasflow.metrics.stereoset import score_settings
from scripts.biasflow.results.scores import tidy, write_scores


def main(smk) -> None:
    with rule(smk):
        scores = score_settings(read_parquet(smk.input.probabilities), tops=smk.params.tops)
        scores = scores.rename(columns={"level": "method", "settings": "setting"})
        keys = {"paper": "projective", "task": smk.wildcards.stimuli, "encoder": smk.wildcards.encoder}
        write_scores(tidy(scores, **keys, seed=str(smk.params.seed)), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
