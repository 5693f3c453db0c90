"""The matrix: every method by every measure, for every encoder, task and strategy; a reason where a cell is empty."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import numpy as np
import pandas as pd

from biasflow.base.sample import SUFFIX, limit_of
from biasflow.matrix import RANDOM
from biasflow.methods.controls import control_of
from biasflow.registry import ALWAYS, COST, GIVEN, METRICS, WITH, Measure
from biasflow.results.comparison import (
    DISTANCE_CHANGED,
    DRAWN,
    DRAWS,
    ITEMS,
    SEEDS,
    Change,
    change,
    distance,
    has_width,
    smallest_seen,
    with_items,
)
from biasflow.results.draws import Beyond, beyond, draw_of, is_draw
from biasflow.results.scores import KEYS, MEASURE, NA, NONE
from biasflow.results.statistics import holm, split_interval, t_interval
from biasflow.results.tables import arranged

ROW = ["encoder", "task", "strategy", "method", "setting", "measure", "dataset", "head"]
VALUES = ["value", "n", "unit", "items", "items_least", "low", "high", "interval", "smallest_seen", "untouched"]
CHANGE = ["distance", "distance_untouched", "change_low", "change_high", "change_interval", "change_p"]  # of a Change
CHANGE_SEEN = "smallest_change_seen"
CONTROL = ["control", "draws", "beats", "control_low", "control_high", "control_p"]  # the last five of a Beyond
HELP = ["helps_p", "helps", "same_as"]
ABOUT = ["neutral", "better", "in_training", "beside", "caution", "untouched_caution", "reason", "note"]
COLUMNS = [*ROW, "label", "group", *VALUES, *CHANGE, CHANGE_SEEN, *CONTROL, *HELP, *ABOUT]
PLAIN = (NA, "plain", GIVEN)  # the strategies of an untouched model, pre-trained or fine-tuned
UNTRAINED = "untrained"  # what readers see of the training "random": for them "random" is the control alone
OWN = (NA, "own")  # the heads of a model as it was trained, if it has any
LEAST_ALIKE, ALIKE = 3, 0.1  # `_repeated`
LEAST_HELP = 0.1  # of the untouched distance from neutral: a method that takes away less does not help
UNDEFINED = "the score is not defined for these data (such as 0 / 0)"
_NOTED = ["encoder", "task", "strategy", "method", "measure", "dataset"]
SCORED = [key for key in ROW if key != "measure"]
_COMPARED = ["encoder", "task", "dataset", "head"]  # what a cell shares with that of its untouched model


def matrix(scores: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """Return the matrix: one row per cell, with the columns COLUMNS.

    value: mean over seeds of fine-tuning, splits, readouts and heads. n and unit: for how many seeds of the model it is
    defined, where there are several, otherwise how many items; items, items_least: how many in either case, with
    several seeds the most and the fewest that a seed has. low, high, and what that interval is over: three or more
    seeds (Student's t of their mean, with what the intervals over items add: `comparison.with_items`); otherwise items
    (the mean of the ends of the scores: as wide as theirs, since seeds are measured on the same items); of scores
    without such, three or more draws of a readout. smallest_seen, smallest_change_seen: the smallest distance from
    neutral, and change of it, that would have been seen (`comparison.smallest_seen`). untouched: the value of the
    untouched model over the same seeds (one without a seed stands beside all); NaN where it lacks one of them.
    distance, distance_untouched: of both from neutral; change_low, change_high: the interval of their difference,
    change_interval what it is over, and change_p its p (results.comparison.change). control: the control of a method
    that does best against it; draws: how many random draws this has, and beats: how many of them the method's distance
    lies below; control_low, control_high: the distance of a further draw (95 %), and control_p the p of the method as
    such a draw (results.draws). The row of a control itself has the mean of its draws. helps: "yes" for a method that
    is nearer to neutral than the untouched model and than the draws, by helps_p, which is corrected over all methods,
    and by LEAST_HELP or more (`_with_help`). same_as: the method whose changes a method repeats (`_repeated`). neutral:
    the value without bias or cost; better: "low", "high", or "neutral" for nearer to it. in_training: "yes" where the
    method was active in the training. beside: scores without which the value cannot be read; caution: what they say
    against it, and untouched_caution against that of the untouched model: then nothing is claimed
    (`overview.judgements`). reason: why a cell that was asked for has no value; note: the plan's, what a value does not
    say by itself.

    Rows are in the order of the plan, measures in that of the registry."""
    measured = _measured(scores)
    rows = pd.concat([_with_help(measured.assign(same_as=_repeated(measured))), _holes(plan)], ignore_index=True)
    plan = plan.assign(note=plan.get("note", ""))
    noted = _by_measure(plan[plan["note"] != ""]).drop_duplicates(_NOTED)[[*_NOTED, "note"]]
    rows = rows.drop(columns="note").merge(noted, "left", on=_NOTED).fillna({"note": ""}).reindex(columns=COLUMNS)
    known = {column: plan[column] for column in ROW if column in plan} | {"measure": [name for _, name in measures()]}
    rows = arranged(rows, **{column: [*known.get(column, ()), *sorted(rows[column])] for column in ROW})
    words = ["change_interval", "control", "helps", "same_as"]
    numbers = [*{"value", "low", "high", "untouched", *CHANGE, *CONTROL, *HELP, "neutral"}.difference(words)]
    rows = rows.astype(dict.fromkeys(["n", "items", "items_least"], "Int64") | dict.fromkeys(numbers, float))
    rows = rows.astype({"draws": "Int64", "beats": "Int64"})
    for seen, (low, high, over), neutral in (
        ("smallest_seen", ("low", "high", "interval"), rows["neutral"]),
        (CHANGE_SEEN, CHANGE[2:5], 0.0),
    ):
        units = rows["n"].astype(float).where(rows[over] == SEEDS, np.inf)
        is_seen = (rows[low] > neutral) | (rows[high] < neutral)  # of one that was seen the interval is another one
        rows[seen] = pd.Series(smallest_seen(rows[low], rows[high], units), rows.index).mask(is_seen)
    return rows


def with_reasons(cells: pd.DataFrame, reasons: pd.DataFrame) -> pd.DataFrame:
    """The matrix with the reasons that jobs found for single measures (results.scores.HOLES, whose metric is then the
    measure), in place of UNDEFINED."""
    keys = [key for key in ROW if key not in ("setting", "head")]
    told = reasons.rename(columns={"metric": "measure"}).drop_duplicates(keys).set_index(keys)["reason"]
    found = told.reindex(pd.MultiIndex.from_frame(cells[keys])).set_axis(cells.index)
    return cells.assign(reason=cells["reason"].mask((cells["reason"] == UNDEFINED) & found.notna(), found))


def measures() -> dict[tuple[str, str], Measure]:
    """(metric family, metric) -> its measure, in the order of the registry."""
    return {(family, name): measure for family, entry in METRICS.items() for name, measure in entry.measures.items()}


def by_rows() -> dict[tuple[str, str, str], Measure]:
    """Metric, part and variant of the scores that are a cell -> their measure. Scores do not say of which family they
    are, and a column of the matrix is a metric's name: measures of one name differ in part, variant, and what stands
    beside them alone."""
    return {row: measure for entry in METRICS.values() for row, measure in entry.rows().items()}


def of_measures(scores: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str], Measure, pd.DataFrame]]:
    """Each key of `by_rows` that has scores in a table, its measure, and these scores."""
    blocks = dict(list(scores.groupby(MEASURE)))
    for key, measure in by_rows().items():
        if key in blocks:
            yield key, measure, blocks[key]


def untouched_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of untouched models, pre-trained or fine-tuned, of a table of scores or of cells."""
    return table[(table["method"] == NONE) & table["strategy"].isin(PLAIN)]


def criticisms(measured: Collection[str]) -> list[str]:
    """The known weaknesses of the metrics of these measures, one sentence each, in the order of the registry."""
    said = [entry.criticism for entry in METRICS.values() if {*measured} & {*entry.measures}]
    return [f"{criticism}." for criticism in dict.fromkeys(filter(None, said))]


def limited(datasets: Iterable[str]) -> list[str]:
    """A sentence that says which of these datasets are samples by the key `limit`; none if all are whole."""
    names = [name for name in dict.fromkeys(datasets) if limit_of(name)]
    if not names:
        return []
    limits = min(map(limit_of, names), key=lambda limits: ("-" not in limits, limits))
    *of_data, last = limits.split("-")
    tuned = f" of a model that was fine-tuned on at most {of_data[0]}" if of_data else ""
    return [
        f"These datasets are samples (key limit), so intervals are wider than on all data: {', '.join(names)}. A "
        f"name that ends in {SUFFIX}{limits} has at most {last} items{tuned}."
    ]


def without_samples(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a matrix, of scores or of a plan without samples (key limit) of what the table also has whole: of the
    same measure of the same model, under any method."""
    keys = [table[key] for key in ("encoder", "task", "strategy", "measure" if "measure" in table else "metric")]
    datasets = table["dataset"].astype(str)
    names = datasets.str.split(SUFFIX).str[0]
    whole = {*zip(*keys, datasets, strict=True)}
    repeated = [row in whole for row in zip(*keys, names, strict=True)]
    return table[(names == datasets) | ~np.array(repeated, dtype=bool)]


def _measured(scores: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for (name, *reading), measure, of_measure in of_measures(scores):
        with_it = beside(of_measure, scores, measure)
        doubts = cautions(with_it, measure)
        untouched = dict(list(untouched_rows(of_measure).groupby(_COMPARED)))
        changed = scores[(scores[MEASURE] == [name + DISTANCE_CHANGED, *reading]).all(axis=1)]
        changed, draws = dict(list(changed.groupby(SCORED))), drawn_distances(of_measure, measure)
        all_draws = of_measure["setting"].mask(is_draw(of_measure), NA)  # a control has one row
        for keys, block in of_measure.assign(measure=name, setting=all_draws).groupby(ROW):
            row = dict(zip(ROW, keys, strict=True))
            scored = tuple(row[key] for key in SCORED)
            before = untouched.get(tuple(row[key] for key in _COMPARED))
            row["untouched"] = _over_seeds(before, block)
            ideal = measure.neutral, measure.better
            of_method = change(block, before, *ideal, changed.get(scored), noisy=measure.noisy)
            row |= dict(zip(CHANGE, of_method, strict=True))
            row |= _hardest(of_method, draws.get(scored, {}), block["seed"].unique())
            row["beside"] = in_words(with_it.loc[block.index])
            row["caution"] = why(doubts.loc[block.index], measure, block["seed"])
            row["untouched_caution"] = "" if before is None else why(doubts.loc[before.index], measure, before["seed"])
            active = "yes" if row["strategy"] == f"{WITH}{row['method']}" else "no"
            reason = "" if block["value"].notna().any() else UNDEFINED
            rows.append(row | _summary(block) | about_measure(measure) | {"in_training": active, "reason": reason})
    return pd.DataFrame(rows, columns=COLUMNS)


def controlled(strategy: str, method: str) -> tuple[str, str] | None:
    """The strategy and the method that a control stands beside: of a control in training the method in training. None
    of what is no control of a method."""
    of = control_of(method)
    return (WITH + of if strategy == WITH + method else strategy, of) if of else None


def drawn_distances(scores: pd.DataFrame, measure: Measure) -> dict[tuple[str, ...], dict[str, pd.DataFrame]]:
    """The distances from neutral under all draws of controls: keys of a method's scores (SCORED) -> control -> a row
    for each seed of the model, a column for each draw. scores: of one measure."""
    rows = pd.concat([scores, draw_of(scores)], axis=1)
    rows = rows[(rows["control"] != "") & rows["value"].notna()]
    of = {pair: controlled(*pair) or (NA, NA) for pair in {*zip(rows["strategy"], rows["method"], strict=True)}}
    methods = [of[pair] for pair in zip(rows["strategy"], rows["method"], strict=True)]
    rows = rows.assign(setting=rows["setting"].mask(is_draw(rows), NA))
    rows[["strategy", "method"]] = pd.DataFrame(methods, rows.index, ["strategy", "method"])
    of_draws = rows.groupby([*SCORED, "control", "seed", "draw"])["value"].mean()
    distances: dict[tuple[str, ...], dict[str, pd.DataFrame]] = {}
    tables = pd.Series(distance(of_draws, measure.neutral, measure.better), of_draws.index).unstack("draw")
    for (*keys, control), table in tables.groupby(level=[*SCORED, "control"]):
        distances.setdefault(tuple(keys), {})[control] = table.droplevel([*SCORED, "control"]).dropna(axis=1, how="all")
    return distances


def _hardest(of_method: Change, draws: Mapping[str, pd.DataFrame], seeds: Collection[str]) -> dict[str, object]:
    """Of a method's distance against the draws of each of its controls (on the same seeds) the comparison that speaks
    least for the method, of controls with enough draws if there are any."""
    against = {control: beyond_on(of_method, table, seeds) for control, table in draws.items()}
    if not against:
        return {"control": NA}
    name = max(against, key=lambda control: (not np.isnan(against[control].p), against[control].p))
    return dict(zip(CONTROL, (name, *against[name]), strict=True))


def beyond_on(of_method: Change, draws: pd.DataFrame, seeds: Collection[str]) -> Beyond:
    """`draws.beyond` of the draws that have all of the seeds; draws of a model without seeds stand beside all."""
    table = draws if list(draws.index) == [NA] else draws.reindex(list(seeds))
    return beyond(of_method.distance, table.dropna(axis=1).mean(), of_method.other)


def _repeated(rows: pd.DataFrame) -> list[str]:
    """For each row the earlier method of the same model that its method repeats, "" if there is none: that changes
    LEAST_ALIKE or more scores, and all of them by practically as much.

    That is, the changes differ by at most ALIKE of the larger ones (lengths of vectors), each in units of the largest
    change of the score that a method makes."""
    keys, score = ["encoder", "task", "strategy"], ["measure", "dataset", "head"]
    is_control = [control_of(name) is not None for name in rows["method"]]
    of_method = rows["method"].ne(NONE) & rows["setting"].eq(NA) & ~np.array(is_control, dtype=bool)
    changed = rows[of_method].assign(changed=(rows["value"] - rows["untouched"]).astype(float))
    repeated: dict[tuple[str, ...], str] = {}
    for model, of_model in changed.groupby(keys, sort=False):
        table = of_model.groupby(["method", *score], sort=False)["changed"].mean().unstack(score)
        table /= table.abs().max()
        for number, (name, changes) in enumerate(table.iterrows()):
            firsts = [other for other in table.index[:number] if (*model, other) not in repeated]
            alike = [other for other in firsts if _are_alike(changes, table.loc[other])]
            repeated |= {(*model, name): other for other in alike[:1]}
    return [repeated.get(of, "") for of in rows[[*keys, "method"]].itertuples(index=False, name=None)]


def _are_alike(changes: pd.Series, others: pd.Series) -> bool:
    both = changes.notna() & others.notna()
    length, other, apart = (np.linalg.norm(values[both]) for values in (changes, others, changes - others))
    return bool(both.sum() >= LEAST_ALIKE and max(length, other) > 0 and apart <= ALIKE * max(length, other))


def _with_help(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with helps_p and helps, which say whether a method brings a measure of bias nearer to neutral.

    helps_p: the larger of two p. That of the change from the untouched model, 1 if this is not LEAST_HELP of its
    distance, is corrected over the methods of the encoder and task for each measure; that of the method as a draw of
    its control over all its methods and measures (Holm, both): a page names a method that helps by any of them.
    Methods that repeat another one count once, by the largest p of them. helps: "yes" up to 0.05, otherwise "no". Both
    are absent (NaN, "") for what is no method (controls, single settings of a method), for a method whose control has
    fewer than draws.LEAST_DRAWS draws, for a sample of items that are also there whole, and where there is no bias to
    help: the score of the untouched model is not shown to be off neutral, or makes no claim (a caution, or off neutral
    in every model)."""
    family = ["measure", *_COMPARED]
    biased = _biased(rows)
    judged = (
        pd.MultiIndex.from_frame(rows[family]).isin(pd.MultiIndex.from_frame(biased[family]))
        & rows["caution"].eq("")
        & rows["untouched_caution"].eq("")
        & rows["group"].ne(COST)
        & rows["setting"].eq(NA)
        & rows["strategy"].ne(RANDOM)
        & rows["method"].ne(NONE)
        & rows["control_p"].notna()
        & rows.index.isin(without_samples(rows).index)
    )
    of_method = rows[[*family, "strategy"]].assign(method=rows["same_as"].where(rows["same_as"] != "", rows["method"]))
    once = judged & ~of_method.where(judged).duplicated()
    by_method = [of_method[key] for key in of_method]

    def corrected(p: pd.Series, over: list[str]) -> pd.Series:
        largest = p.where(judged).astype(float).groupby(by_method).transform("max")
        adjusted = largest.where(once).groupby([rows[key] for key in over]).transform(holm)
        return adjusted.groupby(by_method).transform("max").where(judged)

    enough = rows["distance"] <= (1 - LEAST_HELP) * rows["distance_untouched"]
    change_p = corrected(rows["change_p"].where(enough | rows["change_p"].isna(), 1.0), family)
    helps_p = np.maximum(change_p, corrected(rows["control_p"], ["encoder", "task"]))
    return rows.assign(helps_p=helps_p, helps=np.select([helps_p <= 0.05, helps_p.notna()], ["yes", "no"], ""))


def _biased(rows: pd.DataFrame) -> pd.DataFrame:
    """The cells of untouched models whose whole interval lies off neutral, of measures for which this shows a bias."""
    rows = untouched_rows(rows)
    rows = rows[has_width(rows["low"], rows["high"])]
    signed = [not is_unsigned(*pair) for pair in zip(rows["measure"], rows["interval"], strict=True)]
    return rows[((rows["low"] > rows["neutral"]) | (rows["high"] < rows["neutral"])) & np.array(signed, dtype=bool)]


def is_unsigned(measure: str, interval: str) -> bool:
    """Whether a measure with such an interval (items, seeds) lies off neutral for every model (registry.Measure)."""
    return next(entry.unsigned in (ALWAYS, interval) for (_, name), entry in measures().items() if name == measure)


def claimable(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores without those of bias that claim nothing, for what stands beside them (registry.Beside)."""
    doubtful: list[int] = []
    for _, measure, of_measure in of_measures(scores):
        if measure.beside and measure.group != COST:
            doubtful.extend(of_measure.index[cautions(beside(of_measure, scores, measure), measure).any(axis=1)])
    return scores.drop(index=doubtful)


def _over_seeds(untouched: pd.DataFrame | None, block: pd.DataFrame) -> float:
    """The mean of the untouched model over the seeds for which a block has values; NaN where one of them is missing."""
    if untouched is None:
        return float("nan")
    of_seed, seeds = _by_seed(untouched), _by_seed(block).index
    return float(of_seed.mean() if NA in of_seed else of_seed.reindex(seeds).mean(skipna=False))


def _by_seed(block: pd.DataFrame) -> pd.Series:
    return block[block["value"].notna()].groupby("seed")["value"].mean()


def _summary(block: pd.DataFrame) -> dict[str, object]:
    several = block["seed"].nunique() > 1
    block = block[block["value"].notna()] if block["value"].notna().any() else block
    seeds = block.groupby("seed")["value"].mean()
    over_items = block["low"].mean(skipna=False), block["high"].mean(skipna=False)
    intervals: dict[str, Callable[[], tuple[float, float]]] = {  # the first that there is
        SEEDS: lambda: with_items(float(seeds.mean()), t_interval(seeds.to_numpy()), over_items),
        ITEMS: lambda: over_items,
        DRAWS: lambda: split_interval(block.groupby(DRAWN)["value"].mean().to_numpy()),
    }
    existing = ((low, high, name) for name, ends in intervals.items() for low, high in [ends()] if not np.isnan(low))
    about = dict(zip(("low", "high", "interval"), next(existing, (np.nan, np.nan, NA)), strict=True))
    if several:  # also where the value of only one of them is defined
        sizes = {"items": block["n"].max(), "items_least": block["n"].min()}
        return {"value": seeds.mean(), "n": len(seeds), "unit": SEEDS, **sizes, **about}
    n = block["n"].max()
    return {"value": block["value"].mean(), "n": n, "unit": ITEMS, "items": n, "items_least": n, **about}


def about_measure(measure: Measure) -> dict[str, object]:
    """The columns of a table that say what a measure is."""
    return {name: getattr(measure, name) for name in ("label", "group", "neutral", "better")}


def _by_measure(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells of the plan, once for every strategy, a row for each measure of their metric."""
    known = [{"metric": family, "measure": name} | about_measure(about) for (family, name), about in measures().items()]
    cells = cells.drop_duplicates(["encoder", "task", "strategy", "method", "metric", "dataset"])
    return cells.merge(pd.DataFrame(known), on="metric")


def _holes(plan: pd.DataFrame) -> pd.DataFrame:
    """The cells of the plan that cannot run, with the reason."""
    absent = _by_measure(plan[plan["status"] != "run"])
    in_training = (absent["strategy"] == WITH + absent["method"]) & (absent["method"] != NONE)
    blank = dict.fromkeys(["beside", "caution", "untouched_caution"], "")
    absent = absent.assign(setting=NA, head=NA, in_training=in_training.map({True: "yes", False: "no"}), **blank)
    return absent.reindex(columns=COLUMNS)


def beside(rows: pd.DataFrame, scores: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """Return the scores that stand beside each of the rows (scores of `measure`), from the table of scores: a column
    for each, by its label, NaN where there is none; the index is that of the rows."""
    columns = {}
    for other in measure.beside:
        wanted = {key: getattr(other, key) for key in MEASURE if getattr(other, key) is not None}
        same = [key for key in KEYS if key not in wanted and not (other.any_dataset and key == "dataset")]
        chosen = pd.concat([scores[key] == value for key, value in wanted.items()], axis=1).all(axis=1)
        values = scores[chosen].groupby(same)["value"].max()
        columns[other.label] = values.reindex(pd.MultiIndex.from_frame(rows[same])).to_numpy(float)
    return pd.DataFrame(columns, index=rows.index, columns=[other.label for other in measure.beside], dtype=float)


def cautions(values: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """Return where a score beside a measure (`beside`) forbids it to claim anything: a column for each, True there."""
    doubts = {
        other.label: (values[other.label] >= other.most) | (values[other.label] < other.least)
        for other in measure.beside
    }
    return pd.DataFrame(doubts, index=values.index, columns=[other.label for other in measure.beside], dtype=bool)


def in_words(values: pd.DataFrame) -> str:
    """The means of what stands beside a cell: "parity 1.000, called neutral 0.001"."""
    means = values.drop(columns="", errors="ignore").mean().dropna()
    return ", ".join(
        f"{label} {mean:.3f}" if abs(mean) >= 0.001 else f"{label} {mean:.1g}" for label, mean in means.items()
    )


def why(doubts: pd.DataFrame, measure: Measure, seeds: pd.Series) -> str:
    """Why a cell claims nothing, from the `cautions` of its scores and their seeds; "" where it may."""
    said = []
    for other in measure.beside:
        at = doubts[other.label]
        if at.any():
            some, n = seeds[at].nunique(), seeds.nunique()
            said.append(other.why + (f" ({some} of {n} seeds)" if n > 1 else ""))
    return "; ".join(said)
