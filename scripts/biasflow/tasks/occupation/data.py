"""Splits and balancing of biographies for occupation prediction (Orgad, Goldfarb-Tarrant & Belinkov 2022)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE, MALE, WOMEN_FIRST
from biasflow.strategies import Strategy
from biasflow.strategies import balance as balancing
from biasflow.strategies.balance import TooFewError, balance, part_of, unbalanceable

TEST_SHARE, VALIDATION_SHARE = 0.25, 0.133  # of all, of the rest: 65.0 % / 10.0 % / 25 % in all
RAW, SCRUBBED = "raw", "scrubbed"
COLUMN_OF = {RAW: "text", SCRUBBED: "scrubbed"}


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


def rows_of(bios: pd.DataFrame, strategy: Strategy, seed: int) -> Split:
    """The rows that a model of a strategy is trained, validated and tested on.

    bios: columns profession, gender. The strategy has its say on training and validation alone; the test part is that
    of `held_out`. BiasflowError: what the strategy, `held_out` and `split` refuse."""
    professions, genders = bios["profession"].to_numpy(), bios["gender"].to_numpy()
    parts = split(professions, seed)
    train, validation = strategy.rows(parts.train, parts.validation, labels=professions, genders=genders, seed=seed)
    return Split(train, validation, held_out(bios, seed))


def held_out(bios: pd.DataFrame, seed: int) -> np.ndarray:
    """The rows of a seed's test part, always subsampled to as many women as men of every profession.

    They are drawn from a state of their own, so that all strategies of a seed are tested on the same biographies.
    TooFewError names a profession with one gender in the test part."""
    professions, genders = bios["profession"].to_numpy(), bios["gender"].to_numpy()
    rows, rng = split(professions, seed).test, np.random.RandomState(seed)
    return balance(professions, genders, rows, how="subsampling", rng=rng, part=part_of("test", seed))


def professions_of(bios: pd.DataFrame) -> list[str]:
    """The professions in alphabetical order, which is that of the classes."""
    return sorted(bios["profession"].unique())


def texts_of(bios: pd.DataFrame, text: str) -> list[str]:
    """The raw or the scrubbed texts of all biographies."""
    return bios[COLUMN_OF[text]].tolist()


def classes_of(bios: pd.DataFrame) -> np.ndarray:
    """Return the class of every biography, the number of its profession in `professions_of`: [n]."""
    return pd.Categorical(bios["profession"], categories=professions_of(bios)).codes.astype(int)


def women(bios: pd.DataFrame) -> np.ndarray:
    """Return 1 for every biography of a woman and 0 for one of a man, [n]."""
    return (bios["gender"] == FEMALE).to_numpy().astype(int)


def check_balanceable(
    bios: pd.DataFrame,
    *,
    seeds: Sequence[int],
    strategies: Sequence[str],
    advice: str = "give more biographies of it, or let small professions be dropped",
) -> None:
    """Raise BiasflowError, with `advice` at its end, unless `rows_of` works for every seed, strategy and profession.

    bios: columns profession, gender. A profession fails where it has no biography in a part of a split, or one gender
    in a part that has to be balanced: test always, training with a strategy that balances. The error names the one with
    the fewest biographies of its rarer gender (then the first in the alphabet), with its counts in the data and in the
    part, the seed, and which others fail; or the seed of which no profession has both genders in a validation part that
    has to be balanced."""
    balanced = bool(set(balancing.STRATEGIES) & set(strategies))
    if failing := _failing(bios, seeds, balanced=balanced, advice=advice):
        counts = pd.crosstab(bios["profession"], bios["gender"]).reindex(columns=WOMEN_FIRST, fill_value=0)
        rarer = counts.min(axis=1)
        worst = min(failing, key=lambda name: (rarer[name], name))
        others = ", ".join(sorted(set(failing) - {worst}))
        raise BiasflowError(
            f"profession {worst} ({counts.loc[worst, FEMALE]} women, {counts.loc[worst, MALE]} men): "
            f"{failing[worst]}{others and f' (others that fail: {others})'}; {advice}."
        )


def split_counts(bios: pd.DataFrame, seeds: Sequence[int]) -> pd.DataFrame:
    """Women and men by seed, part (train, validation, test; before any balancing) and profession."""
    tables = {(seed, part): counts for seed in seeds for part, counts in _counts_of_parts(bios, seed).items()}
    counts = pd.concat(tables, names=["seed", "part", "profession"])
    return counts.set_axis(["women", "men"], axis=1).reset_index()


def shares_of_women(professions: Sequence[str], genders: Sequence[str], rows: np.ndarray) -> pd.Series:
    """Share of women in [0, 1] by profession (alphabetical) among `rows`, which should not have been balanced."""
    women = pd.Series(np.asarray(genders)[rows] == FEMALE, index=np.asarray(professions)[rows])
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


def _failing(bios: pd.DataFrame, seeds: Sequence[int], *, balanced: bool, advice: str) -> dict[str, str]:
    """The professions with which `rows_of` fails for a seed, with the first reason of each.

    balanced: whether training and validation are balanced too. Only counts are needed: what is drawn has no say."""
    reasons: dict[str, str] = {}
    without_validation = []
    for seed in seeds:
        try:
            counts = _counts_of_parts(bios, seed)
        except TooFewError as error:
            reasons.setdefault(error.label, f"{error.reason} (seed {seed})")
            continue
        for part in ("train", "test") if balanced else ("test",):
            for name, women, men in counts[part].itertuples():
                if not women or not men:
                    reasons.setdefault(name, unbalanceable(women, men, part_of(part, seed)))
        if balanced and not counts["validation"].min(axis=1).any():
            without_validation.append(seed)
    if without_validation and not reasons:
        part = part_of("validation", without_validation[0])
        raise BiasflowError(f"no profession has both genders in {part}, which is to be balanced; {advice}.")
    return reasons


def _counts_of_parts(bios: pd.DataFrame, seed: int) -> dict[str, pd.DataFrame]:
    """Part of a split -> biographies by profession (rows) and gender (columns WOMEN_FIRST)."""
    professions, genders = bios["profession"].to_numpy(), bios["gender"].to_numpy()
    return {
        part: pd.crosstab(professions[rows], genders[rows]).reindex(columns=WOMEN_FIRST, fill_value=0)
        for part, rows in vars(split(professions, seed)).items()
    }


def _stratified(
    rows: np.ndarray, codes: np.ndarray, names: np.ndarray, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """train_test_split of `rows`, stratified by codes (numbers in `names`); BiasflowError names the profession that
    cannot be in both parts."""
    from sklearn.model_selection import train_test_split  # a second to load, and reading texts needs no split

    if not len(codes):
        raise BiasflowError("biographies: there are none to split; check the files of the task.")
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


def _too_rare(profession: str, count: int) -> TooFewError:
    return TooFewError(profession, f"{count} biographies are too few for a part in each of train, validation and test")
