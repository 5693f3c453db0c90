"""Rule `densray_gender_shares`: where gender is in the untouched encoders, as SVG and PDF."""

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.figures import save_figure
from scripts.biasflow.papers.liang2020.figures import gender_shares
from scripts.biasflow.results.scores import read_scores


def main(smk) -> None:
    with rule(smk):
        save_figure(gender_shares(read_scores(smk.input.scores)), smk.output.svg, smk.output.pdf)


if "snakemake" in globals():
    main(snakemake)
