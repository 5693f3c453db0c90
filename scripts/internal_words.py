"""Rules `internal_table9` and `internal_table10`: words that tell gender after scrubbing, beside the printed ones."""

import pandas as pd

from scripts._rule import rule
from scripts.biasflow.base.tabular import read_text_csv
from scripts.biasflow.papers.orgad2022.tables import CAPTIONS, words_table
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        top = pd.read_csv(smk.input.words, keep_default_na=False)
        number = smk.params.table.removeprefix("table")
        part, printed = smk.params.part, read_text_csv(smk.input.printed)
        rows = words_table(top[top["part"] == part], printed, number, profession=part)
        write_table(rows, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS[smk.params.table])


if "snakemake" in globals():
    main(snakemake)
