"""Rule `internal_data`: which professions the biographies have, which of them are used, and the labour statistics."""

import pandas as pd

from scripts._rule import rule
from scripts.biasflow.corpora.bios import left_out
from scripts.biasflow.papers.orgad2022.tables import CAPTIONS, data_table
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        rows = data_table(pd.read_csv(smk.input.professions))
        # Embedded biographies come from no file.
        reading = [left_out(pd.read_csv(smk.input.sources))] if smk.input.get("sources") else []
        caption = " ".join([CAPTIONS["data"], *reading])
        write_table(rows, smk.output.csv, smk.output.tex, smk.output.html, caption=caption)


if "snakemake" in globals():
    main(snakemake)
