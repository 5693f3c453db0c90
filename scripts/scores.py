"""Rule `scores`: all scores of the run and their changes by methods in one table; in another what was not measured."""

import pandas as pd

from _rule import rule
from biasflow.base.tabular import read_parquet, read_text_csv, write_csv
from biasflow.results.changes import COLUMNS, changes
from biasflow.results.scores import HOLES, concatenate, read_scores, write_scores

with rule(snakemake):
    resamples = map(read_parquet, snakemake.input.resamples)
    drawn = pd.concat([pd.DataFrame(columns=COLUMNS), *resamples], ignore_index=True)
    write_scores(concatenate([*map(read_scores, snakemake.input.scores), changes(drawn)]), snakemake.output.scores)
    reasons = map(read_text_csv, snakemake.input.reasons)
    write_csv(pd.concat([pd.DataFrame(columns=HOLES), *reasons]), snakemake.output.reasons)
