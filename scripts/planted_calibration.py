"""Rule `planted_calibration`: what each measure says of encoders whose amount of bias is known."""

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.figures import planted_calibration, save_figure
from scripts.biasflow.planted.judge import CAPTION, judge, measures_of
from scripts.biasflow.results.scores import read_scores
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        values = measures_of(read_scores(smk.input.scores), smk.params.encoders)
        write_table(judge(values), smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTION)
        save_figure(planted_calibration(values), smk.output.svg, smk.output.pdf)


if "snakemake" in globals():
    main(snakemake)
