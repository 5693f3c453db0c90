"""Rule `projective_table2`: what the authors dropped and mended, with our model's probabilities."""

import pandas as pd

from scripts._rule import rule
from scripts.biasflow.base.tabular import read_parquet, read_text_csv
from scripts.biasflow.papers.dawkins2024.tables import CAPTIONS, table2
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        changes = read_text_csv(smk.input.changes)
        blocks = zip(smk.params.encoders, smk.input.original, smk.input.authors, strict=True)
        rows = {name: table2(changes, read_parquet(first), read_parquet(second)) for name, first, second in blocks}
        table = pd.concat(rows, names=["encoder"]).reset_index(level="encoder").reset_index(drop=True)
        write_table(table, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS["table2"])


if "snakemake" in globals():
    main(snakemake)
