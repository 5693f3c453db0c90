"""Which labels a task keeps: those with enough texts of each gender; and what is said of the others, and of further
groups with too few."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import WOMEN_FIRST

COLUMNS = ("label", "women", "men", "kept", "reason")
NAMED = 5  # labels in the sentence on those that are dropped


def keep_labels(
    texts: pd.DataFrame,
    *,
    least: int,
    small: Literal["error", "drop"] = "error",
    advice: str = "leave them out or let small labels be dropped",
    further: Sequence[str] = (),
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Keep only the labels with at least `least` texts of each gender, and a table that says which those are.

    texts: columns label, gender. further: groups that are counted, too, but keep and drop no label. least: at least 2.
    Splits keep the shares of labels, not of genders, and a test split without one gender cannot be balanced: of n texts
    of a gender none is among a test quarter with probability about 0.75^n (5.6 % for 10, 0.3 % for 20);
    `splits.check_balanceable` tries it. small: "error" refuses a label that has fewer, with `advice` at the end of the
    message, "drop" leaves it out.
    The second table has one row per label, alphabetical: label, women, men, a column for each of `further`, kept
    (bool), reason ("" if kept).
    BiasflowError names the labels that are too small with their counts; or fewer than two are left."""
    counts = _counts(texts, [*WOMEN_FIRST, *further])
    enough = counts[[*WOMEN_FIRST]].min(axis=1) >= least
    labels = counts.reset_index().set_axis([*COLUMNS[:3], *further], axis=1)
    why = f"fewer than {least} of a gender"
    labels = labels.assign(kept=enough.to_numpy(), reason=["" if kept else why for kept in enough])
    too_small = _too_small(labels)
    if too_small and small == "error":
        raise BiasflowError(f"labels with fewer than {least} texts of a gender: {', '.join(too_small)}; {advice}.")
    if enough.sum() < 2:
        raise BiasflowError(
            f"labels: {enough.sum()} of {len(enough)} with at least {least} texts of each gender "
            f"(too small: {', '.join(too_small) or 'none'}); give more texts or ask for fewer."
        )
    return texts[texts["label"].map(enough)].reset_index(drop=True), labels


def dropped(labels: pd.DataFrame) -> str:
    """Say in a sentence how many labels were dropped and why, and name some; "" if all are kept.

    labels: the second table of `keep_labels`, whose first column may say what the labels are (profession)."""
    names = _too_small(labels)
    if not names:
        return ""
    more = [f"and {len(names) - NAMED} more"] if len(names) > NAMED else []
    shown = ", ".join([*names[:NAMED], *more])
    why = labels.loc[~labels["kept"], "reason"].iloc[0]
    return f"{len(names)} of {len(labels)} {labels.columns[0]}s dropped ({why}): {shown}"


def has_enough(texts: pd.DataFrame, counted: pd.DataFrame, least: int) -> np.ndarray:
    """Return for each text whether at least `least` of those `counted` have its label and its group."""
    counts = counted.value_counts(["label", "gender"])
    return counts.reindex(pd.MultiIndex.from_frame(texts[["label", "gender"]]), fill_value=0).to_numpy() >= least


def too_few(texts: pd.DataFrame, groups: Sequence[str], least: int) -> str:
    """Say how many texts of some groups are missing for gaps: "" if two labels have at least `least` of each, or all
    texts together where these have no label.

    texts: columns label, gender."""
    missing = (least - _counts(texts, groups)).clip(lower=0)
    missing = missing.loc[missing.sum(axis=1).nsmallest(2).index]
    labelled = (texts["label"] != "").any()
    lacks = [
        f"{n} of {group}" + (f" with the label {label}" if labelled else "")
        for (label, group), n in missing.stack().items()
        if n
    ]
    of_each = f"{least} texts of each group" + (" in two labels" if labelled else "")
    return f"gaps need {of_each}; missing are {', '.join(lacks)}" if lacks else ""


def of_further(texts: pd.DataFrame, group: str, least: int) -> str:
    """Say in which labels a further group has too few texts for gaps, as `too_few` where it has no gaps at all."""
    counts = _counts(texts, [group])[group]
    few = [f"{label} ({n})" for label, n in counts.items() if n < least]
    shown = ", ".join([*few[:NAMED], *([f"and {len(few) - NAMED} more"] if len(few) > NAMED else [])])
    some = (
        f"{group} has gaps in {len(counts) - len(few)} of {len(counts)} labels, and fewer than {least} texts of {shown}"
    )
    return too_few(texts, [group], least) or (some if few else "")


def _counts(texts: pd.DataFrame, groups: Sequence[str]) -> pd.DataFrame:
    """How many texts of each of these groups (columns) have each label (rows)."""
    return pd.crosstab(texts["label"], texts["gender"]).reindex(columns=[*groups], fill_value=0)


def _too_small(labels: pd.DataFrame) -> list[str]:
    """Those that are not kept, with their counts."""
    rows = labels[~labels["kept"]]
    return [
        f"{name} ({women} women, {men} men)"
        for name, women, men in zip(rows.iloc[:, 0], rows["women"], rows["men"], strict=True)
    ]
