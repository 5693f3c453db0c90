"""Rule `scores`: all scores of the run in one table, and the cells that their jobs could not measure in another."""

import pandas as pd

from _rule import rule
from biasflow.base.tabular import read_text_csv, write_csv
from biasflow.results.holes import HOLES
from biasflow.results.scores import concatenate, read_scores, write_scores


def main(smk) -> None:
    with rule(smk):
        write_scores(concatenate(map(read_scores, smk.input.scores)), smk.output.scores)
        reasons = map(read_text_csv, smk.input.reasons)
        write_csv(pd.concat([pd.DataFrame(columns=HOLES), *reasons]), smk.output.reasons)


if "snakemake" in globals():
    main(snakemake)
