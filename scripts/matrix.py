"""Rule `matrix`: methods x measures for every model, with the plan's reason where a cell is empty; and as tables."""

from pathlib import Path

from scripts._rule import rule
from scripts.biasflow.base.tabular import write_csv
from scripts.biasflow.results.first_table import first_table
from scripts.biasflow.results.holes import read_plan
from scripts.biasflow.results.matrix import matrix
from scripts.biasflow.results.scores import read_scores
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        found = matrix(read_scores(smk.input.scores), read_plan(smk.input.plan, smk.input.reasons))
        write_csv(found, smk.output.matrix)
        for name, task in smk.params.tables.items():
            table = first_table(found, task)
            paths = [Path(smk.output.matrix).parent / f"tables/{name}.{kind}" for kind in ("csv", "tex", "html")]
            write_table(table.frame, *paths, caption=table.caption, decimals=3, headers=table.headers)


if "snakemake" in globals():
    main(snakemake)
