"""Rules `internal_table1` to `internal_table6` and `internal_correlations`: paper C's tables beside printed values."""

from scripts._rule import rule
from scripts.biasflow.papers.orgad2022 import correlations as internal_correlations
from scripts.biasflow.papers.orgad2022 import tables as internal_tables
from scripts.biasflow.papers.orgad2022.rows import NOT_LISTED
from scripts.biasflow.papers.published import read_published
from scripts.biasflow.results.scores import read_scores
from scripts.biasflow.results.tables import write_table

PAPERS_OWN = {"table2": "roberta-base", "table6": "deberta-base"}  # the printed values stand beside these


def rows_of(name: str, scores, published, *, encoders, not_run, measures_not_run):
    """The rows of a table, with the paper's encoder and its printed values whether it was run or not.

    Those of R^2 show the first encoder (table 2) or the others (table 6)."""
    if name == "correlations":
        return internal_correlations.correlations(scores)
    own = PAPERS_OWN.get(name, PAPERS_OWN["table2"])
    reasons = {"not_run": not_run, "measures_not_run": measures_not_run}
    if own not in encoders:
        reasons["not_run"] = not_run | {own: NOT_LISTED}
    if name in PAPERS_OWN:
        chosen = encoders[:1] if name == "table2" else encoders[1:]
        shown = list(dict.fromkeys([*chosen, own]))
        return internal_correlations.r_squared_table(scores, published, encoders=shown, **reasons)
    return getattr(internal_tables, name)(scores, published, **reasons)


def main(smk) -> None:
    with rule(smk):
        name = smk.params.table
        rows = rows_of(
            name,
            read_scores(smk.input.scores),
            read_published("orgad2022"),
            encoders=smk.params.encoders,
            not_run=smk.params.not_run,
            measures_not_run=smk.params.measures_not_run,
        )
        write_table(rows, smk.output.csv, smk.output.tex, smk.output.html, caption=internal_tables.CAPTIONS[name])


if "snakemake" in globals():
    main(snakemake)
