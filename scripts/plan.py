"""Rule `plan`: what was asked for and what cannot run (plan.csv), and what every name stands for (names.csv)."""

from _rule import rule
from biasflow.base.tabular import write_csv
from biasflow.plan.cells import plan
from biasflow.plan.facts import gather
from biasflow.plan.listing import cells_table, names_table
from biasflow.plan.setup import Setup


def main(smk) -> None:
    with rule(smk):
        setup = Setup(smk.config, gather(smk.config))
        planned = plan(setup)
        write_csv(cells_table(planned), smk.output.plan)
        write_csv(names_table(setup, planned), smk.output.names)


if "snakemake" in globals():
    main(snakemake)
