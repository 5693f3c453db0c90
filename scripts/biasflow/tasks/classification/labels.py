"""Which labels a task keeps: those with enough texts of each gender; and what is said of the others."""

from typing import Literal

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
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Keep only the labels with at least `least` texts of each gender, and a table that says which those are.

    texts: columns label, gender. least: at least 2. Splits keep the shares of labels, not of genders, and a test split
    without one gender cannot be balanced: of n texts of a gender none is among a test quarter with probability about
    0.75^n (5.6 % for 10, 0.3 % for 20); `splits.check_balanceable` tries it. small: "error" refuses a label that has
    fewer, with `advice` at the end of the message, "drop" leaves it out.
    The second table has one row per label, alphabetical: label, women, men, kept (bool), reason ("" if kept).
    BiasflowError names the labels that are too small with their counts; or fewer than two are left."""
    counts = pd.crosstab(texts["label"], texts["gender"]).reindex(columns=WOMEN_FIRST, fill_value=0)
    enough = counts.min(axis=1) >= least
    rows = [
        (name, int(women), int(men), bool(kept), "" if kept else f"fewer than {least} of a gender")
        for (name, women, men), kept in zip(counts.itertuples(), enough, strict=True)
    ]
    labels = pd.DataFrame(rows, columns=list(COLUMNS))
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


def _too_small(labels: pd.DataFrame) -> list[str]:
    """Those that are not kept, with their counts."""
    rows = labels[~labels["kept"]]
    return [
        f"{name} ({women} women, {men} men)"
        for name, women, men in zip(rows.iloc[:, 0], rows["women"], rows["men"], strict=True)
    ]
