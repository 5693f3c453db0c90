"""Rule `describe`: what each encoder is (encoders.csv), and what each fine-tuning was given (trainings.csv)."""

from pathlib import Path

import pandas as pd

from _rule import rule
from biasflow.base.tabular import write_csv
from biasflow.encoders.described import COLUMNS, described
from biasflow.metrics.training import TRAININGS, facts_of
from biasflow.results.scores import MODEL


def main(smk) -> None:
    with rule(smk):
        encoders = [
            {"encoder": name, **described(Path(config).parent)}
            for name, config in zip(smk.params.encoders, smk.input.configs, strict=True)
        ]
        trainings = [
            dict(zip(MODEL, model, strict=True)) | facts_of(path)
            for model, path in zip(smk.params.models, smk.input.trainings, strict=True)
        ]
        write_csv(pd.DataFrame(encoders, columns=COLUMNS), smk.output.encoders)
        write_csv(pd.DataFrame(trainings, columns=[*MODEL, *TRAININGS]), smk.output.trainings)


if "snakemake" in globals():
    main(snakemake)
