"""Rule `projective_table6`: what information weighting at SENT does to SNLI accuracy, beside the printed table."""

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.downstream import table6
from scripts.biasflow.papers.dawkins2024.tables import CAPTIONS
from scripts.biasflow.papers.published import read_published
from scripts.biasflow.results.scores import read_scores
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        scores = read_scores(smk.input.scores)
        published, settings = (read_published(f"dawkins2024_table{number}") for number in (6, 7))
        effect = table6(scores, published, settings, nli_not_run=smk.params.nli_not_run)
        write_table(effect, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS["table6"])


if "snakemake" in globals():
    main(snakemake)
