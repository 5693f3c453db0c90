"""Splits and balancing of biographies for occupation prediction (Orgad, Goldfarb-Tarrant & Belinkov 2022)."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from scripts.biasflow.errors import BiasflowError

STRATEGIES = ("none", "oversampling", "subsampling", "scrubbing")
TEST_SHARE, VALIDATION_SHARE = 0.25, 0.133  # of all, of the rest: 65.0 % / 10.0 % / 25 % in all
GENDERS = ("F", "M")  # the order of the draws and of the blocks
Balance = Literal["none", "subsampling", "oversampling"]
Minority = Literal["resample", "keep-all"]


@dataclass(frozen=True)
class Split:
    """Row numbers of the three parts, int arrays; a balanced part can hold a row more than once."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def split(professions: Sequence[str], seed: int) -> Split:
    """Split biographies into 65 % train, 10 % validation and 25 % test, each with the same shares of professions.

    professions: one per biography. The two calls of scikit-learn's train_test_split of the released code: a quarter is
    test, 13.3 % of the rest validation, both stratified by profession (not by gender) and seeded by `seed`. The rows
    depend on nothing but the professions, their order, and the seed.
    BiasflowError: a profession is too rare to be in every part; it is named with its count."""
    codes, names = pd.factorize(np.asarray(professions, dtype=object), sort=True)
    rest, test = _stratified(np.arange(len(codes)), codes, names, TEST_SHARE, seed)
    train, validation = _stratified(rest, codes, names, VALIDATION_SHARE, seed)
    return Split(train, validation, test)


def balance(
    professions: Sequence[str],
    genders: Sequence[str],
    rows: np.ndarray,
    *,
    how: Balance,
    rng: np.random.RandomState,
    minority: Minority = "resample",
    one_gender: Literal["error", "leave-out"] = "error",
) -> np.ndarray:
    """`rows` with as many women as men in every profession.

    professions, genders (F or M): of all biographies; rows: of the part to be balanced.
    how  "none": rows as they are. "subsampling": of each gender min(women, men) are drawn without replacement.
         "oversampling": max(women, men); the larger group is permuted, the smaller one drawn WITH replacement.
    minority  of oversampling, for the smaller group (n rows) that becomes `size`. "resample" (released): `size` draws
         from it, so that each of its rows is lost with probability (1 - 1/n)^size, about exp(-size/n): 37 % where the
         groups are nearly equal. "keep-all": every row once, and size - n draws.
    rng  the draws change its state, as in the released code, where one state serves the training part and then the
         validation part. NumPy's legacy generator, whose draws with a seed are those of np.random.choice.
    one_gender  what to do with a profession that lacks a gender in `rows`: it cannot be balanced.

    Returns the rows by profession (alphabetical), women before men. BiasflowError names the profession with one gender
    and its counts."""
    if how not in ("none", "subsampling", "oversampling") or minority not in ("resample", "keep-all"):
        raise BiasflowError(f"balancing {how!r} with minority {minority!r} is unknown.")
    if how == "none":
        return rows
    codes, names = pd.factorize(np.asarray(professions, dtype=object)[rows], sort=True)
    gender = np.asarray(genders, dtype=object)[rows]
    blocks = []
    for code, profession in enumerate(names):
        groups = [rows[(codes == code) & (gender == each)] for each in GENDERS]
        counts = [len(group) for group in groups]
        if 0 in counts:
            if one_gender == "error":
                raise BiasflowError(
                    f"profession {profession}: {counts[0]} women and {counts[1]} men in a part that is to be balanced; "
                    "give more biographies of it, or drop it."
                )
            continue
        size = min(counts) if how == "subsampling" else max(counts)
        blocks += [_drawn(group, size, rng, minority) for group in groups]
    return np.concatenate(blocks) if blocks else rows[:0]


def rows_of(bios: pd.DataFrame, strategy: str, seed: int, *, minority: Minority = "resample") -> Split:
    """The rows that a model of a strategy is trained, validated and tested on.

    bios: columns profession, gender. strategy: none and scrubbing train on the split as it is (scrubbing changes the
    texts only), oversampling and subsampling balance train and validation, drawn one after the other from one state
    seeded by `seed`. The test part is always subsampled, from a state of its own, so that all strategies of a seed are
    tested on the same biographies. A profession with one gender in validation is left out of it where it is balanced
    (and logged); in the other parts that is a BiasflowError, as are an unknown strategy and what `split` refuses."""
    if strategy not in STRATEGIES:
        raise BiasflowError(f"strategy {strategy!r} is none of {', '.join(STRATEGIES)}.")
    professions, genders = bios["profession"].to_numpy(), bios["gender"].to_numpy()
    parts = split(professions, seed)
    how = strategy if strategy in ("oversampling", "subsampling") else "none"
    rng = np.random.RandomState(seed)
    train = balance(professions, genders, parts.train, how=how, rng=rng, minority=minority)
    validation = balance(
        professions, genders, parts.validation, how=how, rng=rng, minority=minority, one_gender="leave-out"
    )
    absent = sorted(set(professions[parts.validation]) - set(professions[validation]))
    if absent:
        logging.getLogger("biasflow").warning(
            "seed %d, %s: not in the validation part, which has one gender of them: %s",
            seed, strategy, ", ".join(absent),
        )  # fmt: skip
    test = balance(professions, genders, parts.test, how="subsampling", rng=np.random.RandomState(seed))
    return Split(train, validation, test)


def shares_of_women(professions: Sequence[str], genders: Sequence[str], rows: np.ndarray) -> pd.Series:
    """Share of women in [0, 1] by profession (alphabetical) among `rows`, which should not have been balanced."""
    women = pd.Series(np.asarray(genders)[rows] == "F", index=np.asarray(professions)[rows])
    return women.groupby(level=0).mean().rename("share_of_women").rename_axis("profession")


def profession_table(professions: pd.DataFrame, labour: pd.Series) -> pd.DataFrame:
    """The professions of the data, used or not, beside the labour statistics.

    professions: profession, women, men, kept, reason (second table of corpora.bios.keep_professions). labour: share of
    women in [0, 1] by profession. Columns: profession, women, men, share_of_women (of all the biographies read),
    labour_share (NaN where the statistics have none), kept, reason."""
    shares = professions["women"] / (professions["women"] + professions["men"])
    table = professions.assign(
        share_of_women=shares, labour_share=labour.reindex(professions["profession"]).to_numpy(float)
    )
    return table[["profession", "women", "men", "share_of_women", "labour_share", "kept", "reason"]]


def _stratified(
    rows: np.ndarray, codes: np.ndarray, names: np.ndarray, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """train_test_split of `rows`, stratified by codes (numbers in `names`); BiasflowError names the profession that
    cannot be in both parts."""
    if not len(codes):
        raise BiasflowError("biographies: there is none to split.")
    counts = np.bincount(codes)
    rarest = counts.argmin()
    try:
        parts = train_test_split(rows, test_size=share, random_state=seed, stratify=codes[rows])
    except ValueError as error:
        raise _too_rare(names[rarest], counts[rarest]) from error
    for part in parts:
        absent = np.flatnonzero(np.bincount(codes[part], minlength=len(names)) == 0)
        if len(absent):
            raise _too_rare(names[absent[0]], counts[absent[0]])
    return tuple(parts)


def _too_rare(profession: str, count: int) -> BiasflowError:
    return BiasflowError(
        f"profession {profession}: {count} biographies are too few for a part in each of train, validation and test; "
        "give more of it, or drop it."
    )


def _drawn(group: np.ndarray, size: int, rng: np.random.RandomState, minority: Minority) -> np.ndarray:
    """`size` rows of a group."""
    if size > len(group) and minority == "keep-all":
        return np.concatenate([group, rng.choice(group, size=size - len(group), replace=True)])
    return rng.choice(group, size=size, replace=size > len(group))
