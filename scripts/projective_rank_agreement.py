"""Rule `projective_rank_agreement`: do the settings' ranks depend on the share or on the stimuli?"""

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.tables import CAPTIONS, rank_agreement
from scripts.biasflow.results.scores import read_scores
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        agreement = rank_agreement(read_scores(smk.input.scores))
        write_table(agreement, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS["rank_agreement"])


if "snakemake" in globals():
    main(snakemake)
