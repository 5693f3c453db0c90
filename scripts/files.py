"""Rule `files`: the external files of the run, where they came from and what they were checked against."""

import pandas as pd

from _rule import rule
from biasflow.base.tabular import write_csv
from biasflow.corpora.verified import COLUMNS, origin_of

with rule(snakemake):
    write_csv(pd.DataFrame(map(origin_of, snakemake.input), columns=COLUMNS), snakemake.output[0])
