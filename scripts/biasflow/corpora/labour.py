"""The share of women in a profession by US labour statistics, for the professions of Bias in Bios.

data/labour_statistics.csv holds the shares of one year and one table of the Bureau of Labor Statistics, and which of
its occupations stands for which profession. Orgad et al. (2022, appendix, figure 7) leave out 6 of the 28 professions
without saying which; left out here are those whose occupation is too small for a share to be published, and those
that are a small part of a far wider occupation: also 6.

A file of one's own needs two of its columns only: profession and share_of_women."""

from pathlib import Path

import pandas as pd

from biasflow.corpora.records import read_columns, refuse

NEEDED = ["profession", "share_of_women"]
COLUMNS = ["profession", "bls_occupation", "share_of_women", "year", "source", "note"]
_OF_A_SHARE = ("bls_occupation", "year", "source")


def read_labour(path: str | Path) -> pd.Series:
    """The share of women in [0, 1] by profession, in the order of the file; NaN for those that cannot be mapped.

    `.reindex(professions)` gives those of a corpus, NaN for one that is not listed. The columns of the file:

    profession  as in the corpus ("software_engineer")
    share_of_women  in [0, 1]; an empty cell for a profession that cannot be mapped
    bls_occupation, year, source  the occupation that stands for the profession, and where its share is from; "" for a
        profession that cannot be mapped
    note  why it cannot be mapped, or what the share leaves out

    The last four may be missing from the file; where they are there, a share has to have them. Columns of other names
    are left out.
    BiasflowError names the file, and the profession or line (from 1): a missing column, one that is there twice, a row
    that is longer or shorter than the header, no rows, a row without a profession or with one that is repeated, a share
    that is no number in [0, 1] or has an empty cell for its occupation, year or source, and a profession with neither a
    share nor a note, where there are notes."""
    table = read_columns(path, NEEDED, COLUMNS).astype("str")
    of_a_share = [column for column in _OF_A_SHARE if column in table]
    notes = "note" in table
    table = table.reindex(columns=COLUMNS, fill_value="").apply(lambda column: column.str.strip())
    shares = pd.to_numeric(table["share_of_women"], errors="coerce")
    named, has_share = table["profession"], table["share_of_women"] != ""
    refuse(path, named, named == "", "names no profession; name one or remove the row")
    refuse(path, named, named.duplicated(), "is repeated; give each profession once")
    refuse(path, table["share_of_women"], has_share & ~shares.between(0, 1), "is no share between 0 and 1; mend it")
    for column in of_a_share:
        refuse(path, named, has_share & (table[column] == ""), f"has a share but no {column}; say where it is from")
    described = (table[of_a_share] != "").any(axis=1) | (notes & (table["note"] == ""))
    refuse(path, named, ~has_share & described, "has no share: give one, or the reason alone, in the column note")
    return pd.Series(shares.to_numpy(float), pd.Index(named, name="profession"), name="share_of_women")
