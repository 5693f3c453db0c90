"""How labelled texts are split and balanced, and the check that all splits can be, before anything is trained.

The split and the balancing are those of Orgad, Goldfarb-Tarrant & Belinkov (2022). A table of texts has the columns
label, gender (F, M, or a further group of the user's), text, scrubbed (the text without words that tell gender); where
the data have a split of their own, split (of PARTS); and where they have further groups, compared: whether its label
has enough texts of its group for gaps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE, GENDERS, MALE, WOMEN_FIRST
from biasflow.base.tabular import read_parquet, write_csv
from biasflow.strategies import Strategy
from biasflow.strategies import balance as balancing
from biasflow.strategies.balance import TooFewError, balance, part_of, unbalanceable

TEST_SHARE, VALIDATION_SHARE = 0.25, 0.133  # of all, of the rest: 65.0 % / 10.0 % / 25 % in all
RAW, SCRUBBED = "raw", "scrubbed"
COLUMN_OF = {RAW: "text", SCRUBBED: "scrubbed"}
PARTS = ("train", "validation", "test")


def prepare(
    sources: Mapping[str, Sequence[Path]],
    outputs: Mapping[str, Path],
    *,
    seeds: Sequence[int],
    strategies: Sequence[str],
    advice: str,
) -> dict[str, object]:
    """Write the counts of women and men in every part of every split; BiasflowError as `check_balanceable`."""
    texts = read_parquet(sources["texts"][0])
    check_balanceable(texts, seeds=seeds, strategies=strategies, advice=advice)
    write_csv(split_counts(texts, seeds), outputs["splits"])
    return {}


@dataclass(frozen=True)
class Split:
    """Row numbers of the three parts, int arrays; a balanced part can hold a row more than once."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def split(texts: pd.DataFrame, seed: int) -> Split:
    """Split texts into 65 % train, 10 % validation and 25 % test, each with the same shares of labels, or as their
    column `split` says, whatever the seed.

    The two calls of scikit-learn's train_test_split of the released code: a quarter is test, 13.3 % of the rest
    validation, both stratified by label (not by gender) and seeded by `seed`. The rows depend on nothing but the
    labels, their order, and the seed.
    TooFewError names a label that is not in every part, with its count."""
    codes, names = pd.factorize(texts["label"].to_numpy(dtype=object), sort=True)
    if "split" in texts:
        parts = [np.flatnonzero(texts["split"] == part) for part in PARTS]
        for name, part in zip(PARTS, parts, strict=True):
            for label in sorted({*names} - {*names[codes[part]]}):
                raise TooFewError(label, f"no text is in part {name} of the data's own split")
        return Split(*parts)
    rest, test = _stratified(np.arange(len(codes)), codes, names, TEST_SHARE, seed)
    train, validation = _stratified(rest, codes, names, VALIDATION_SHARE, seed)
    return Split(train, validation, test)


def how_split(texts: pd.DataFrame, column: str | None, otherwise: str) -> str:
    """Say how texts are split: by a column, by files, or as `otherwise` says; and how many are in each part of a split
    of their own."""
    if "split" not in texts:
        return otherwise
    sizes = texts["split"].value_counts()
    counts = ", ".join(f"{sizes.get(part, 0):,} {part}" for part in PARTS)
    return f"split by {f'column {column}' if column else 'files'} ({counts})"


def rows_of(texts: pd.DataFrame, strategy: Strategy, seed: int) -> Split:
    """The rows that a model of a strategy is trained, validated and tested on.

    texts: columns label, gender. The strategy has its say on training and validation alone; the test part is that
    of `held_out`. BiasflowError: what the strategy, `held_out` and `split` refuse."""
    labels, genders = texts["label"].to_numpy(), texts["gender"].to_numpy()
    parts = split(texts, seed)
    train, validation = strategy.rows(parts.train, parts.validation, labels=labels, genders=genders, seed=seed)
    return Split(train, validation, held_out(texts, seed))


def held_out(texts: pd.DataFrame, seed: int, pair: Sequence[str] = WOMEN_FIRST) -> np.ndarray:
    """The rows of a seed's test part, always subsampled to as many women as men of every label, or as many of both
    groups of another pair (`comparable`).

    They are drawn from a state of their own, so that all strategies of a seed are tested on the same texts.
    TooFewError names a label with one gender in the test part."""
    rows, rng = split(texts, seed).test, np.random.RandomState(seed)
    if tuple(pair) != WOMEN_FIRST:
        return comparable(texts, rows, pair, rng)
    labels, genders = texts["label"].to_numpy(), texts["gender"].to_numpy()
    return balance(labels, genders, rows, how="subsampling", rng=rng, part=part_of("test", seed))


def comparable(texts: pd.DataFrame, rows: np.ndarray, pair: Sequence[str], rng: np.random.RandomState) -> np.ndarray:
    """Return those of `rows` in which a pair of groups is compared: as many texts of both for every label that has
    enough of both (column compared); none if fewer than two labels have."""
    rows = rows[texts["compared"].to_numpy()[rows]]
    labels, genders = texts["label"].to_numpy(), texts["gender"].to_numpy()
    rows = balance(labels, genders, rows, how="subsampling", one_gender="leave-out", groups=pair, rng=rng)
    return rows if len({*labels[rows]}) > 1 else rows[:0]


def labels_of(texts: pd.DataFrame) -> list[str]:
    """The labels in alphabetical order, which is that of the classes."""
    return sorted(texts["label"].unique())


def texts_of(texts: pd.DataFrame, text: str) -> list[str]:
    """The raw or the scrubbed texts of all rows."""
    return texts[COLUMN_OF[text]].tolist()


def classes_of(texts: pd.DataFrame) -> np.ndarray:
    """Return the class of every text, the number of its label in `labels_of`: [n]."""
    return pd.Categorical(texts["label"], categories=labels_of(texts)).codes.astype(int)


def women(texts: pd.DataFrame) -> np.ndarray:
    """Return 1 for every text of a woman and 0 for any other, [n]."""
    return (texts["gender"] == FEMALE).to_numpy().astype(int)


def of_genders(texts: pd.DataFrame, rows: np.ndarray) -> np.ndarray:
    """Return those of `rows` that are texts of women or men: no method or probe knows a further group."""
    return rows[texts["gender"].isin(GENDERS).to_numpy()[rows]]


def check_balanceable(
    texts: pd.DataFrame,
    *,
    seeds: Sequence[int],
    strategies: Sequence[str],
    advice: str = "give more texts of it, or let small labels be dropped",
) -> None:
    """Raise BiasflowError, with `advice` at its end, unless `rows_of` works for every seed, strategy and label.

    texts: columns label, gender. A label fails where it has no text in a part of a split, or one gender
    in a part that has to be balanced: test always, training with a strategy that balances. The error names the one with
    the fewest texts of its rarer gender (then the first in the alphabet), with its counts in the data and in the
    part, the seed, and which others fail; or the seed of which no label has both genders in a validation part that
    has to be balanced."""
    balanced = bool(set(balancing.STRATEGIES) & set(strategies))
    if failing := _failing(texts, seeds, balanced=balanced, advice=advice):
        counts = pd.crosstab(texts["label"], texts["gender"]).reindex(columns=WOMEN_FIRST, fill_value=0)
        rarer = counts.min(axis=1)
        worst = min(failing, key=lambda name: (rarer[name], name))
        others = ", ".join(sorted(set(failing) - {worst}))
        raise BiasflowError(
            f"label {worst} ({counts.loc[worst, FEMALE]} women, {counts.loc[worst, MALE]} men): "
            f"{failing[worst]}{others and f' (others that fail: {others})'}; {advice}."
        )


def split_counts(texts: pd.DataFrame, seeds: Sequence[int]) -> pd.DataFrame:
    """Women and men by seed, part (PARTS; before any balancing) and label."""
    tables = {(seed, part): counts for seed in seeds for part, counts in _counts_of_parts(texts, seed).items()}
    counts = pd.concat(tables, names=["seed", "part", "label"])
    return counts.set_axis(["women", "men"], axis=1).reset_index()


def shares_of_women(
    labels: Sequence[str], genders: Sequence[str], rows: np.ndarray, pair: Sequence[str] = WOMEN_FIRST
) -> pd.Series:
    """Share of women in [0, 1] by label (alphabetical) among the women and men of `rows`, which should not have been
    balanced; or that of the first group of another pair among both."""
    of_pair = rows[np.isin(np.asarray(genders, dtype=object)[rows], pair)]
    women = pd.Series(np.asarray(genders)[of_pair] == pair[0], index=np.asarray(labels)[of_pair])
    return women.groupby(level=0).mean().rename("share_of_women").rename_axis("label")


def _failing(texts: pd.DataFrame, seeds: Sequence[int], *, balanced: bool, advice: str) -> dict[str, str]:
    """The labels with which `rows_of` fails for a seed, with the first reason of each.

    balanced: whether training and validation are balanced too. Only counts are needed: what is drawn has no say."""
    reasons: dict[str, str] = {}
    without_validation = []
    for seed in seeds:
        try:
            counts = _counts_of_parts(texts, seed)
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
        raise BiasflowError(f"no label has both genders in {part}, which is to be balanced; {advice}.")
    return reasons


def _counts_of_parts(texts: pd.DataFrame, seed: int) -> dict[str, pd.DataFrame]:
    """Part of a split -> texts by label (rows) and gender (columns WOMEN_FIRST)."""
    labels, genders = texts["label"].to_numpy(), texts["gender"].to_numpy()
    return {
        part: pd.crosstab(labels[rows], genders[rows]).reindex(columns=WOMEN_FIRST, fill_value=0)
        for part, rows in vars(split(texts, seed)).items()
    }


def _stratified(
    rows: np.ndarray, codes: np.ndarray, names: np.ndarray, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """train_test_split of `rows`, stratified by codes (numbers in `names`); BiasflowError names the label that
    cannot be in both parts."""
    from sklearn.model_selection import train_test_split  # a second to load, and reading texts needs no split

    if not len(codes):
        raise BiasflowError("texts: there are none to split; check the files of the task.")
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


def _too_rare(label: str, count: int) -> TooFewError:
    return TooFewError(label, f"{count} texts are too few for a part in each of train, validation and test")
