"""Rule `densray_occtmp_by_layer`: OCCTMP with DensRay in one layer only, as SVG and PDF."""

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.figures import save_figure
from scripts.biasflow.papers.liang2020.figures import occtmp_by_layer
from scripts.biasflow.results.scores import read_scores


def main(smk) -> None:
    with rule(smk):
        save_figure(occtmp_by_layer(read_scores(smk.input.scores)), smk.output.svg, smk.output.pdf)


if "snakemake" in globals():
    main(snakemake)
