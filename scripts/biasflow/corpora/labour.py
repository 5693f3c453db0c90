"""The share of women in a profession by US labour statistics, for the professions of Bias in Bios.

data/labour_statistics.csv holds the shares of one year and one table of the Bureau of Labor Statistics, and which of
its occupations stands for which profession. Orgad et al. (2022, appendix, figure 7) leave out 6 of the 28 professions
without saying which; left out here are those whose occupation is too small for a share to be published, and those
that are a small part of a far wider occupation: also 6.

A file of one's own needs two of its columns only: profession and share_of_women."""

from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.corpora.records import read_records

NEEDED = ["profession", "share_of_women"]
COLUMNS = ["profession", "bls_occupation", "share_of_women", "year", "source", "note"]
_OF_A_SHARE = ("bls_occupation", "year", "source")


def read_labour_table(path: str | Path) -> pd.DataFrame:
    """The whole table with the columns COLUMNS, a row per profession, in the order of the file.

    profession  as in the corpus ("software_engineer")
    share_of_women  in [0, 1]; NaN for a profession that cannot be mapped (an empty cell)
    bls_occupation, year, source  the occupation that stands for the profession, and where its share is from; "" for a
        profession that cannot be mapped
    note  why it cannot be mapped, or what the share leaves out

    The last four may be missing from the file, and are "" then; where they are there, a share has to have them. Columns
    of other names are left out.
    BiasflowError names the file, and the profession or line (from 1): a missing column, one that is there twice, a row
    that is longer or shorter than the header, no rows, a row without a profession or with one that is repeated, a share
    that is no number in [0, 1] or has an empty cell for its occupation, year or source, and a profession with neither a
    share nor a note, where there are notes."""
    table = read_records(path).astype("str")
    missing = [column for column in NEEDED if column not in table]
    if missing:
        raise BiasflowError(
            f"{path}: has no column {', '.join(missing)}; it needs {' and '.join(NEEDED)}, and may have "
            f"{', '.join(column for column in COLUMNS if column not in NEEDED)}."
        )
    if table.empty:
        raise BiasflowError(f"{path}: no profession; check the file.")
    of_a_share = [column for column in _OF_A_SHARE if column in table]
    notes = "note" in table
    table = table.reindex(columns=COLUMNS, fill_value="").apply(lambda column: column.str.strip())
    shares = pd.to_numeric(table["share_of_women"], errors="coerce")
    seen = set()
    for number, row, share in zip(table.index, table.to_dict("records"), shares, strict=True):
        name = row["profession"]
        if not name:
            raise BiasflowError(f"{path}: line {number} names no profession; name one or remove the row.")
        if name in seen:
            raise BiasflowError(f"{path}: line {number}: {name} is repeated; give each profession once.")
        seen.add(name)
        if row["share_of_women"]:
            if not 0 <= share <= 1:
                raise BiasflowError(f"{path}: {name}: {row['share_of_women']!r} is no share between 0 and 1; mend it.")
            absent = [column for column in of_a_share if not row[column]]
            if absent:
                raise BiasflowError(f"{path}: {name} has a share but no {', '.join(absent)}; say where it is from.")
        elif any(row[column] for column in of_a_share) or (notes and not row["note"]):
            raise BiasflowError(f"{path}: {name} has no share: give one, or the reason alone, in the column note.")
    return table.reset_index(drop=True).assign(share_of_women=shares.to_numpy(float))


def read_labour(path: str | Path) -> pd.Series:
    """The share of women in [0, 1] by profession; NaN for those that cannot be mapped.

    `.reindex(professions)` gives those of a corpus, NaN for one that is not listed. Raises BiasflowError as
    `read_labour_table`."""
    return read_labour_table(path).set_index("profession")["share_of_women"]
