"""Scores of single items that another model gave, made the readout that ours would give. Imports no torch.

Items are those of the test as the run has it (the function `scored` or `items` of its module in corpora); scores are
joined to them by the columns that both have, or by their order where a file holds numbers alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.by_name import module_named
from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.left_out import LeftOut, most
from biasflow.base.sample import names_of, sampled
from biasflow.base.tabular import write_parquet
from biasflow.corpora.bec_pro import BOTH
from biasflow.corpora.published_scores import ABOVE_0, LOG_P, SCORE, read_scores
from biasflow.corpora.records import refuse
from biasflow.readouts.files import METHOD

UNTOUCHED = dict(zip(METHOD, ("none", "-"), strict=True))
SHARED = "shared"  # which tokens were masked for the likelihoods of a pair: as CrowS-Pairs's script does
GIVEN = "given"  # how a word is filled in, where a user's score says how likely it is
LOG_PROBABILITIES, PROBABILITIES = ("occtmp", "winogender"), ("strength",)  # metrics whose scores are such
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
    with left_out.told():
        wanted = getattr(module, "scored", module.items)(**files, **(of or {}))
    scores = [
        read_scores(path, column=column, part=(of or {}).get("part", "intrasentence"))
        for path, column in zip(paths, columns, strict=True)
    ]
    for path, table in zip(paths, scores, strict=True):
        _check_values(path, table, metric)
    source = " and ".join(map(str, files.values())) or (of or {}).get("name", metric)
    joined = _joined(wanted, list(zip(paths, scores, strict=True)), source, spare=len(left_out.reasons))
    unit = getattr(module, "UNIT", ("item",))
    joined = _with_scores(joined, unit, left_out)
    if "label" in joined:
        _check_direction(" and ".join(map(str, paths)), joined)
    rows = as_read(sampled(joined, limit, unit=unit, strata=getattr(module, "STRATA", ())), metric)
    write_parquet(rows.assign(**UNTOUCHED), output)
    return {"items": len(joined), "scores": sum(map(len, scores)), **left_out.facts()}


def _with_scores(joined: pd.DataFrame, unit: Sequence[str], left_out: LeftOut) -> pd.DataFrame:
    """The items all of whose rows have a score; the others are left out."""
    names = pd.Index(names_of(joined, unit))
    unscored = joined[[name for name in (SCORE, *LOG_P) if name in joined]].isna().any(axis=1).to_numpy()
    left_out.of = names.nunique() + len(left_out.reasons)
    left_out.reasons |= dict.fromkeys(names[unscored], "no score that is a finite number")
    return joined[~names.isin(names[unscored])].reset_index(drop=True)


def as_read(items: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Items with their scores, as the metric's readout has them: of pairs the log-likelihoods of both (where their
    difference alone is known, that of the second is 0), without numbers of tokens; of words log p; of sentences p."""
    if SCORE in items and not {"label", "gender"} & set(items):
        first = items[SCORE] * TO_NATS.get(metric, 1.0)
        items = items.drop(columns=SCORE).assign(**dict(zip(LOG_P, (first, 0.0), strict=True)))
    if LOG_P[0] in items:
        masking = items.get("masking", SHARED)
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


def _joined(
    wanted: pd.DataFrame, files: Sequence[tuple[Path, pd.DataFrame]], source: str, *, spare: int
) -> pd.DataFrame:
    """The items with their scores, in their order; NaN where there is none. spare: so many scores may be of items that
    are left out."""
    values = [name for name in (SCORE, *LOG_P) if name in files[0][1]]
    if list(files[0][1]) == values:
        return _in_order(wanted, files, source)
    parts = []
    for path, scores in files:
        wanted_as = wanted.rename(columns={"item": "id"}) if "id" in scores and "id" not in wanted else wanted
        keys = [name for name in scores if name in wanted_as and name not in values]
        if not keys:
            raise BiasflowError(
                f"{path}: none of the columns {', '.join(scores)} tells the items of {source}; give one of "
                f"{', '.join(dict.fromkeys(['id', *wanted]))}"
            )
        _check_keys(path, wanted_as, keys)
        parts.append(_by_key(wanted, wanted_as[keys], path, scores, values, source, spare))
    joined = pd.concat(parts)
    twice = joined.index.duplicated()
    if twice.any():
        raise BiasflowError(f"{files[-1][0]}: scores items that another file scores, too; give each once")
    _refuse_missing(wanted, joined.index, " and ".join(str(path) for path, _ in files), source)
    return wanted.join(joined)


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
    wanted: pd.DataFrame,
    keys: pd.DataFrame,
    path: Path,
    scores: pd.DataFrame,
    values: Sequence[str],
    source: str,
    spare: int,
) -> pd.DataFrame:
    """The values of a file by the place of their item in `wanted`. Where items are alike in all keys, the first row is
    of the first."""
    ours, theirs = keys.astype(str), scores[list(keys)].astype(str)
    places = pd.Series(wanted.index, _numbered(ours)).reindex(_numbered(theirs)).set_axis(scores.index)
    twice = places.isna() & pd.MultiIndex.from_frame(theirs).isin(pd.MultiIndex.from_frame(ours))
    if twice.any():
        raise BiasflowError(_said(path, theirs, twice, "is there a second time; give each item once"))
    if places.isna().all():
        other = f"of the {len(wanted)} items of {source}, which holds other data, or another copy"
        raise AbsentError(f"{path}: has none {other}")
    # A file may score items of other bias types or sets, too.
    others = pd.Series("bias_type" in wanted and "bias_type" not in scores, scores.index)
    for name in {"bias_type", SETS} & set(wanted) & set(scores):
        others |= ~scores[name].isin(wanted[name])
    unknown = places.isna() & ~others
    if unknown.sum() > spare:
        raise BiasflowError(_said(path, theirs, unknown, f"is no item of {source}; are these scores of other data?"))
    return scores.loc[places.notna(), list(values)].set_axis(places.dropna().astype(int))


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


def _check_values(path: Path, scores: pd.DataFrame, metric: str) -> None:
    """BiasflowError for a value that is none of what the metric takes."""
    if SCORE not in scores:
        if metric in (*LOG_PROBABILITIES, *PROBABILITIES):
            raise BiasflowError(f"{path}: line 1: has log-likelihoods of pairs; {metric} takes one column {SCORE}")
        return
    if metric in LOG_PROBABILITIES:
        refuse(path, scores[SCORE].astype(str), scores[SCORE] > 0, ABOVE_0)
    if metric in PROBABILITIES:
        outside = (scores[SCORE] < 0) | (scores[SCORE] > 1)
        refuse(path, scores[SCORE].astype(str), outside, "is no probability from 0 to 1; give no logarithm")


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
