"""Rule `densray_intrinsic`: paper B's measures under paper A's erasers."""

from scripts._rule import rule
from scripts.biasflow.papers.liang2020.performance import intrinsic_table
from scripts.biasflow.papers.liang2020.tables import CAPTIONS
from scripts.biasflow.results.scores import read_scores
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        rows = intrinsic_table(
            read_scores(smk.input.scores),
            not_run=smk.params.not_run,
            measures_not_run=smk.params.measures_not_run,
        )
        write_table(rows, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS["intrinsic"])


if "snakemake" in globals():
    main(snakemake)
