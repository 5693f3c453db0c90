"""Rule `projective_statements`: what section 5 of the paper says, counted in our numbers and in the printed."""

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.statements import statements
from scripts.biasflow.papers.dawkins2024.tables import CAPTIONS, table7
from scripts.biasflow.papers.published import read_published
from scripts.biasflow.results.scores import read_scores
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        published, viability = read_published("dawkins2024_table7"), smk.params.viability
        rows = table7(read_scores(smk.input.scores), published, **viability)
        counted = statements(rows, published, **viability)
        write_table(counted, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS["statements"])


if "snakemake" in globals():
    main(snakemake)
