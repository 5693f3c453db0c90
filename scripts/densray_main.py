"""Rule `densray_main`: bias, perplexity and GLUE of every encoder and method beside the published values."""

from scripts._rule import rule
from scripts.biasflow.papers.liang2020.tables import CAPTIONS, main_table
from scripts.biasflow.papers.published import read_published
from scripts.biasflow.results.scores import read_scores
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        rows = main_table(
            read_scores(smk.input.scores),
            read_published("liang2020"),
            not_run=smk.params.not_run,
            measures_not_run=smk.params.measures_not_run,
        )
        write_table(rows, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS["main"])


if "snakemake" in globals():
    main(snakemake)
