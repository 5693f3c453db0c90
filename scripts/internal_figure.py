"""Rules `internal_figure3`, `internal_figure5`, `internal_figure7`: paper C's figures, as SVG and PDF."""

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.figures import save_figure
from scripts.biasflow.papers.orgad2022 import figures as internal_figures
from scripts.biasflow.results.scores import read_scores


def main(smk) -> None:
    with rule(smk):
        draw = getattr(internal_figures, smk.params.figure)
        save_figure(draw(read_scores(smk.input.scores)), smk.output.svg, smk.output.pdf)


if "snakemake" in globals():
    main(snakemake)
