"""Rule `projective_subspaces`: how much variance the directions of the gender subspaces explain."""

import pandas as pd

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.tables import CAPTIONS, subspaces
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        variance, pairs = (
            {name: pd.read_csv(path) for name, path in zip(smk.params.encoders, paths, strict=True)}
            for paths in (smk.input.variance, smk.input.pairs)
        )
        table = subspaces(variance, pairs, smk.params.not_run)
        write_table(table, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS["subspaces"])


if "snakemake" in globals():
    main(snakemake)
