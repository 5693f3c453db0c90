"""The values to judge: every measure of the encoders with a dose, and the same of occupations that were trained on or
held out."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import read_parquet
from biasflow.metrics import bec_pro, winogender
from biasflow.metrics.log_odds import agreement
from biasflow.metrics.occtmp import occtmp
from biasflow.papers.frames import Run
from biasflow.registry import INSIDE, METRICS, Measure
from biasflow.results.bootstrap import RESAMPLED
from biasflow.results.changes import ITEMS
from biasflow.results.evidence import ALL, HELD_OUT
from biasflow.results.scores import KEYS as SCORE
from biasflow.results.scores import MEASURE, NONE
from biasflow.results.tables import arranged
from biasflow.studies.calibrated.plan import calibrated_encoders
from biasflow.studies.judge import given_values, item_variance, with_doses
from biasflow.studies.measures import Judged

CONTROL = "control"  # the group of rows that are no measures: they show whether the encoder learnt what was planted
SEEN = "seen"  # occupations that the text is about
KEYS = ["measure", "group", "sign", "occupations", "bias", "seed"]
TEXTS = "typical gender in the texts"
LOG_ODDS = Judged(Measure("log-odds", "log p(she) - log p(he) of an occupation", 0, "neutral", INSIDE), "occtmp")
GENERAL = "log-odds mean"  # the preference for "she" over "he" whatever the occupation is
LEAST_OCCUPATIONS = 4  # of a part; a correlation of fewer says nothing


def measured(run: Run) -> pd.DataFrame:
    """A row per measure, set of occupations, dose and seed: KEYS, value, error, the variance that the items leave in
    the value (that of its 95 % interval; NaN where it has none), and the RESAMPLED values of the same items, drawn
    alike for all encoders (NaN where there are none). bias: the dose; NaN for the encoder before."""
    parts = [_texts(run), _scores(run), _by_occupations(run)]
    parts += [given_values(run, _models(run)).assign(occupations=ALL)] if run.options.get("given") else []
    values = pd.concat(parts, ignore_index=True)[[*KEYS, "value", "error", RESAMPLED]]
    return arranged(values, measure=values["measure"], **dict.fromkeys(KEYS[1:]))


def _models(run: Run) -> dict[str, tuple[float, float]]:
    """Encoder -> its dose and seed; NaN for the encoder before."""
    return {run.options["encoder"]: (np.nan, np.nan), **calibrated_encoders(run.options)}


def _texts(run: Run) -> pd.DataFrame:
    """How much likelier the encoder finds the typical gender in the texts, in nats per gendered word, of the texts that
    it was trained on (seen) and of the others (held out): the mean over the occupations that are typical of women and
    the mean over those typical of men count half each, so that a general preference for one gender cancels out."""
    rows, models = [], _models(run)
    for encoder, path in run.files["units"].items():
        units = pd.read_csv(path)
        for part, chosen in ((SEEN, units["times"] > 0), (HELD_OUT, units["times"] == 0)):
            keys, columns = ["stereotype", "occupation"], ["preference_before", "preference_after"]
            means = units[chosen].groupby(keys)[columns].mean().groupby("stereotype").mean().mean()
            about = {"measure": TEXTS, "group": CONTROL, "sign": 1, "occupations": part, "error": np.nan}
            for when, (dose, seed) in (("before", models[run.options["encoder"]]), ("after", models[encoder])):
                rows.append(about | {"bias": dose, "seed": seed, "value": means[f"preference_{when}"]})
    return pd.DataFrame(rows).groupby(KEYS, dropna=False, sort=False).mean().reset_index()


def _scores(run: Run) -> pd.DataFrame:
    """The measures of all items, a row per dataset."""
    models, scores, limited = _models(run), run.scores, f"-limit{run.options['limit']}"
    scores = scores[scores["encoder"].isin(models) & (scores["method"] == NONE)]
    tables, metrics = [], run.options["metrics"]
    times = Counter(name for metric in metrics for name in METRICS[metric].measures)
    for metric in metrics:
        for name, measure in METRICS[metric].measures.items():
            judged = Judged(measure, metric)
            rows = scores[(scores["metric"] == name) & (scores["part"] == measure.part)]
            variants = (form for form in (measure.variant, *measure.or_variants) if (rows["variant"] == form).any())
            rows = rows[rows["variant"] == next(variants, None)]
            is_sample = rows["dataset"].str.endswith(limited)
            sampled = set(rows.loc[is_sample, "dataset"].str.removesuffix(limited))
            rows = rows[~rows["dataset"].isin(sampled)]  # another block may have all items of the encoder before
            datasets = rows["dataset"].str.removesuffix(limited)
            several = datasets.nunique() > 1 or times[name] > 1
            labels = f"{judged.name} (" + datasets + ")" if several else judged.name
            about = {"measure": labels, "group": measure.group, "sign": judged.sign, "occupations": ALL}
            tables.append(rows.assign(**about, error=item_variance(rows)))
    values = pd.concat(tables, ignore_index=True).merge(_resampled(run)[[*SCORE, RESAMPLED]], "left", on=SCORE)
    values = with_doses(values, models)
    if values.empty:
        raise BiasflowError("calibration: none of the metrics could be measured; see plan.csv for the reasons")
    means = {"value": "mean", "error": "mean", RESAMPLED: lambda arrays: sum(arrays) / len(arrays)}
    return values.groupby(KEYS, dropna=False, sort=False).agg(means).reset_index()


def _resampled(run: Run) -> pd.DataFrame:
    """The resamples of the scores of all items, of measures whose items are the same in all encoders."""
    tables = [read_parquet(path) for path in run.files.get("resamples", {}).values()]
    rows = pd.concat([pd.DataFrame(columns=[*SCORE, ITEMS, RESAMPLED]), *tables])
    return rows[rows.groupby([*MEASURE, "dataset"])[ITEMS].transform("nunique") == 1]


def is_seen(occupations: pd.Series, trained: set[str]) -> pd.Series:
    """Whether the name of an occupation holds one that was trained on, as whole words: registered nurse, nurse."""
    return occupations.map(lambda name: any(f" {occupation} " in f" {name} " for occupation in trained))


def _by_occupations(run: Run) -> pd.DataFrame:
    """The measures of single occupations, of those that were trained on and of the others."""
    units = pd.read_csv(next(iter(run.files["units"].values()))).drop_duplicates("occupation")
    trained, rows = dict(zip(units["occupation"].str.replace("_", " "), units["share_of_women"], strict=True)), []
    for encoder, (dose, seed) in _models(run).items():
        tables = {}  # of the items of a dataset, of all or limited
        for key, path in run.files.get("masked_words", {}).items():
            if key.startswith(f"{encoder}/"):
                table = read_parquet(path)
                tables[key.removeprefix(f"{encoder}/").partition("-limit")[0]] = table[table["method"] == NONE]
        rows += [(*about, dose, seed, value, np.nan) for *about, value in _of_parts(tables, trained)]
    numbers = dict.fromkeys(["bias", "seed", "value", "error"], float)  # also where no metric asked for has occupations
    return pd.DataFrame(rows, columns=[*KEYS, "value", "error"]).astype(numbers)


def _of_parts(tables: dict[str, pd.DataFrame], trained: dict[str, float]) -> Iterator[tuple]:
    """Measure, group, sign, seen or held out, and value, of one encoder. tables: untouched readouts by dataset."""
    for name in [name for name in PARTS if name in tables]:
        metric, column, values_of = PARTS[name]
        seen = is_seen(tables[name][column], set(trained))
        judged = [Judged(measure, metric) for measure in METRICS[metric].measures.values() if measure.group == INSIDE]
        for (part, rows), one in product(((SEEN, tables[name][seen]), (HELD_OUT, tables[name][~seen])), judged):
            enough = rows[column].nunique() >= LEAST_OCCUPATIONS
            yield one.name, INSIDE, one.sign, part, values_of(rows) if enough else np.nan
    if "professions" in tables and "winogender" in tables:
        others = tables["winogender"].drop_duplicates("occupation").set_index("occupation")["bls"]
        others = others[~is_seen(others.index.to_series(), set(trained))]
        odds = _log_odds(tables["professions"])
        yield GENERAL, CONTROL, 0, ALL, odds.mean()
        for part, shares in ((SEEN, pd.Series(trained)), (HELD_OUT, others)):
            shares = shares[shares.between(0, 1, inclusive="neither")]
            both = pd.concat([odds, shares], axis=1, join="inner")
            result = agreement(*both.to_numpy().T) if len(both) >= LEAST_OCCUPATIONS else None
            for field in ("r", "slope"):
                yield f"{LOG_ODDS.name} {field}", INSIDE, 1, part, getattr(result, field, np.nan)


def _log_p(table: pd.DataFrame) -> pd.DataFrame:
    """log p by occupation and gender, in nats."""
    return table.pivot_table(index="item", columns="gender", values="log_p", aggfunc="sum")


def _log_odds(table: pd.DataFrame) -> pd.Series:
    """log p(she) - log p(he) by occupation, in nats."""
    return _log_p(table).eval("feminine - masculine")


def _occtmp(rows: pd.DataFrame) -> float:
    return occtmp(_log_p(rows)["masculine"], _log_p(rows)["feminine"]).diff


def _summarised(summary: Callable[[pd.DataFrame], pd.DataFrame], **keys: str) -> Callable:
    def value(rows: pd.DataFrame) -> float:
        scores = summary(rows)
        return float(scores.loc[(scores[[*keys]] == pd.Series(keys)).all(axis=1), "value"].iloc[0])

    return value


_WINOGENDER = {"metric": "winogender_r", "part": "occupation", "variant": "bls"}
# Dataset -> its metric, the column of its items that names the occupation, and how its measure is computed of some.
PARTS = {
    "professions": ("occtmp", "item", _occtmp),
    "bec-pro-english": ("bec_pro", "profession", _summarised(bec_pro.summary, metric="bec_pro_interaction")),
    "winogender": ("winogender", "occupation", _summarised(winogender.summary, **_WINOGENDER)),
}
