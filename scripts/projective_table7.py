"""Rule `projective_table7`: intrinsic bias and NLI scores of all 76 settings beside the printed ones."""

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.tables import CAPTIONS, table7
from scripts.biasflow.papers.published import read_published
from scripts.biasflow.results.scores import read_scores
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        rows = table7(
            read_scores(smk.input.scores),
            read_published("dawkins2024_table7"),
            not_run=smk.params.not_run,
            nli_not_run=smk.params.nli_not_run,
            **smk.params.viability,
        )
        write_table(rows, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS["table7"])


if "snakemake" in globals():
    main(snakemake)
