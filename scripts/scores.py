"""Rule `scores`: all scores of the run and their changes by methods in one table; in another what was not measured."""

import pandas as pd

from _rule import rule
from biasflow.base.tabular import read_parquet, read_text_csv, write_csv
from biasflow.results.changes import COLUMNS, changes
from biasflow.results.scores import HOLES, concatenate, read_scores, write_scores


def main(smk) -> None:
    with rule(smk):
        resamples = map(read_parquet, smk.input.resamples)
        drawn = pd.concat([pd.DataFrame(columns=COLUMNS), *resamples], ignore_index=True)
        write_scores(concatenate([*map(read_scores, smk.input.scores), changes(drawn)]), smk.output.scores)
        reasons = map(read_text_csv, smk.input.reasons)
        write_csv(pd.concat([pd.DataFrame(columns=HOLES), *reasons]), smk.output.reasons)


if "snakemake" in globals():
    main(snakemake)
