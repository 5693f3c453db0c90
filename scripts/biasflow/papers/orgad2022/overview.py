"""Table 1, both halves: every model's intrinsic and extrinsic bias in one row."""

import re
from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from biasflow.papers.frames import RUN, Run, status
from biasflow.papers.orgad2022 import halves
from biasflow.papers.orgad2022.runs import (
    BASELINES,
    MEASURE,
    NONE,
    PROBED_ON,
    Selection,
    ceat_runs,
    coded,
    compression_runs,
    encoders_of,
    of_all_models,
    printed_values,
    select,
    with_all,
)
from biasflow.papers.orgad2022.stages import LEVEL, compare, comparisons
from biasflow.results.tables import arranged

CHANCE = 0.05  # how far from 1 the compression of random labels may be
_KEY = ["encoder", "model", "text"]


def table1(run: Run) -> pd.DataFrame:
    """Return all measures with a row per encoder, model (random, pretrained, the strategies) and test input (setting).

    The caption in paper.yaml says what the columns are; `measures_not_run` is what an encoder lacks, and why. CEAT is
    C6, or the first test that the run has; compression is that of the first of `Selection.probe_data`, and
    in short that of the others. CEAT has no test input and stands in the row of raw texts. BiasflowError
    naming encoder and strategy for a hole in the scores."""
    return _overview(run, halves.OCCUPATION)


def table1b(run: Run) -> pd.DataFrame:
    """Return `table1` for coreference, with one test input."""
    return _overview(run, halves.COREFERENCE)


def _overview(run: Run, half: halves.Half) -> pd.DataFrame:
    chosen = select(run, half)
    probed = of_all_models(lambda stage: compression_runs(chosen, stage))
    labels = coded(probed, *_KEY, *MEASURE).rename("coded").reset_index()
    measured = {
        halves.COMPRESSION: compare(probed).merge(labels, on=[*_KEY, *MEASURE], how="left", validate="one_to_one"),
        halves.CEAT: _ceat(chosen),
        halves.BEFORE: comparisons(chosen, halves.BEFORE, half.in_overview),
        halves.AFTER: comparisons(chosen, halves.AFTER, half.in_overview),
    }
    numbers = ["1", *(half.printed_in[stage] for stage in (halves.BEFORE, halves.AFTER))]
    printed = printed_values(run, half, *numbers)
    printed = printed[(printed["metric"] != halves.CEAT_EFFECT) | (chosen.ceat_test == halves.CEAT_PRINTED)]
    in_print = dict(list(printed.groupby("table")))
    table = _rows(chosen, [*measured.values(), *in_print.values()])
    rows = pd.MultiIndex.from_frame(table)

    def rows_of(measure: halves.Measure, frame: pd.DataFrame) -> pd.DataFrame:
        matching = frame[(frame["metric"] == measure.metric) & (frame["variant"] == measure.variant)]
        return matching.set_index(_KEY).reindex(rows).reset_index(drop=True)

    def beside(name: str, measure: halves.Measure, source: str, number: str) -> dict[str, object]:
        """The columns of a measure, with the values of a printed table."""
        ours, theirs = rows_of(measure, measured[source]), rows_of(measure, in_print[number])
        # No deviations are printed in table 1; that of compression stands in table 3 or 7, that of CEAT nowhere.
        spread = rows_of(measure, in_print[numbers[1]])["sd"] if number == "1" else theirs["sd"]
        difference = ours["mean"] - theirs["value"]
        # A printed star of the model that is not debiased compares it with nothing.
        stars = zip(ours["star"], theirs["star"].mask(table["model"] == NONE), strict=True)
        return {
            name: ours["mean"],
            f"{name}_published": theirs["value"],
            f"{name}_difference": difference,
            f"{name}_difference_in_printed_sd": difference / spread.where(spread > 0),
            f"{name}_sd": ours["sd"],
            f"{name}_stars": [_who(*pair) for pair in stars],
        }

    counts = rows_of(halves.CEAT_MEASURE, measured[halves.CEAT])
    ceat = beside("ceat", halves.CEAT_MEASURE, halves.CEAT, "1")
    ceat.pop("ceat_difference_in_printed_sd")
    truncated = chosen.rows[chosen.rows["metric"] == "truncated"].groupby(["encoder", "model"])["value"].mean()
    models = list(zip(table["encoder"], table["model"], strict=True))
    ran = {model for frame in measured.values() for model in zip(frame["encoder"], frame["model"], strict=True)}
    without = {model: status(chosen.lacking(*model, halves.BEFORE, chosen.scored)) for model in {*models} - ran}
    table = table.rename(columns={"text": "setting"}) if len(half.inputs) > 1 else table.drop(columns="text")
    return table.assign(
        probe_data=chosen.probe_data[0],
        **beside("compression", halves.mixed(chosen.probe_data[0]), halves.COMPRESSION, "1"),
        **_compression_columns(chosen.probe_data, lambda measure: rows_of(measure, measured[halves.COMPRESSION])),
        **ceat,
        ceat_significant=counts["significant"].astype("Int64"),
        ceat_seeds=counts["seeds"].astype("Int64"),
        **{
            column: values
            for stage in (halves.BEFORE, halves.AFTER)
            for measure in half.in_overview
            for column, values in beside(f"{stage}_{_name(measure)}", measure, stage, half.printed_in[stage]).items()
        },
        ceat_test=chosen.ceat_test,
        truncated=truncated.reindex(models).to_numpy(),
        diverged=[chosen.diverged_seeds(*key) for key in models],
        status=[without.get(model, RUN) for model in models],
        measures_not_run=[_missing(chosen, name, measured) for name in table["encoder"]],
    )


def _name(measure: halves.Measure) -> str:
    """The column of a measure: "TPR gap (P)" -> "tpr_gap_p"."""
    return "_".join(re.findall(r"\w+", measure.label.lower()))


def _compression_columns(
    probe_data: Sequence[str], rows_of: Callable[[halves.Measure], pd.DataFrame]
) -> dict[str, pd.Series]:
    """Labels, bits and control of the compression of the first data; of the others mean, deviation and labels."""
    data, *others = probe_data
    in_bits, at_random = rows_of(halves.bits(data)), rows_of(halves.control(data))["mean"]
    columns = {
        "compression_coded": rows_of(halves.mixed(data))["coded"].astype("Int64"),
        "compression_bits": in_bits["mean"],
        "compression_bits_sd": in_bits["sd"],
        "control_compression": at_random,
        "control_at_chance": (at_random - 1).abs().le(CHANCE).astype("boolean").mask(at_random.isna()),
    }
    for other in others:
        name, values = f"compression_{other}".replace("-", "_"), rows_of(halves.mixed(other))
        columns |= {name: values["mean"], f"{name}_sd": values["sd"], f"{name}_coded": values["coded"].astype("Int64")}
    return columns


def _rows(chosen: Selection, frames: list[pd.DataFrame]) -> pd.DataFrame:
    """The rows of table 1: every model that an encoder has scores or printed values of, raw test input first."""
    encoders = encoders_of(chosen)
    keys = pd.concat([frame[_KEY] for frame in frames]).drop_duplicates()
    keys = keys[keys["encoder"].isin(encoders)]
    keys = with_all(keys, encoders).fillna("")
    models = [*BASELINES, *chosen.models, *PROBED_ON]
    return arranged(keys, encoder=encoders, model=models, text=chosen.half.inputs)[_KEY]


def _ceat(chosen: Selection) -> pd.DataFrame:
    """`compare` of effect sizes, and how many of the `seeds` have p < LEVEL (`significant`)."""
    runs = of_all_models(lambda stage: ceat_runs(chosen, chosen.ceat_test, stage))
    p = runs[runs["metric"] == halves.CEAT_P].dropna(subset="value")
    counts = (p["value"] < LEVEL).groupby([p["encoder"], p["model"]]).agg(significant="sum", seeds="count")
    table = compare(runs[runs["metric"] == halves.CEAT_EFFECT]).merge(counts.reset_index(), on=_KEY[:2], how="left")
    return table.assign(text=halves.RAW)


def _who(ours: object, theirs: object) -> str:
    """Which of the two has p < 0.05: "ours", "published", "both" or "neither"; "" without a test."""
    stars = [name for name, star in (("ours", ours), ("published", theirs)) if star == "yes"]
    if len(stars) == 2:
        return "both"
    tested = {ours, theirs} & {"yes", "no"}
    return stars[0] if stars else "neither" if tested else ""


def _missing(chosen: Selection, encoder: str, measured: Mapping[str, pd.DataFrame]) -> str:
    """The measures that an encoder lacks, with reasons; "" for an encoder that was not run at all."""
    if encoder not in chosen.scored:
        return ""
    absent = [name for name, frame in measured.items() if encoder not in set(frame["encoder"])]
    return "; ".join(f"{name}: {chosen.reason(encoder, name)}" for name in absent)
