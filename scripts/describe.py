"""Rule `describe`: what each encoder is (encoders.csv), and what each fine-tuning was given (trainings.csv)."""

import pandas as pd

from _rule import model_folder, rule
from biasflow.base.tabular import write_csv
from biasflow.encoders.described import COLUMNS, table_row
from biasflow.metrics.training import TRAININGS, facts_of
from biasflow.results.scores import MODEL

with rule(snakemake):
    encoders = [
        {"encoder": name, **table_row(model_folder(snakemake.input[f"encoder{number}"]))}
        for number, name in enumerate(snakemake.params.encoders)
    ]
    trainings = [
        dict(zip(MODEL, model, strict=True)) | facts_of(path)
        for model, path in zip(snakemake.params.models, snakemake.input.trainings, strict=True)
    ]
    write_csv(pd.DataFrame(encoders, columns=COLUMNS), snakemake.output.encoders)
    write_csv(pd.DataFrame(trainings, columns=[*MODEL, *TRAININGS]), snakemake.output.trainings)
