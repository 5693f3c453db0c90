"""Rule `projective_strength_fairness`: NLI fairness against Strength and Distance, as SVG and PDF."""

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.correlations import with_printed
from scripts.biasflow.papers.dawkins2024.figures import save_figure, strength_fairness
from scripts.biasflow.papers.dawkins2024.tables import table7
from scripts.biasflow.papers.published import read_published
from scripts.biasflow.results.scores import read_scores


def main(smk) -> None:
    with rule(smk):
        published, viability = read_published("dawkins2024_table7"), smk.params.viability
        rows = table7(read_scores(smk.input.scores), published, **viability)
        figure = strength_fairness(with_printed(rows, published, **viability))
        save_figure(figure, smk.output.svg, smk.output.pdf)


if "snakemake" in globals():
    main(snakemake)
