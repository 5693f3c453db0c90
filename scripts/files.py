"""Rule `files`: the external files of the run, where they came from and what they were checked against."""

import pandas as pd

from _rule import rule
from biasflow.base.tabular import write_csv
from biasflow.corpora.verified import COLUMNS, origin_of


def main(smk) -> None:
    with rule(smk):
        write_csv(pd.DataFrame(map(origin_of, smk.input), columns=COLUMNS), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
