"""The biographies as they are, and under every scrubbing; a few of them, to look at (paper C, figure 2)."""

from collections.abc import Iterator

import pandas as pd

from biasflow.base.genders import WOMEN_FIRST
from biasflow.corpora.bios import name_parts
from biasflow.tasks.classification.splits import RAW
from biasflow.text.scrub import TERMS, Terms, scrub_all

LONGEST = 400  # characters of a biography that is shown


def versions(biographies: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """RAW and each of the terms of text.scrub, with the text of every biography.

    biographies: text, name, and scrubbed_by_source, what the source itself has as a scrubbed text ("" without one)."""
    yield RAW, biographies["text"].str.strip()
    with_source = biographies.assign(scrubbed=biographies["scrubbed_by_source"])
    for terms in TERMS:
        yield terms, scrubbed_texts(with_source, terms=terms)


def examples(biographies: pd.DataFrame) -> pd.DataFrame:
    """Rows (gender, profession, version, text): a biography of each gender in every version.

    Of those up to LONGEST characters (of all, where none is as short) the first whose versions differ the most, which
    is how many different ones it has."""
    rows = []
    for gender in WOMEN_FIRST:
        of_gender = biographies[biographies["gender"] == gender]
        short = of_gender[of_gender["text"].str.len() <= LONGEST]
        texts = pd.DataFrame(dict(versions(short if len(short) else of_gender)))
        for row in texts.nunique(axis=1).nlargest(1).index:
            profession = biographies.loc[row, "label"]
            rows += [(gender, profession, version, text) for version, text in texts.loc[row].items()]
    return pd.DataFrame(rows, columns=["gender", "profession", "version", "text"])


def scrubbed_texts(bios: pd.DataFrame, *, terms: Terms = "pronouns") -> pd.Series:
    """The scrubbed text of every biography (columns text, name, scrubbed of corpora.bios), outer blanks removed.

    Where the source has a scrubbed text of its own, that is taken: "released" leaves it as it is, the other terms scrub
    what it leaves; elsewhere the text is scrubbed of its name parts and of `terms`."""
    by_source = bios["scrubbed"] != ""
    if terms == "released" and by_source.all():
        return bios["scrubbed"]
    texts = bios["scrubbed"].where(by_source, bios["text"]).str.strip()
    scrubbed = pd.Series(
        scrub_all(list(texts), [name_parts(name) for name in bios["name"]], terms=terms), index=bios.index, dtype="str"
    )
    return bios["scrubbed"].where(by_source, scrubbed) if terms == "released" else scrubbed.rename("scrubbed")
