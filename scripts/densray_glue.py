"""Rule `densray_glue`: GLUE scores with intervals over the fine-tuning seeds."""

from scripts._rule import rule
from scripts.biasflow.papers.liang2020.performance import glue_table
from scripts.biasflow.papers.liang2020.tables import CAPTIONS
from scripts.biasflow.results.scores import read_scores
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        rows = glue_table(
            read_scores(smk.input.scores),
            not_run=smk.params.not_run,
            measures_not_run=smk.params.measures_not_run,
        )
        write_table(rows, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS["glue"])


if "snakemake" in globals():
    main(snakemake)
