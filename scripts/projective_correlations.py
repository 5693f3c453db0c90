"""Rule `projective_correlations`: does less bias inside go with less bias in NLI?"""

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.correlations import correlations
from scripts.biasflow.papers.dawkins2024.tables import CAPTIONS, table7
from scripts.biasflow.papers.published import read_published
from scripts.biasflow.results.scores import read_scores
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        published, viability = read_published("dawkins2024_table7"), smk.params.viability
        rows = table7(read_scores(smk.input.scores), published, **viability)
        found = correlations(rows, published, read_published("dawkins2024_text"), **viability)
        write_table(found, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS["correlations"])


if "snakemake" in globals():
    main(snakemake)
