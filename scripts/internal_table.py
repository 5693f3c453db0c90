"""Rules `internal_table1` to `internal_table6` and `internal_correlations`: paper C's tables beside printed values."""

from scripts._rule import rule
from scripts.biasflow import internal_correlations, internal_tables
from scripts.biasflow.published import read_published
from scripts.biasflow.scores import read_scores
from scripts.biasflow.tables import write_table

REPLICA = "deberta-base"  # of the paper; it has a row without values where no second encoder is run


def rows_of(name: str, scores, published, *, encoders, **reasons):
    """The rows of a table; those of R^2 show the first encoder (table 2) or the others (table 6)."""
    if name == "correlations":
        return internal_correlations.correlations(scores)
    if name in ("table2", "table6"):
        shown = encoders[:1] if name == "table2" else encoders[1:] or [REPLICA]
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
