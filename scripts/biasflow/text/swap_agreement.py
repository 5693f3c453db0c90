"""Compare our gender swap with that of Gender-Swapped StereoSet (Dawkins et al. 2024), sentence by sentence.

Two swaps of a sentence are equal when they are equal byte for byte, first names apart: at each place where they differ,
both must have a first name of the same gender (which name stands for Bob is a free choice).

Sentences that no swapper could be expected to give as the authors do are set aside by a list (biasflow/data/gender/
set_aside.csv): triple, label ("all" for a context, which the rows of a triple share), part (context | next_sentence),
digest (of the sentence and the authors' swap, so that an entry holds for that text in that file only), reason
(one of REASONS) and a justification.

The swapper was tuned on the authors' development file and on half of StereoSet's other sentences.
"""

import hashlib

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.text.gender_lexicon import WORD, Lexicon, default_lexicon
from biasflow.text.gender_swap import swap_stimuli

# Why a sentence may be set aside: a word swapped wrongly, by half or not at all; another wording chosen on purpose;
# spaces, signs or spelling altered that have nothing to do with gender.
REASONS = ("authors' mistake", "free rewording", "characters changed")
PARTS = ("context", "next_sentence")
SET_ASIDE_COLUMNS = ["triple", "label", "part", "digest", "reason", "justification"]
DISAGREEMENT_COLUMNS = [
    "triple", "label", "part", "digest", "status", "kind", "reason", "justification", "original", "authors", "ours",
]  # fmt: skip
# Kinds of differences between two swaps of a sentence, judged by the texts; of several kinds the first one counts.
KINDS = (
    "case of a pronoun",  # his and him, her and hers
    "left by the authors",  # a word that the authors have as it was
    "left by us",
    "another word",  # girl and gal; another number of words
    "name or unknown word",  # a first name that is not in the lexicon, a word with no gender that was altered
    "characters",  # capitals, spaces and signs only: NBA and Nba, high-fived and high fived
)
CASES = ({"his", "him"}, {"her", "hers"})
PRONOUNS = ("him", "his")
AGREES, NOT_THERE = "stale: now equal", "stale: not in the stimuli"


def digest(original: str, authors: str) -> str:
    """Return 12 hex digits that identify a sentence and the authors' swap of it (SHA-256 of the two, a line each)."""
    return hashlib.sha256(f"{original}\n{authors}".encode()).hexdigest()[:12]


def compare(
    stimuli: pd.DataFrame, set_aside: pd.DataFrame, lexicon: Lexicon | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Swap the originals of `stimuli` ourselves and compare with the swap it holds.

    stimuli: a stimuli table of the authors' file (corpora.stereoset.read_gender_swapped). set_aside: see the module.
    Returns (disagreements, summary).

    disagreements: one row per distinct sentence that differs, with `status` "counted" or "set aside", its kind (one of
    KINDS), the reason and justification of those set aside, and the three texts. Its digest is what an entry of the
    list needs. After them every entry of the list that has gone stale: "stale: now equal" or "stale: not in the
    stimuli" (no texts).

    summary: one row per `unit`: "distinct sentences" (a sentence with the authors' swap of it, once per triple:
    contexts once, next sentences once per row), "sentences" (two per row) and "rows" (equal when both sentences are;
    set aside when all that differs is). Columns: n; n_equal, of which n_equal_but_names (first names apart);
    n_set_aside; share_equal = n_equal / n, with nothing set aside; share_equal_after = n_equal / (n - n_set_aside);
    n_stale, the entries of the list that are stale.

    Raises BiasflowError for an entry with an unknown part or reason, an empty cell, or given twice.
    """
    _check(set_aside)
    lexicon = lexicon or default_lexicon()
    sentences = _sentences(stimuli, lexicon)
    entries = set_aside[SET_ASIDE_COLUMNS].set_index(["triple", "label", "part", "digest"])
    keys = pd.MultiIndex.from_frame(sentences[["triple", "entry_label", "part", "digest"]])
    sentences["status"] = "equal"
    differs = ~sentences["equal"]
    sentences.loc[differs, "status"] = "counted"
    sentences.loc[differs & keys.isin(entries.index), "status"] = "set aside"
    stale = _stale(entries, keys, keys[differs])
    distinct = sentences.drop_duplicates(["triple", "part", "digest"])
    listed = distinct[distinct["status"] != "equal"].drop(columns="label").rename(columns={"entry_label": "label"})
    listed = listed.join(entries, on=["triple", "label", "part", "digest"])
    texts = listed[["original", "authors", "ours"]].itertuples(index=False)
    listed["kind"] = [kind_of_difference(*three, lexicon) for three in texts]
    shown = pd.concat([listed, stale], ignore_index=True)[DISAGREEMENT_COLUMNS].fillna("")
    units = {"distinct sentences": distinct, "sentences": sentences, "rows": _rows(sentences)}
    summary = pd.DataFrame([_summarise(unit, table, len(stale)) for unit, table in units.items()])
    return shown, summary


def kind_of_difference(original: str, authors: str, ours: str, lexicon: Lexicon) -> str:
    """Return which of KINDS of difference two unequal swaps of a sentence have."""
    theirs, mine, before = (WORD.findall(text.casefold()) for text in (authors, ours, original))
    if "".join(theirs) == "".join(mine):
        return "characters"
    if not len(theirs) == len(mine) == len(before):
        return "another word"
    kinds = {
        _kind_of_words(*words, lexicon)
        for words in zip(before, theirs, mine, strict=True)
        if words[1] != words[2] and not _same_gender(words[1], words[2], lexicon)
    }
    return min(kinds, key=KINDS.index, default="characters")


def _kind_of_words(original: str, authors: str, ours: str, lexicon: Lexicon) -> str:
    if any({authors, ours} <= case for case in CASES):
        return "case of a pronoun"
    if original not in (*PRONOUNS, "her") and not (original in lexicon.heads and lexicon.heads[original].entries):
        return "name or unknown word"
    if original in (authors, ours):
        return "left by the authors" if original == authors else "left by us"
    return "another word"


def equal_but_names(ours: str, authors: str, lexicon: Lexicon) -> bool:
    """Return whether two sentences are equal, if first names of the same gender count as equal."""
    mine, theirs = WORD.split(ours), WORD.split(authors)
    if len(mine) != len(theirs):
        return False
    return all(a == b or _same_gender(a, b, lexicon) for a, b in zip(mine, theirs, strict=True))


def _same_gender(a: str, b: str, lexicon: Lexicon) -> bool:
    first, second = lexicon.name(a), lexicon.name(b)
    return first is not None and second is not None and first.gender == second.gender


def _check(set_aside: pd.DataFrame) -> None:
    for column in SET_ASIDE_COLUMNS:
        if column not in set_aside:
            raise BiasflowError(f"set_aside: no column {column!r}; the columns are {', '.join(SET_ASIDE_COLUMNS)}.")
    seen: dict[tuple, int] = {}
    for number, entry in enumerate(set_aside[SET_ASIDE_COLUMNS].fillna("").to_dict("records"), start=2):
        where = f"set_aside: row {number}"
        for column, value in entry.items():
            if not value:
                raise BiasflowError(f"{where}: nothing in column {column!r}; fill it in or delete the row.")
        for column, known in (("part", PARTS), ("reason", REASONS)):
            if entry[column] not in known:
                raise BiasflowError(f"{where}: {column} {entry[column]!r} is none of {', '.join(known)}.")
        if (entry["label"] == "all") != (entry["part"] == "context"):
            raise BiasflowError(f"{where}: label is 'all' for a context, and one of the labels for a next_sentence.")
        key = (entry["triple"], entry["label"], entry["part"], entry["digest"])
        if key in seen:
            raise BiasflowError(f"{where}: the same sentence as in row {seen[key]}; keep one of the two.")
        seen[key] = number


def _sentences(stimuli: pd.DataFrame, lexicon: Lexicon) -> pd.DataFrame:
    """Every sentence of every row (two per row): the original, the authors' swap, ours, and whether they are equal."""
    stimuli = stimuli.reset_index(drop=True)
    swapped = swap_stimuli(stimuli, lexicon)
    tables = []
    for part in PARTS:
        table = stimuli[["triple", "label"]].assign(
            row=stimuli.index,
            part=part,
            entry_label="all" if part == "context" else stimuli["label"],
            original=stimuli[part],
            authors=stimuli[f"swapped_{part}"],
            ours=swapped[f"swapped_{part}"],
        )
        tables.append(table)
    sentences = pd.concat(tables).sort_values("row", kind="stable", ignore_index=True)
    sentences["digest"] = [digest(*pair) for pair in zip(sentences["original"], sentences["authors"], strict=True)]
    sentences["exact"] = sentences["ours"] == sentences["authors"]
    sentences["equal"] = [
        equal_but_names(*pair, lexicon) for pair in zip(sentences["ours"], sentences["authors"], strict=True)
    ]
    return sentences


def _stale(entries: pd.DataFrame, keys: pd.MultiIndex, differing: pd.MultiIndex) -> pd.DataFrame:
    """The entries that set nothing aside, with the reason as their status."""
    stale = entries[~entries.index.isin(differing)]
    return stale.assign(status=[AGREES if key in keys else NOT_THERE for key in stale.index]).reset_index()


def _rows(sentences: pd.DataFrame) -> pd.DataFrame:
    """One row per stimuli row: the worst of its two sentences."""
    by_row = sentences.groupby("row")
    statuses = by_row["status"].agg(set)
    worst = [next(s for s in ("counted", "set aside", "equal") if s in statuses_of_row) for statuses_of_row in statuses]
    return pd.DataFrame({"status": worst, "exact": by_row["exact"].all().to_numpy()})


def _summarise(unit: str, table: pd.DataFrame, n_stale: int) -> dict:
    n, equal, aside = len(table), table["status"] == "equal", int((table["status"] == "set aside").sum())
    n_equal = int(equal.sum())
    return {
        "unit": unit,
        "n": n,
        "n_equal": n_equal,
        "n_equal_but_names": int((equal & ~table["exact"]).sum()),
        "n_set_aside": aside,
        "share_equal": n_equal / n,
        "share_equal_after": n_equal / (n - aside) if n > aside else float("nan"),
        "n_stale": n_stale,
    }
