"""Rule `internal_ceat`: CEAT of paper C, all tests in all readings, beside the printed effect sizes."""

import pandas as pd

from scripts._rule import rule
from scripts.biasflow.corpora.ceat_sets import ceat_tests
from scripts.biasflow.papers.orgad2022.ceat import CAPTION, PRINTED_ENCODER, ceat_table, dropped_words
from scripts.biasflow.papers.orgad2022.rows import NOT_LISTED
from scripts.biasflow.papers.orgad2022.rows import ceat_tests as tests_of
from scripts.biasflow.papers.published import read_published
from scripts.biasflow.results.scores import read_scores
from scripts.biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        scores, not_run = read_scores(smk.input.scores), dict(smk.params.not_run)
        # The printed values stand in the table whether their encoder was run or not.
        if PRINTED_ENCODER not in [*smk.params.encoders, *not_run]:
            not_run[PRINTED_ENCODER] = NOT_LISTED
        files = dict(zip(smk.params.encoders, smk.input.counts, strict=True)) if smk.input.counts else {}
        counts = {encoder: pd.read_csv(path, keep_default_na=False) for encoder, path in files.items()}
        rows = ceat_table(
            scores,
            read_published("orgad2022"),
            dropped_words(counts, ceat_tests(tests_of(scores), smk.input.words)),
            not_run=not_run,
            measures_not_run=smk.params.measures_not_run,
        )
        write_table(rows, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTION)


if "snakemake" in globals():
    main(snakemake)
