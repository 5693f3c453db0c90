"""Rule `nli_scores`: accuracy, parity, fairness and test accuracy of every setting."""

from scripts._rule import rule
from scripts.biasflow.corpora.nli import read_pairs
from scripts.biasflow.methods.grid import all_settings, setting_named
from scripts.biasflow.readouts.predictions import load_predictions, scores_by_stage
from scripts.biasflow.results.scores import tidy, write_scores


def main(smk) -> None:
    with rule(smk):
        settings = [setting_named(smk.params.setting)] if smk.params.setting else all_settings()
        predictions, labels = load_predictions(smk.input.predictions), read_pairs(smk.input.test)["label"]
        scores = scores_by_stage(predictions, [(s.level, s.settings) for s in settings], labels)
        scores = scores.rename(columns={"level": "method", "settings": "setting"})
        keys = {"paper": "projective", "task": "nli", "encoder": smk.wildcards.encoder, "strategy": smk.params.when}
        write_scores(tidy(scores, **keys, seed=smk.wildcards.seed), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
