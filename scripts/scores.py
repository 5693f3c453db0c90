"""Rule `scores`: all scores of the run and their changes by methods in one table; in another what was not measured."""

import pandas as pd

from _rule import rule
from biasflow.base.tabular import read_parquet, write_csv
from biasflow.results.changes import COLUMNS, changes
from biasflow.results.scores import KEYS, concatenate, read_all, write_scores

with rule(snakemake):
    resamples = map(read_parquet, snakemake.input.resamples)
    drawn = pd.concat([pd.DataFrame(columns=COLUMNS), *resamples], ignore_index=True).drop_duplicates(KEYS)
    scores, reasons = read_all(snakemake.input.scores, snakemake.input.reasons)
    write_scores(concatenate([scores, changes(drawn)]), snakemake.output.scores)
    write_csv(reasons, snakemake.output.reasons)
