"""Scores of single items that another model gave, made the readout that ours would give. Imports no torch.

Items are those of the test as the run has it (the function `scored` or `items` of its module in corpora); scores are
joined to them by the columns that both have, or by their order where a file holds numbers alone."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from biasflow.base.by_name import module_named
from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.left_out import LeftOut, most
from biasflow.base.sample import names_of, sampled
from biasflow.base.tabular import write_parquet
from biasflow.corpora.bec_pro import BOTH
from biasflow.corpora.crows_pairs import ALL
from biasflow.corpora.published_scores import LOG_P, MASKING, PAIRS, PARTS, PLACE, SCORE, SHARED, read_scores
from biasflow.readouts.files import METHOD

Given = list[tuple[Path, pd.DataFrame]]  # files with their scores
UNTOUCHED = dict(zip(METHOD, ("none", "-"), strict=True))
BOTH_PARTS, SIDES = "both", ["first", "second"]
GIVEN = "given"  # how a word is filled in, where a user's score says how likely it is
# What tells the items of a test apart, where a text does not say all; datasets of one metric share a file.
TELLING, SETS, TEXTS = ("template", "word", "gender", "label", "swapped"), "set", {"sentence", "text", "next_sentence"}
TOLD = ("id", "item", "text", "sentence", "triple", *TELLING)  # of an item that is missing
TO_NATS = {"gest": np.log(10)}  # metric -> nats of one unit of a difference that is given; others are in nats
# If fewer related sentences than this share score higher than unrelated ones, of so many, lower scores are likelier.
LEAST, FEW = 0.3, 100


def read(
    paths: Sequence[Path],
    data: Mapping[str, Sequence[Path]],
    output: Path,
    *,
    metric: str,
    columns: Sequence[str],
    items: str,
    of: Mapping[str, str] | None = None,
    limit: int | None = None,
    **ours: object,
) -> dict[str, object]:
    """Write the table that the readout of a metric has, of the items that files at `paths` score; return facts of it.

    columns: of each file, the one with the scores, "" where its kind has one alone. data, items, of, limit: as ours
    would read them; `ours`: options of that alone. Items without a score, or with one that is no finite number, are
    left out. BiasflowError names file, line and what was expected: items most of which are such, or that are there
    twice, or of other data; AbsentError where the data have none of the items that a file scores."""
    module, left_out = module_named(items), LeftOut()
    files = {role: of_role[0] for role, of_role in data.items()}
    listed = getattr(module, "scored", module.items)
    with left_out.told():
        wanted = listed(**files, **(of or {}))
    of_all = (of or {}) | ({"bias_type": ALL} if metric == PAIRS else {"bias_type": ALL, "part": BOTH_PARTS})
    has_types = metric in (PAIRS, *PARTS) and files
    everything = partial(_everything, partial(listed, **files, **of_all)) if has_types else None
    scores = [
        read_scores(path, metric, column=column, part=(of or {}).get("part", "intrasentence"))
        for path, column in zip(paths, columns, strict=True)
    ]
    source = " and ".join(map(str, files.values())) or (of or {}).get("name", metric)
    named, unit = " and ".join(map(str, paths)), getattr(module, "UNIT", ("item",))
    joined = pd.concat(
        _joined(_Wanted(wanted, source, len(left_out.reasons), everything), parts).assign(**about)
        for about, parts in _by_masking(metric, list(zip(paths, scores, strict=True)))
    ).reset_index(drop=True)
    joined = _with_scores(named, joined, unit, left_out)
    if "label" in joined:
        _check_direction(named, joined)
    rows = as_read(sampled(joined, limit, unit=unit, strata=getattr(module, "STRATA", ())), metric)
    write_parquet(rows.assign(**UNTOUCHED), output)
    return {"items": len(joined), "scores": sum(map(len, scores)), **left_out.facts()}


def _everything(listed: Callable[[], pd.DataFrame]) -> tuple[pd.DataFrame, int]:
    """The items of a list, and how many are left out of it."""
    left_out = LeftOut()
    with left_out.told():
        return listed(), len(left_out.reasons)


def _by_masking(metric: str, files: Given) -> list[tuple[dict[str, str], Given]]:
    """The rows of the files by what was masked for their scores, with the log-likelihoods of pairs, of the metric that
    tells it apart; all rows of any other."""
    if metric != PAIRS:
        return [({}, files)]
    told = [(path, _as_pairs(scores if MASKING in scores else scores.assign(masking=SHARED))) for path, scores in files]
    found = [(path, masking, rows) for path, scores in told for masking, rows in scores.groupby(MASKING, sort=False)]
    return [
        ({MASKING: one}, [(path, rows.drop(columns=MASKING)) for path, masking, rows in found if masking == one])
        for one in dict.fromkeys(masking for _, masking, _ in found)
    ]


def _as_pairs(scores: pd.DataFrame, nats: float = 1.0) -> pd.DataFrame:
    """Scores with the log-likelihoods of both; where their difference alone is known, that of the second is 0. nats: of
    a unit of the difference."""
    if SCORE not in scores:
        return scores
    return scores.drop(columns=SCORE).assign(**dict(zip(LOG_P, (scores[SCORE] * nats, 0.0), strict=True)))


def _with_scores(path: str, joined: pd.DataFrame, unit: Sequence[str], left_out: LeftOut) -> pd.DataFrame:
    """The items all of whose rows have a score, for every masking; the others are left out. BiasflowError where that
    is most of them."""
    names = pd.Index(names_of(joined, unit))
    values = [name for name in (SCORE, *LOG_P) if name in joined]
    maskings = joined[MASKING].nunique() if MASKING in joined else 1
    reasons = dict.fromkeys(names[joined[values].isna().any(axis=1).to_numpy()], "no score that is a finite number")
    reasons |= dict.fromkeys(
        names[~joined["has_row"].to_numpy()], "no row with its score" + " for each masking" * (maskings > 1)
    )
    known, left_out.of = names.nunique(), names.nunique() + len(left_out.reasons)
    if most(len(reasons), known):
        name, why = next(iter(reasons.items()))
        raise BiasflowError(f"{path}: item {name}: {why} ({len(reasons)} of {known} such items); score all of them")
    left_out.reasons |= reasons
    return joined[~names.isin([*reasons])].drop(columns="has_row").reset_index(drop=True)


def as_read(items: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Items with their scores, as the metric's readout has them: of pairs the log-likelihoods of both (where their
    difference alone is known, that of the second is 0), without numbers of tokens; of words log p; of sentences p."""
    if SCORE in items and not {"label", "gender"} & set(items):
        items = _as_pairs(items, TO_NATS.get(metric, 1.0))
    if LOG_P[0] in items:
        masking = items.get(MASKING, SHARED)
        return items.assign(tokens_first=np.nan, tokens_second=np.nan, masking=masking)
    if metric == "strength":
        return items.rename(columns={SCORE: "p"}).assign(truncated=False)
    if metric == "intersentence":
        return items.rename(columns={SCORE: "p"})
    items = items.rename(columns={SCORE: "log_p"})
    if metric == "occtmp":
        return items.assign(pieces=np.nan)
    if "label" in items:
        return items.assign(filling=GIVEN)
    if "masked" in items:  # an association is a difference of two masks
        return pd.concat([items, items.assign(masked=BOTH, log_p=0.0)], ignore_index=True)
    return items


class _Wanted(NamedTuple):
    """The items that are to be scored. spare: so many scores may be of items that are left out; everything: lists all
    items of these data, of other bias types, too."""

    items: pd.DataFrame
    source: str
    spare: int
    everything: Callable[[], tuple[pd.DataFrame, int]] | None


def _joined(wanted: _Wanted, files: Given) -> pd.DataFrame:
    """The items with their scores, in their order; NaN where there is none, which `has_row` tells apart."""
    items, source = wanted.items, wanted.source
    values = [name for name in (SCORE, *LOG_P) if name in files[0][1]]
    if list(files[0][1]) == values:
        return _in_order(items, files, source).assign(has_row=True)
    parts = []
    for path, scores in files:
        keyed = _with_id(items, scores)
        keys = [name for name in scores if name in keyed and name not in values]
        if not keys:
            raise BiasflowError(
                f"{path}: none of the columns {', '.join(scores)} tells the items of {source}; give one of "
                f"{', '.join(dict.fromkeys(['id', *items]))}"
            )
        _check_keys(path, keyed, keys)
        parts.append(_by_key(wanted, keyed[keys], path, scores, values))
    joined = pd.concat(parts)
    twice = joined.index.duplicated()
    if twice.any():
        raise BiasflowError(f"{files[-1][0]}: scores items that another file scores, too; give each once")
    _refuse_missing(items, joined.index, " and ".join(str(path) for path, _ in files), source)
    return items.join(joined).assign(has_row=items.index.isin(joined.index))


def _with_id(items: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """The items under the names of columns that the scores have."""
    return items.rename(columns={"item": "id"}) if "id" in scores and "id" not in items else items


def _in_order(wanted: pd.DataFrame, files: Sequence[tuple[Path, pd.DataFrame]], source: str) -> pd.DataFrame:
    """Files of numbers alone: one for all items or, of a test with templates, one for each of its first templates."""
    if {SETS, "refers_to"} & set(wanted):
        raise BiasflowError(f"{files[0][0]}: has numbers alone, which do not tell the items of {source}; add columns")
    groups = [wanted]
    if "template" in wanted and "item" in wanted:
        groups = [group for _, group in wanted.groupby("template", sort=False)]
    if len(files) > len(groups):
        more = f"is file {len(files)} of numbers alone, and the test has {len(groups)} templates; leave it out"
        raise BiasflowError(f"{files[-1][0]}: {more}")
    parts = []
    for (path, scores), group in zip(files, groups, strict=False):
        if len(scores) != len(group):
            raise BiasflowError(
                f"{path}: line {scores.index[-1]}: is the last of {len(scores)} scores, and {source} has {len(group)} "
                "items; give one for each, in their order"
            )
        parts.append(group.assign(**{name: scores[name].to_numpy() for name in scores}))
    return pd.concat(parts, ignore_index=True)


def _by_key(
    wanted: _Wanted, keys: pd.DataFrame, path: Path, scores: pd.DataFrame, values: Sequence[str]
) -> pd.DataFrame:
    """The values of a file by the place of their item in `wanted`. Where items are alike in all keys, the first row is
    of the first."""
    items, source = wanted.items, wanted.source
    ours, theirs = keys.astype(str), scores[list(keys)].astype(str)
    places = pd.Series(items.index, _numbered(ours)).reindex(_numbered(theirs)).set_axis(scores.index)
    unknown = places.isna()
    twice = unknown & _is_among(theirs, ours)
    if twice.any():
        raise BiasflowError(_said(path, theirs, twice, "is there a second time; give each item once"))
    spare = wanted.spare
    if unknown.any() and wanted.everything:  # a file may score items of other bias types, too
        everything, spare = wanted.everything()
        ours = _with_id(everything, scores)[list(keys)].astype(str)
    foreign = unknown & ~_is_among(theirs, ours)
    if foreign.any() and set(SIDES) <= set(keys):
        exchanged = foreign & _is_among(theirs.rename(columns=dict(zip(SIDES, SIDES[::-1], strict=True))), ours)
        if exchanged.any():
            why = f"are exchanged in {source}; exchange them, and their scores"
            raise BiasflowError(_said(path, theirs, exchanged, why))
    if unknown.all():
        other = f"of the {len(items)} items of {source}, which holds other data, or another copy"
        raise AbsentError(f"{path}: has none {other}")
    if SETS in keys:  # or of other sets
        foreign &= scores[SETS].isin(items[SETS])
    if foreign.sum() > spare and theirs.index.name != PLACE:  # the ids in predictions may be those of another copy
        raise BiasflowError(_said(path, theirs, foreign, f"is no item of {source}; are these scores of other data?"))
    return scores.loc[places.notna(), list(values)].set_axis(places.dropna().astype(int))


def _is_among(rows: pd.DataFrame, of: pd.DataFrame) -> np.ndarray:
    """Whether each row is one of the others, by the columns of these."""
    return pd.MultiIndex.from_frame(rows[list(of)]).isin(pd.MultiIndex.from_frame(of))


def _check_keys(path: Path, wanted: pd.DataFrame, keys: Sequence[str]) -> None:
    """BiasflowError where the columns `keys` leave open which item of `wanted`, or of which set, a row is."""
    open_ = [name for name in TELLING if name in wanted and name not in keys]
    several = wanted.groupby(list(keys), sort=False)[open_].nunique().gt(1).any() if open_ else {}
    missing = [name for name in open_ if several[name]]
    if SETS in wanted and not {SETS, *TEXTS} & set(keys):
        missing.insert(0, SETS)
    if missing:
        raise BiasflowError(
            f"{path}: line 1: the columns {', '.join(keys)} do not tell of which {missing[0]} a score is; add it"
        )


def _numbered(keys: pd.DataFrame) -> pd.MultiIndex:
    """The keys, with a number that tells rows apart that are alike."""
    return pd.MultiIndex.from_frame(keys.assign(_number=keys.groupby(list(keys)).cumcount()))


def _refuse_missing(wanted: pd.DataFrame, scored: pd.Index, path: str, source: str) -> None:
    """AbsentError where no item of a bias type has a score, BiasflowError where most items have none."""
    missing = wanted[~wanted.index.isin(scored)]
    if missing.empty:
        return
    for name, items in wanted.groupby("bias_type", sort=False) if "bias_type" in wanted else ():
        if not items.index.isin(scored).any():
            about = f"the {len(items)} items about {name} of {source}, which is another copy"
            raise AbsentError(f"{path}: has none of {about}")
    if not most(len(missing), len(wanted)):
        return
    first = ", ".join(f"{name} {str(value)!r}" for name, value in missing.iloc[0].items() if name in TOLD)
    raise BiasflowError(f"{path}: lacks {len(missing)} items of {source}, the first is {first}; score all of them")


def _said(path: Path, keys: pd.DataFrame, wrong: pd.Series, why: str) -> str:
    place = wrong.idxmax()
    text = ", ".join(f"{name} {value[:60]!r}" for name, value in keys.loc[place].items())
    return f"{path}: {keys.index.name} {place}: {text} {why}"


def _check_direction(path: str, items: pd.DataFrame) -> None:
    """BiasflowError where unrelated words or sentences mostly have the higher score: then lower ones are likelier."""
    item = [name for name in ("item", "triple", "swapped") if name in items]
    wide = items.pivot(index=item, columns="label", values=SCORE)
    above = wide[["stereotype", "anti-stereotype"]].gt(wide["unrelated"], axis=0).to_numpy()
    if above.size >= FEW and above.mean() < LEAST:
        raise BiasflowError(
            f"{path}: unrelated words or sentences score higher than others in {1 - above.mean():.0%} of comparisons; "
            "a larger score must mean likelier: turn the sign"
        )
