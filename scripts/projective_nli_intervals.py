"""Rule `projective_nli_intervals`: NLI scores of every setting with intervals over the fine-tuning seeds."""

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.downstream import nli_intervals
from scripts.biasflow.papers.dawkins2024.tables import CAPTIONS
from scripts.biasflow.papers.published import read_published
from scripts.biasflow.results.scores import read_scores
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        scores, published = read_scores(smk.input.scores), read_published("dawkins2024_table7")
        intervals = nli_intervals(scores, published, **smk.params.viability)
        write_table(intervals, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS["nli_intervals"])


if "snakemake" in globals():
    main(snakemake)
