"""Rule `plan`: what was asked for and what cannot run (plan.csv), and what every name stands for (names.csv)."""

from _rule import rule
from biasflow.base.tabular import write_csv
from biasflow.plan.cells import plan
from biasflow.plan.facts import gather
from biasflow.plan.listing import cells_table, names_table
from biasflow.plan.setup import Setup

with rule(snakemake):
    setup = Setup(snakemake.config, gather(snakemake.config))
    planned = plan(setup)
    write_csv(cells_table(planned), snakemake.output.plan)
    write_csv(names_table(setup, planned), snakemake.output.names)
