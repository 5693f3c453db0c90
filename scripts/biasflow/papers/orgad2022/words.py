"""Tables and a page of item files: words that tell gender, biographies before and after scrubbing, the data of both
halves, and baselines without a model."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE, MALE
from biasflow.base.shipped import shipped
from biasflow.base.tabular import as_written, read_text_csv
from biasflow.corpora.bios import SUMMARY_COLUMNS, left_out
from biasflow.papers.frames import NOT_ASKED, RUN, Run, status
from biasflow.papers.orgad2022.halves import BEFORE, COREFERENCE, F1_DIFFERENCE, OCCUPATION, RAW, Half
from biasflow.papers.orgad2022.selection import select
from biasflow.results.page import PAGES


def item_file(run: Run, role: str, half: Half = OCCUPATION) -> Path:
    """The file of a role for the task of a half; BiasflowError if the run has none."""
    task = run.options[half.task]
    try:
        return run.files[role][task]
    except KeyError:
        raise BiasflowError(f"the run has no file of {role} for task {task}; make it first") from None


def read_item(run: Run, role: str, half: Half = OCCUPATION, **options) -> pd.DataFrame:
    """Read `item_file` as a table."""
    return as_written(pd.read_csv(item_file(run, role, half), **options))


_PERSONS = {FEMALE: "a woman", MALE: "a man"}
_PAGE = PAGES.from_string(shipped("papers/orgad2022/figure2.html").read_text("utf-8"))


def figure2(run: Run, caption: str) -> str:
    """Return a page of the biographies in the file `scrubbed_examples`, with the words marked that scrubbing
    removes."""
    table = read_item(run, "scrubbed_examples", keep_default_na=False)
    sections = []
    for (gender, profession), versions in table.groupby(["gender", "profession"], sort=False):
        texts = versions.set_index("version")["text"]
        rows = [(name if name != RAW else "none (raw)", [*marked(texts[RAW], text)]) for name, text in texts.items()]
        sections.append((f"{_PERSONS[gender]}, {profession.replace('_', ' ')}", rows))
    return _PAGE.render(title="Biographies before and after scrubbing", caption=caption, sections=sections)


def marked(raw: str, scrubbed: str) -> Iterator[tuple[str, bool]]:
    """Yield the raw text in parts, each with whether scrubbing removed it; blanks and punctuation are kept.

    A scrubbed word becomes one "_", so that words correspond by their place; where several became one, or the source
    left out more, by the longest common blocks."""
    words, left = (re.findall(r"\w+|\W+", text) for text in (raw, scrubbed))
    if len(words) == len(left):
        kept = {place for place, pair in enumerate(zip(words, left, strict=True)) if len({*pair}) == 1}
    else:
        blocks = SequenceMatcher(None, words, left, autojunk=False).get_matching_blocks()
        kept = {place for block in blocks for place in range(block.a, block.a + block.size)}
    for place, word in enumerate(words):
        yield word, place not in kept and word[0].isalnum()


_SOURCES = ["part", "source", "documents", "words", "clusters", "mentions", "singletons", "repeated", "dropped"]


def data_coreference(run: Run) -> pd.DataFrame:
    """Return a row for each file of documents that the task read, or one row with the reason why it was not run."""
    if not _were_read(run):
        chosen = select(run, COREFERENCE)
        reasons = dict.fromkeys(chosen.reason(encoder, BEFORE) for encoder in chosen.encoders)
        return pd.DataFrame({"status": [status("; ".join(reasons) or NOT_ASKED)]})
    return read_item(run, "sources", COREFERENCE)[_SOURCES].assign(status=RUN)


def baselines(run: Run) -> pd.DataFrame:
    """Return the scores of predictors without training on test documents and pairs: model (their name), metric, variant
    and mean, in the units of our scores; empty if the task was not run.

    The F1 difference of a predictor is that of its F1 on both sides of the pairs, or stands in the file as it is (of
    the best predictor that there can be)."""
    columns = ["model", "metric", "variant", "mean"]
    if not _were_read(run):
        return pd.DataFrame(columns=columns)
    documents, pairs = (
        read_item(run, role, COREFERENCE).rename(columns={"predictor": "model", "value": "mean"})
        for role in ("baseline", "pairs_baseline")
    )
    values = pairs.pivot(index="model", columns=["metric", "part"], values="mean")
    sides, known = values[COREFERENCE.printed[0].metric], pairs[pairs["metric"] == F1_DIFFERENCE.metric]
    differences = known.set_index("model")["mean"].combine_first(100 * (sides["pro"] - sides["anti"])).dropna()
    metric, variant = F1_DIFFERENCE.key
    differences = differences.rename("mean").reset_index().assign(metric=metric, variant=variant)
    documents = documents[documents["part"] == "test"].assign(variant="")
    return pd.concat([documents, differences], ignore_index=True)[columns]


def _were_read(run: Run) -> bool:
    return run.options.get(COREFERENCE.task) in run.files.get("baseline", {})


WORDS = shipped("papers/orgad2022/words.csv")  # as printed, in this order
ALL = "all"  # professions; iterations together
PRINTED_OF = {"9": ALL, "10": "nurse"}  # table -> whose words the paper prints


def words(run: Run, number: str) -> pd.DataFrame:
    """`words_table` of all biographies (table 9), or of those of a profession or several (table 10), beside the printed
    words where they are of the same ones."""
    top = read_item(run, "top_words", keep_default_na=False)
    parts = [part for part in top["part"].unique() if (part == ALL) == (PRINTED_OF[number] == ALL)]
    if not parts:
        raise BiasflowError(f"table {number}: {item_file(run, 'top_words')} has no words for it; look for them first")
    printed = read_text_csv(WORDS)
    printed_of = {PRINTED_OF[number]: printed[printed["table"] == number]}
    tables = [words_table(top[top["part"] == part], printed_of.get(part), part) for part in parts]
    return pd.concat(tables, ignore_index=True)


def words_table(top: pd.DataFrame, printed: pd.DataFrame, profession: str) -> pd.DataFrame:
    """A row per gender for all iterations together, with the printed words, then one per iteration.

    `top`: the words of a profession's biographies ("all": of everybody's), a row per seed, iteration, gender and word,
    with its rank, and accuracy, majority_share and converged of the classifier. `printed`: gender and word, in the
    order of print and without the iteration, which the paper does not tell; None if no words of it are printed.
    Words are sorted by how many of the `seeds` list them (in brackets), then by mean rank, then by the alphabet;
    `printed_found` of the `printed_words` of a gender are among them. Accuracy and majority share (what guessing the
    commoner gender would get) are means over seeds; `converged`: whether all fits of the row did."""
    rows = []
    groups = [*top.assign(iteration=ALL).groupby(["iteration", "gender"]), *top.groupby(["iteration", "gender"])]
    for (iteration, gender), words in groups:
        fits = words.drop_duplicates("seed")
        row = {"profession": profession, "iteration": str(iteration), "gender": gender}
        row["words"] = ", ".join(f"{word} ({seeds})" for word, seeds in _by_seeds(words).items())
        # Over all iterations there is no one accuracy: it falls as words are scrubbed.
        accuracy = np.nan if iteration == ALL else fits["accuracy"].mean()
        row |= {"seeds": len(fits), "accuracy": accuracy, "majority_share": fits["majority_share"].mean()}
        row |= {"converged": _yes(words["converged"].all()), "printed": ""}
        if printed is not None:
            expected = printed.loc[printed["gender"] == gender, "word"]
            row["printed"] = ", ".join(expected) if iteration == ALL else ""
            row |= {"printed_words": len(expected), "printed_found": len({*expected} & {*words["word"]})}
        rows.append(row)
    columns = ["printed_words", "printed_found"]
    return pd.DataFrame(rows, columns=[*dict.fromkeys([*rows[0], *columns])]).astype(dict.fromkeys(columns, "Int64"))


def gender_told(run: Run) -> pd.DataFrame:
    """Return how often a bag of words predicts the gender of biographies correctly, raw and scrubbed, by profession.

    Accuracy is the mean over `seeds`, with its standard deviation (n - 1); `n` the test biographies of a seed, as many
    women as men of each profession; `used`: the scrubbing of the run; `converged`: whether all fits did. One row that
    says why, where no profession has enough biographies of both genders."""
    rows = read_item(run, "gender_accuracy", keep_default_na=False)
    if rows.empty:
        return pd.DataFrame({"status": [status("no profession has enough biographies of both genders")]})
    rows = rows.rename(columns={"version": "scrubbing", "part": "profession"})
    means = {name: (name, "mean") for name in ("accuracy", "majority_share", "n")}
    others = {"sd": ("accuracy", "std"), "seeds": ("seed", "nunique"), "converged": ("converged", "all")}
    table = rows.groupby(["scrubbing", "profession"], sort=False, as_index=False).agg(**means, **others)
    used = table["scrubbing"].eq(run.options.get("scrubbing")).map(_yes)
    table = table.assign(used=used, converged=table["converged"].map(_yes), status=RUN).astype({"n": int})
    columns = ["scrubbing", "used", "profession", "accuracy", "sd", "majority_share", "n", "seeds", "converged"]
    return table[[*columns, "status"]]


def data(run: Run) -> pd.DataFrame:
    """The professions, used ones first: biographies by gender, share of women, labour statistics, what was dropped."""
    table = read_item(run, "professions")
    kept = table["kept"].astype(bool)
    unmapped = np.where(kept & table["labour_share"].isna(), "; not in the labour statistics", "")
    table = table.assign(
        biographies=table["women"] + table["men"],
        used=kept.map(_yes),
        note=(table["reason"].fillna("") + unmapped).str.removeprefix("; "),
    )
    table = table.sort_values(["used", "profession"], ascending=[False, True], ignore_index=True)
    table = table[["profession", "biographies", "women", "men", "share_of_women", "labour_share", "used", "note"]]
    sources = pd.read_csv(item_file(run, "sources"))
    # Of embedded biographies nothing is left out.
    embedded = f"The biographies are embedded ones: {sources.iloc[0, 0]}."
    table.attrs["note"] = left_out(sources) if set(SUMMARY_COLUMNS) <= set(sources) else embedded
    return table


LEAST_PROFESSIONS = 10  # of fewer, unrelated gaps correlate by more than 0.63 in one of twenty cases


def few_professions(run: Run, half: Half, metrics: pd.Series) -> np.ndarray:
    """Why a correlation over professions says nothing, "" where it does or a metric is none: [metrics]."""
    known = half is OCCUPATION and run.options.get(half.task) in run.files.get("professions", {})
    few = known and read_item(run, "professions")["kept"].astype(bool).sum() < LEAST_PROFESSIONS
    return np.where(few & metrics.str.endswith("_pearson"), f"fewer than {LEAST_PROFESSIONS} professions", "")


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _by_seeds(top: pd.DataFrame) -> pd.Series:
    """Word -> how many seeds list it: most seeds first, then by least mean rank, then by the alphabet."""
    words = top.groupby("word").agg(seeds=("seed", "nunique"), rank=("rank", "mean"))
    return words.sort_values(["seeds", "rank", "word"], ascending=[False, True, True])["seeds"]
