"""Tables 9 and 10, the words that reveal gender after scrubbing, and the professions of the biographies."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.shipped import shipped
from biasflow.base.tabular import read_text_csv
from biasflow.corpora.bios import SUMMARY_COLUMNS, left_out
from biasflow.papers.frames import RUN, Run, status
from biasflow.papers.orgad2022.items import item_file, read_item

WORDS = shipped("papers/orgad2022/words.csv")  # as printed, in this order
ALL = "all"  # professions; iterations together
PRINTED_OF = {"9": ALL, "10": "nurse"}  # table -> whose words the paper prints
_TOP = ["part", "seed", "iteration", "gender", "rank", "word", "accuracy", "majority_share", "converged"]
_TOLD = ["version", "part", "seed", "n", "accuracy", "majority_share", "converged"]
_PROFESSIONS = ["profession", "women", "men", "share_of_women", "labour_share", "kept", "reason"]


def table9(run: Run) -> pd.DataFrame:
    """The words of all biographies, as `words_table`."""
    return _words(run, "9", [ALL])


def table10(run: Run) -> pd.DataFrame:
    """The words of the biographies of a profession (or several), as `words_table`."""
    parts = read_item(run, "top_words", _TOP, keep_default_na=False)["part"].unique()
    return _words(run, "10", [part for part in parts if part != ALL])


def words_table(top: pd.DataFrame, printed: pd.DataFrame, profession: str) -> pd.DataFrame:
    """A row per gender for all iterations together, with the printed words, then one per iteration.

    `top`: the words of a profession's biographies ("all": of everybody's), a row per seed, iteration, gender and word,
    with its rank, and accuracy, majority_share and converged of the classifier. `printed`: gender and word, in the
    order of print and without the iteration, which the paper does not tell; None if no words of it are printed.
    Words are sorted by how many of the `seeds` list them (in brackets), then by mean rank, then by the alphabet;
    `printed_found` of the `printed_words` of a gender are among them. Accuracy and majority share (what guessing the
    commoner gender would get) are means over seeds; `converged`: whether all fits of the row did."""
    rows = []
    for iteration, table in ((ALL, top.assign(iteration=ALL)), (None, top)):
        for (number, gender), words in table.groupby(["iteration", "gender"]):
            fits = words.drop_duplicates("seed")
            expected = None if printed is None else printed.loc[printed["gender"] == gender, "word"]
            rows.append(
                {
                    "profession": profession,
                    "iteration": str(number),
                    "gender": gender,
                    "words": ", ".join(f"{word} ({seeds})" for word, seeds in _by_seeds(words).items()),
                    "seeds": len(fits),
                    # Over all iterations there is no one accuracy: it falls as words are scrubbed.
                    "accuracy": np.nan if iteration == ALL else fits["accuracy"].mean(),
                    "majority_share": fits["majority_share"].mean(),
                    "converged": _yes(words["converged"].all()),
                    "printed": "" if expected is None or iteration != ALL else ", ".join(expected),
                    "printed_words": None if expected is None else len(expected),
                    "printed_found": None if expected is None else expected.drop_duplicates().isin(words["word"]).sum(),
                }
            )
    return pd.DataFrame(rows).astype({"printed_words": "Int64", "printed_found": "Int64"})


def gender_told(run: Run) -> pd.DataFrame:
    """Return how often a bag of words predicts the gender of biographies correctly, raw and scrubbed, by profession.

    Accuracy is the mean over `seeds`, with its standard deviation (n - 1); `n` the test biographies of a seed, as many
    women as men of each profession; `used`: the scrubbing of the run; `converged`: whether all fits did. One row that
    says why, where no profession has enough biographies of both genders."""
    rows = read_item(run, "gender_accuracy", _TOLD, keep_default_na=False)
    table = rows.groupby(["version", "part"], sort=False, as_index=False).agg(
        accuracy=("accuracy", "mean"),
        sd=("accuracy", "std"),
        majority_share=("majority_share", "mean"),
        n=("n", "mean"),
        seeds=("seed", "nunique"),
        converged=("converged", "all"),
    )
    if table.empty:
        return pd.DataFrame({"status": [status("no profession has enough biographies of both genders")]})
    table = table.assign(used=table["version"].eq(run.options.get("scrubbing")).map(_yes), status=RUN)
    table = table.assign(converged=table["converged"].map(_yes)).astype({"n": int})
    names = {"version": "scrubbing", "part": "profession"}
    columns = ["version", "used", "part", "accuracy", "sd", "majority_share", "n", "seeds", "converged", "status"]
    return table[columns].rename(columns=names)


def data(run: Run) -> pd.DataFrame:
    """The professions, used ones first: biographies by gender, share of women, labour statistics, what was dropped.

    BiasflowError for a missing column, a profession given twice, and one that was dropped without a reason."""
    table, sources = data_table(read_item(run, "professions", _PROFESSIONS)), pd.read_csv(item_file(run, "sources"))
    # Of embedded biographies nothing is left out.
    embedded = f"The biographies are embedded ones: {sources.iloc[0, 0]}."
    table.attrs["note"] = left_out(sources) if set(SUMMARY_COLUMNS) <= set(sources) else embedded
    return table


def data_table(professions: pd.DataFrame) -> pd.DataFrame:
    """`data` from profession, women, men, share_of_women, labour_share (NaN: cannot be mapped), kept and reason."""
    for name in professions.loc[professions["profession"].duplicated(), "profession"].head(1):
        raise BiasflowError(f"professions: {name} is given twice; give each once")
    table = professions.assign(
        kept=professions["kept"].astype(bool), note=professions["reason"].fillna("").astype(object)
    )
    for name in table.loc[~table["kept"] & (table["note"] == ""), "profession"].head(1):
        raise BiasflowError(f"professions: {name} was dropped without a reason; give one")
    unmapped = np.where(table["kept"] & table["labour_share"].isna(), "not in the labour statistics", "")
    table = table.assign(
        biographies=table["women"] + table["men"],
        used=np.where(table["kept"], "yes", "no"),
        note=["; ".join(filter(None, parts)) for parts in zip(table["note"], unmapped, strict=True)],
    )
    table = table.sort_values(["kept", "profession"], ascending=[False, True], ignore_index=True)
    return table[["profession", "biographies", "women", "men", "share_of_women", "labour_share", "used", "note"]]


def _words(run: Run, number: str, parts: Sequence[str]) -> pd.DataFrame:
    """`words_table` of each of these professions, beside the words of a printed table where it is of the same one."""
    top = read_item(run, "top_words", _TOP, keep_default_na=False)
    parts = [part for part in parts if part in set(top["part"])]
    if not parts:
        raise BiasflowError(f"table {number}: {item_file(run, 'top_words')} has no words for it; look for them first")
    printed = read_text_csv(WORDS)
    printed_of = {PRINTED_OF[number]: printed[printed["table"] == number]}
    return pd.concat(
        [words_table(top[top["part"] == part], printed_of.get(part), part) for part in parts], ignore_index=True
    )


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _by_seeds(top: pd.DataFrame) -> pd.Series:
    """Word -> how many seeds list it: most seeds first, then by least mean rank, then by the alphabet."""
    words = top.groupby("word").agg(seeds=("seed", "nunique"), rank=("rank", "mean"))
    return words.sort_values(["seeds", "rank", "word"], ascending=[False, True, True])["seeds"]
