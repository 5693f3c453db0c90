"""Rule `densray_gender_share`: how much gender is in the vectors of each place."""

from scripts._rule import rule
from scripts.biasflow.papers.liang2020.performance import gender_share_table
from scripts.biasflow.papers.liang2020.tables import CAPTIONS
from scripts.biasflow.results.scores import read_scores
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        rows = gender_share_table(
            read_scores(smk.input.scores),
            not_run=smk.params.not_run,
            measures_not_run=smk.params.measures_not_run,
        )
        write_table(rows, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS["gender_share"])


if "snakemake" in globals():
    main(snakemake)
