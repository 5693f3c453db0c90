"""A half of the paper in a run: the rows of its models in the table of scores, the labels of the models, scores by seed
and head, the points that correlations and figures are made of, and the printed values.

A row of a selection is a score: encoder, model (its label in the tables: "none", "oversampling" ... for fine-tuned
encoders, "pretrained", "random"), stage (whose score it is), text (the test input, "raw" or "scrubbed"; "" without
one), seed, head_seed, dataset, metric, variant (with the part; "" without either), value, n, and whether the
fine-tuning was lost."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import pandas as pd

from biasflow.corpora.seat import DENSRAY_TESTS
from biasflow.papers.frames import NOT_ASKED, RUN, Run, wide
from biasflow.papers.orgad2022 import halves
from biasflow.papers.paper import load
from biasflow.papers.rows import LABEL_OF_STRATEGY, of_our_encoders, same_encoders
from biasflow.planted.association import PLANTED
from biasflow.registry import PLAIN, STRATEGIES, WITH
from biasflow.results.scores import NA
from biasflow.results.scores import NONE as UNTOUCHED
from biasflow.results.tables import merge_published

NONE = STRATEGIES[PLAIN].label  # the model that all others are compared with
BASELINES = (halves.RANDOM, halves.PRETRAINED)  # models without fine-tuning, in the order of the tables
NO_SCORES = "the run has no defined value of it"
_FINE_TUNING = ["encoder", "task", "strategy", "seed"]


@dataclass(frozen=True, eq=False)
class Selection:
    """The rows of a half of the paper in a run, its encoders (those with scores first), and its models without
    BASELINES.

    models: label -> the text that it is trained on, and probed on in correlations, in the order of tables and figures;
    diverged: (encoder, model) -> the seeds whose fine-tuned encoder learned nothing, in numerical order."""

    run: Run
    half: halves.Half
    rows: pd.DataFrame
    encoders: list[str]
    models: Mapping[str, str]
    diverged: Mapping[tuple[str, str], list[str]]

    @cached_property
    def scored(self) -> set[str]:
        """The encoders that have a score of this half."""
        return set(self.rows["encoder"])

    @cached_property
    def ceat_tests(self) -> list[str]:
        """The paper's tests that the run has (C6, C7, C8, or the planted one), without a user's and limited ones."""
        datasets = set(self.rows.loc[self.rows["metric"] == halves.CEAT_EFFECT, "dataset"])
        return [name for name in (*DENSRAY_TESTS, PLANTED) if name in datasets]

    @property
    def ceat_test(self) -> str:
        """The test that tables 1, 2 and 6 show: the first."""
        return self.ceat_tests[0] if self.ceat_tests else halves.CEAT_PRINTED

    @cached_property
    def probe_data(self) -> list[str]:
        """The readings of the probe's data that the run has: those of the printed values first."""
        in_run = set(self.rows.loc[self.rows["metric"] == halves.COMPRESSION_VALUE, "variant"].map(halves.data_of))
        return [data for data in self.half.probe_data if data in in_run] or [*self.half.probe_data[:1]]

    @property
    def inputs(self) -> list[str]:
        """The readings of what a scrubbed model is tested on, that of the printed values first."""
        in_run = set(self.rows.loc[self.rows["stage"].isin([halves.BEFORE, halves.AFTER]), "text"])
        return [text for text in (halves.RAW, halves.SCRUBBED) if text in in_run] or [halves.RAW]

    def diverged_seeds(self, encoder: str, model: str) -> str:
        """The seeds that were left out, as tables name them: "seeds 3, 7", "" for none."""
        seeds = self.diverged.get((encoder, model), [])
        return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}" if seeds else ""

    def reason(self, encoder: str, lacked: str = "", model: str = "") -> str:
        """Return why a model lacks "compression", "ceat", another metric of the registry, or those of stage "before",
        "after" or "frozen".

        An encoder without any score lacks them all for one reason, the first of the plan."""
        options, task = self.run.options, self.run.options.get(self.half.task)
        if task is None:
            return f"papers.orgad2022.{self.half.task} names no task"
        if encoder not in named_encoders(options, self.half.encoders):
            return f"it is not in papers.orgad2022.{self.half.encoders}"
        if model and model not in (*BASELINES, *self.models):
            return NOT_ASKED
        names, seeds = options[self.half.strategies], options["seeds"]
        cells = {"training": [f"{task}/{name}/seed{seed}" for name in names for seed in seeds]}
        metrics = [*self.half.scored_by, halves.COMPRESSION, halves.CEAT]
        if encoder in self.scored:
            metrics = [lacked] if lacked in metrics else [*self.half.scored_by]
            cells |= {"training": halves.PRETRAINED} if lacked == halves.FROZEN else {}
        return self.run.reason(encoder=encoder, metric=metrics, **cells) or NO_SCORES

    def lacking(self, encoder: str, model: str, lacked: str, encoders: Collection[str]) -> str:
        """`reason` for the row of a model in a table that has rows of these `encoders`: of them the baselines that
        have none were not asked for."""
        return NOT_ASKED if encoder in encoders and model not in self.models else self.reason(encoder, lacked)

    def no_points(self, encoder: str, intrinsic: str = halves.COMPRESSION) -> str:
        """Return why nothing can be correlated with an intrinsic measure of an encoder, "compression" or "ceat"."""
        rows = self.rows[(self.rows["encoder"] == encoder) & self.rows["stage"].isin([halves.BEFORE, halves.AFTER])]
        if len(rows) and rows["lost"].all():
            return "the fine-tuning of all models diverged"
        return self.reason(encoder, intrinsic if len(rows) else halves.BEFORE)


@lru_cache(maxsize=2)  # all tables and figures are made of the same, of each half
def select(run: Run, half: halves.Half) -> Selection:
    """Select the rows of the encoders, task, strategies, seeds and methods that the paper's options name.

    Options: seeds, and the half's task, encoders and strategies; random_encoders (their seeds; absent or null: `seeds`)
    and methods (absent: none). Without a task (absent or null) there are neither rows nor models."""
    options = run.options
    task = options.get(half.task)
    models = _models(options, half)
    named = named_encoders(options, half.encoders)
    rows = run.scores[run.scores["encoder"].isin(named)]
    rows = rows.merge(models, on=["task", "strategy", "method", "head"])
    random = options["seeds"] if options.get("random_encoders") is None else options["random_encoders"]
    seed = rows["seed"].where(rows["seed"] != NA, rows["split_seed"])  # what has none of its own is told apart by this
    listed = seed.isin([NA, *map(str, options["seeds"])])
    listed = listed.where(rows["stage"] != halves.RANDOM, seed.isin(map(str, random)))
    listed |= rows["stage"] == halves.FROZEN  # the task has seeds of their own for them
    text = rows["dataset"].map({f"{task}-{end}": text for end, text in half.texts.items()})
    of_texts = {measure.metric for measure in half.measures} | {halves.CONTROL_VALUE, halves.UNDEFINED}
    listed &= text.notna() | ~rows["metric"].isin(of_texts)  # an encoder before fine-tuning reads those of all
    reading = rows[["variant", "part"]].replace(NA, "")
    rows = rows.assign(
        seed=seed,
        text=text,
        variant=(reading["variant"] + " " + reading["part"]).str.strip(),
        model=rows["label"] + (" " + rows["setting"]).where(rows["setting"] != NA, ""),
    )[listed]
    rows[[*_RUN, "text"]] = rows[[*_RUN, "text"]].fillna("").replace(NA, "")
    facts = rows[(rows["metric"] == "diverged") & (rows["value"] == 1)]
    rows["lost"] = pd.MultiIndex.from_frame(rows[_FINE_TUNING]).isin(pd.MultiIndex.from_frame(facts[_FINE_TUNING]))
    lost = rows[rows["lost"]].groupby(["encoder", "model"])["seed"]

    # The settings of a grid are models of their own, which the scores tell.
    tuned = models[models["stage"] == halves.FINETUNED].set_index("label")["text"]
    models_by_label = rows.groupby("label")["model"].unique()
    encoders = sorted(set(rows["encoder"]))
    return Selection(
        run,
        half,
        rows,
        encoders=[*encoders, *(name for name in named if name not in encoders)],
        models={model: text for label, text in tuned.items() for model in sorted(models_by_label.get(label, [label]))},
        diverged={key: sorted(set(seeds), key=in_order) for key, seeds in lost},
    )


def named_encoders(options: Mapping[str, object], key: str) -> list[str]:
    """The encoders that an option names; all `encoders` if it is absent or null."""
    names = options.get(key)
    return options["encoders"] if names is None else names


def in_order(seed: str) -> str:
    """Return a key that sorts seeds as numbers: "5" before "11"."""
    return seed.zfill(20)


def _models(options: Mapping[str, object], half: halves.Half) -> pd.DataFrame:
    """The models of a half by their keys in the table of scores: task, strategy, method, head -> stage, label, text."""
    task, strategies = (options.get(name) for name in (half.task, half.strategies))
    rows = [
        (NA, halves.RANDOM, UNTOUCHED, NA, halves.RANDOM, halves.RANDOM, halves.RAW),
        (NA, NA, UNTOUCHED, NA, halves.PRETRAINED, halves.PRETRAINED, halves.RAW),
    ]
    heads = {"own": halves.BEFORE, "retrained": halves.AFTER, NA: halves.FINETUNED}
    places = {name: place for place, name in enumerate(STRATEGIES)}
    for strategy in sorted(strategies or (), key=lambda name: places.get(name, len(places))):
        known = STRATEGIES.get(strategy)  # none of a method in training, which is part of the model
        name, text = (known.label, known.text) if known else (strategy, halves.RAW)
        for method in options.get("methods", [UNTOUCHED]) if known else [strategy.removeprefix(WITH)]:
            alone = method == UNTOUCHED or not known
            label = name if alone else method if strategy == PLAIN else f"{name}, {method}"
            rows += [(task, strategy, method, head, stage, label, text) for head, stage in heads.items()]
        if halves.FROZEN in half.printed_in:
            rows.append((NA, NA, UNTOUCHED, f"frozen-{strategy}", halves.FROZEN, name, text))
    return pd.DataFrame(rows if task else [], columns=["task", "strategy", "method", "head", "stage", "label", "text"])


MEASURE, CELL, POINT = ["metric", "variant"], ["model", "text"], ["encoder", "model", "seed"]
_RUN = ["seed", "head_seed", "readout_seed"]


def extrinsic_runs(chosen: Selection, stage: str) -> pd.DataFrame:
    """The scores of the task itself at a stage, "before", "after" or "frozen", with `undefined_cells`.

    Columns: encoder, CELL, seed, head_seed, MEASURE, value and n; values of diverged encoders are NaN."""
    half = chosen.half
    keys = {measure.key for measures in half.scored_by.values() for measure in measures}
    keys |= {half.undefined(measure) for measure in half.bias}
    return _of_stage(chosen.rows[pd.MultiIndex.from_frame(chosen.rows[MEASURE]).isin(keys)], stage)


def compression_runs(chosen: Selection, stage: str = halves.FINETUNED) -> pd.DataFrame:
    """Compression of gender in all variants, and of random labels, as means over probe seeds; as `extrinsic_runs`.

    n counts the labels that are coded. `stage`: "finetuned", "pretrained" or "random"."""
    rows = chosen.rows[chosen.rows["metric"].isin([halves.COMPRESSION_VALUE, halves.CONTROL_VALUE])]
    rows = rows[rows["variant"].map(halves.data_of).isin(chosen.probe_data)]
    keys = ["encoder", *CELL, "seed", "head_seed", *MEASURE]
    return _of_stage(rows, stage).groupby(keys, as_index=False, sort=False)[["value", "n"]].mean()


def coded(runs: pd.DataFrame, *keys: str) -> pd.Series:
    """Return how many labels the probe coded, by `keys`: means over `compression_runs`, NaN if the scores do not
    say."""
    return runs[runs["metric"] == halves.COMPRESSION_VALUE].groupby([*keys])["n"].mean().round()


def with_coded(chosen: Selection, table: pd.DataFrame) -> pd.DataFrame:
    """Return `table` (encoder, intrinsic_variant) with the number of labels that the probe `coded` for fine-tuned
    models."""
    labels = coded(compression_runs(chosen), *(keys := ["encoder", "variant"]))
    named = pd.MultiIndex.from_frame(table[["encoder", "intrinsic_variant"]], names=keys)
    return table.assign(coded=labels.reindex(named).to_numpy(dtype=float)).astype({"coded": "Int64"})


def ceat_runs(
    chosen: Selection,
    test: str,
    stage: str = halves.FINETUNED,
    *,
    metrics: Collection[str] = (halves.CEAT_EFFECT, halves.CEAT_P),
    variants: Collection[str] = (halves.CEAT_VARIANT,),
) -> pd.DataFrame:
    """These metrics of one CEAT test in these variants; n counts draws. As `extrinsic_runs`."""
    rows = chosen.rows
    rows = rows[(rows["dataset"] == test) & rows["metric"].isin(metrics) & rows["variant"].isin(variants)]
    return _of_stage(rows, stage)


def of_all_models(runs_of: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """Return the runs that `runs_of` gives for fine-tuned encoders and for BASELINES."""
    return pd.concat([runs_of(stage) for stage in (halves.FINETUNED, *BASELINES)], ignore_index=True)


@lru_cache(maxsize=16)  # tables and figures are made of the same, of each half
def points(chosen: Selection, stage: str, tested: str = halves.RAW, *, average_heads: bool = False) -> pd.DataFrame:
    """Return a row of measures per fine-tuned encoder, or per retrained head of it. `tested`: what a scrubbed model is
    tested on, "raw" or "scrubbed"; it is probed on scrubbed texts.

    POINT, head_seed, a column per measure of the half that the run has (`Measure.column`), and per CEAT test its
    effect size and p (`ceat_columns`); NaN where an encoder lacks a measure. Diverged encoders are left out.
    `average_heads`: one row per encoder, the mean over its heads, because heads that share an encoder share its
    compression and are no independent points. `stage`: "before" or "after"."""
    runs = extrinsic_runs(chosen, stage)
    read = pd.Series(dict.fromkeys(chosen.models, halves.RAW) if tested == halves.RAW else chosen.models)
    table = _wide(runs[runs["metric"] != halves.UNDEFINED], read, [*POINT, "head_seed"])
    if average_heads:
        table = table.drop(columns="head_seed").groupby(POINT, as_index=False).mean().assign(head_seed="")
    compressions = compression_runs(chosen)
    probed = pd.Series(chosen.models)
    intrinsic = [_wide(compressions[compressions["metric"] == halves.COMPRESSION_VALUE], probed, POINT)]
    for test in chosen.ceat_tests:
        effect, p = ceat_columns(test)
        names = {f"{halves.CEAT_EFFECT} {halves.CEAT_VARIANT}": effect, f"{halves.CEAT_P} {halves.CEAT_VARIANT}": p}
        intrinsic.append(_wide(ceat_runs(chosen, test), probed, POINT).rename(columns=names))
    for frame in intrinsic:
        table = table.merge(frame, on=POINT, how="left", validate="many_to_one")
    lost = [(*key, seed) for key, seeds in chosen.diverged.items() for seed in seeds]
    kept = ~pd.MultiIndex.from_frame(table[POINT]).isin(lost)
    order = {"encoder": str, "model": [*chosen.models].index, "seed": in_order, "head_seed": in_order}
    return table[kept].sort_values([*order], key=lambda column: column.map(order[column.name]), ignore_index=True)


def ceat_columns(test: str) -> tuple[str, str]:
    """The columns of a CEAT test in `points`: effect size and p."""
    return f"ceat {test}", f"ceat {test} p"


def undefined_cells(runs: pd.DataFrame, half: halves.Half) -> pd.Series:
    """Return how many cells (classes x genders) were 0/0 and left out, as a mean over runs: [encoder, metric, variant,
    model, text].

    `runs`: as `extrinsic_runs` returns them. Independence and accuracy have no such cells."""
    counted = [(*half.undefined(measure), *measure.key) for measure in half.bias]
    measured = pd.DataFrame(counted, columns=["undefined", "counts", *MEASURE])
    counts = runs[runs["metric"] == halves.UNDEFINED].rename(columns={"metric": "undefined", "variant": "counts"})
    return counts.merge(measured).groupby(["encoder", *MEASURE, *CELL])["value"].mean()


def _wide(runs: pd.DataFrame, text: pd.Series, index: Sequence[str]) -> pd.DataFrame:
    """A row per `index`, a column per metric and variant, of the `text` of each model, or of none."""
    rows = runs[(runs["text"] == "") | (runs["text"] == runs["model"].map(text))]
    if rows.empty:
        return rows[[*index]]
    rows = rows.assign(column=(rows["metric"] + " " + rows["variant"]).str.strip())
    return wide(rows, index, ["column"]).rename_axis(columns=None).reset_index()


def _of_stage(rows: pd.DataFrame, stage: str) -> pd.DataFrame:
    """The `rows` of a stage, NaN where the fine-tuning diverged."""
    rows = rows[rows["stage"] == stage]
    return rows.assign(value=rows["value"].mask(rows["lost"]))[["encoder", *CELL, *_RUN, *MEASURE, "value", "n"]]


ENCODER, REPLICA = "roberta-base", "deberta-base"  # as printed
# Model -> what its printed probe is read to have read. The paper does not say what scrubbed models were tested and
# probed on. Tested: raw texts, the default of the released code; its table 5 has scrubbing above no debiasing, which
# scrubbed texts cannot give. Probed: scrubbed ones, as the compression of 1.699 fits the 68.8 % probing accuracy that
# appendix C reports for them.
PROBED_ON = dict.fromkeys(BASELINES, halves.RAW) | {strategy.label: strategy.text for strategy in STRATEGIES.values()}


def printed_values(run: Run, half: halves.Half, *tables: str) -> pd.DataFrame:
    """Return the printed values of a half in these tables, with the test input that we take them to have; encoders
    (`printed_encoders`) and models have our names."""
    values = run.printed.assign(table=run.printed["table"].str.removeprefix("table "))
    values = values[(values["task"] == half.kind) & values["table"].isin(tables)]
    values = of_our_encoders(values, printed_encoders(run))
    values = values.assign(model=values["model"].replace(LABEL_OF_STRATEGY), sd=values["value_sd"])
    text = values["model"].map(PROBED_ON).where(values["metric"] == halves.COMPRESSION_VALUE, halves.RAW)
    return values.assign(text=text.where(values["model"] != "", ""))


def printed_encoders(run: Run) -> dict[str, list[str]]:
    """Encoder as printed -> the encoders of the run that are it; if there is none a name under which its numbers stand
    alone: its own, unless another encoder of the run is called so."""
    others = run.attributes("encoder", "source")
    return {
        printed: names or [f"{printed} (printed)" if printed in others else printed]
        for printed, names in same_encoders(load("orgad2022"), run).items()
    }


def encoders_of(chosen: Selection) -> list[str]:
    """Return the encoders of a table: those of the run, and the paper's, whether it was run or not."""
    return list(dict.fromkeys([*chosen.encoders, *printed_encoders(chosen.run)[ENCODER]]))


def beside(ours: pd.DataFrame, printed: pd.DataFrame, keys: Sequence[str], encoders: Sequence[str]) -> pd.DataFrame:
    """The rows of `ours` and of `printed` (whose other columns are `keys`) of these encoders; `status` is "run" or
    still empty. An encoder without any row gets one, to say why."""
    ours, printed = (frame[frame["encoder"].isin(encoders)] for frame in (ours, printed))
    values = [name for name in printed if name not in keys]
    table = merge_published(ours.assign(status=RUN), printed, on=keys, values=values, printed_only=True)
    table = with_all(table, encoders)
    return table.astype(dict.fromkeys([*keys, "status"], object)).fillna(dict.fromkeys([*keys, "status"], ""))


def with_all(table: pd.DataFrame, encoders: Sequence[str]) -> pd.DataFrame:
    """Return the table with an empty row for each of these encoders that has no row."""
    silent = pd.DataFrame({"encoder": [name for name in encoders if name not in set(table["encoder"])]})
    return pd.concat([table, silent], ignore_index=True)


def with_labels(table: pd.DataFrame, half: halves.Half) -> pd.DataFrame:
    """The table of metrics and variants with the `key` of each measure and its label, "" without one, as `measure`."""
    keys = list(zip(table["metric"], table["variant"], strict=True))
    labels = {measure.key: measure.label for measure in half.measures}
    return table.assign(key=keys, measure=[labels.get(key, "") for key in keys])
