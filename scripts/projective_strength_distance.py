"""Rule `projective_strength_distance`: Strength and Distance by level and setting, as SVG and PDF."""

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.figures import save_figure, strength_distance, strength_distance_grid
from scripts.biasflow.papers.dawkins2024.tables import table7
from scripts.biasflow.papers.published import read_published
from scripts.biasflow.results.scores import read_scores


def main(smk) -> None:
    with rule(smk):
        rows = table7(read_scores(smk.input.scores), read_published("dawkins2024_table7"))
        several = len(rows.drop_duplicates(["encoder", "stimuli"])) > 1
        save_figure((strength_distance_grid if several else strength_distance)(rows), smk.output.svg, smk.output.pdf)


if "snakemake" in globals():
    main(snakemake)
