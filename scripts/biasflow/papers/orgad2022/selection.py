"""A half of the paper in a run: the rows of its models in the table of scores, and the labels of the models.

A row of a selection is a score: encoder, model (its label in the tables: "none", "oversampling" ... for fine-tuned
encoders, "pretrained", "random"), stage (whose score it is), text (the test input, "raw" or "scrubbed"; "" without
one), seed, head_seed, dataset, metric, variant (with the part; "" without either), value, n, and whether the
fine-tuning was lost."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import pandas as pd

from biasflow.corpora.seat import DENSRAY_TESTS
from biasflow.papers.frames import NOT_ASKED, Run
from biasflow.papers.orgad2022 import measures
from biasflow.papers.orgad2022.blocks import named_encoders, random_seeds
from biasflow.papers.orgad2022.halves import (
    AFTER,
    BEFORE,
    CEAT,
    COMPRESSION,
    FINETUNED,
    FROZEN,
    PRETRAINED,
    RANDOM,
    RAW,
    SCRUBBED,
    Half,
)
from biasflow.planted.association import PLANTED
from biasflow.registry import STRATEGIES, WITH
from biasflow.results.scores import NA
from biasflow.results.scores import NONE as UNTOUCHED

PLAIN = "plain"
NONE = STRATEGIES[PLAIN].label  # the model that all others are compared with
BASELINES = (RANDOM, PRETRAINED)  # models without fine-tuning, in the order of the tables
NO_SCORES = "the run has no defined value of it"
_FINE_TUNING = ["encoder", "task", "strategy", "seed"]


@dataclass(frozen=True, eq=False)
class Selection:
    """The rows of a half of the paper in a run, its encoders (those with scores first), and its models without
    BASELINES.

    models: label -> the text that it is trained on, and probed on in correlations, in the order of tables and figures;
    diverged: (encoder, model) -> the seeds whose fine-tuned encoder learned nothing, in numerical order."""

    run: Run
    half: Half
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
        datasets = set(self.rows.loc[self.rows["metric"] == measures.CEAT_EFFECT, "dataset"])
        return [name for name in (*DENSRAY_TESTS, PLANTED) if name in datasets]

    @property
    def ceat_test(self) -> str:
        """The test that tables 1, 2 and 6 show: the first."""
        return self.ceat_tests[0] if self.ceat_tests else measures.CEAT_PRINTED

    @cached_property
    def probe_data(self) -> list[str]:
        """The readings of the probe's data that the run has: those of the printed values first."""
        in_run = set(self.rows.loc[self.rows["metric"] == measures.COMPRESSION_VALUE, "variant"].map(measures.data_of))
        return [data for data in self.half.probe_data if data in in_run] or [*self.half.probe_data[:1]]

    @property
    def inputs(self) -> list[str]:
        """The readings of what a scrubbed model is tested on, that of the printed values first."""
        in_run = set(self.rows.loc[self.rows["stage"].isin([BEFORE, AFTER]), "text"])
        return [text for text in (RAW, SCRUBBED) if text in in_run] or [RAW]

    def diverged_seeds(self, encoder: str, model: str) -> str:
        """The seeds that were left out, as tables name them: "seeds 3, 7", "" for none."""
        seeds = self.diverged.get((encoder, model), [])
        return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}" if seeds else ""

    def lost(self, stage: str) -> Mapping[tuple[str, str], list[str]]:
        """Return the seeds lost because they `diverged`; none for heads on encoders that were not fine-tuned."""
        return {} if stage == FROZEN else self.diverged

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
        metrics = [*self.half.scored_by, COMPRESSION, CEAT]
        if encoder in self.scored:
            metrics = [lacked] if lacked in metrics else [*self.half.scored_by]
            cells |= {"training": PRETRAINED} if lacked == FROZEN else {}
        return self.run.reason(encoder=encoder, metric=metrics, **cells) or NO_SCORES

    def lacking(self, encoder: str, model: str, lacked: str, encoders: Collection[str]) -> str:
        """`reason` for the row of a model in a table that has rows of these `encoders`: of them the baselines that
        have none were not asked for."""
        return NOT_ASKED if encoder in encoders and model not in self.models else self.reason(encoder, lacked)

    def no_points(self, encoder: str, intrinsic: str = COMPRESSION) -> str:
        """Return why nothing can be correlated with an intrinsic measure of an encoder, "compression" or "ceat"."""
        rows = self.rows[(self.rows["encoder"] == encoder) & self.rows["stage"].isin([BEFORE, AFTER])]
        if len(rows) and rows["lost"].all():
            return "the fine-tuning of all models diverged"
        return self.reason(encoder, intrinsic if len(rows) else BEFORE)


@lru_cache(maxsize=2)  # all tables and figures are made of the same, of each half
def select(run: Run, half: Half) -> Selection:
    """Select the rows of the encoders, task, strategies, seeds and methods that the paper's options name.

    Options: seeds, and the half's task, encoders and strategies; random_encoders (their seeds; absent or null: `seeds`)
    and methods (absent: none). Without a task (absent or null) there are neither rows nor models."""
    options = run.options
    task = options.get(half.task)
    models = _models(options, half)
    named = named_encoders(options, half.encoders)
    rows = run.scores[run.scores["encoder"].isin(named)]
    rows = rows.merge(models, on=["task", "strategy", "method", "head"])
    seed = rows["seed"].where(rows["seed"] != NA, rows["split_seed"])  # what has none of its own is told apart by this
    listed = seed.isin([NA, *map(str, options["seeds"])])
    listed = listed.where(rows["stage"] != RANDOM, seed.isin(map(str, random_seeds(options))))
    listed |= rows["stage"] == FROZEN  # the task has seeds of their own for them
    text = rows["dataset"].map({f"{task}-{end}": text for end, text in half.texts.items()})
    of_texts = {measure.metric for measure in half.measures} | {measures.CONTROL_VALUE, measures.UNDEFINED}
    listed &= text.notna() | ~rows["metric"].isin(of_texts)  # an encoder before fine-tuning reads those of all
    reading = rows[["variant", "part"]].replace(NA, "")
    rows = rows.assign(
        seed=seed,
        text=text,
        variant=(reading["variant"] + " " + reading["part"]).str.strip(),
        model=rows["label"] + (" " + rows["setting"]).where(rows["setting"] != NA, ""),
    )[listed]
    keys = ["seed", "head_seed", "readout_seed", "text"]
    rows[keys] = rows[keys].fillna("").replace(NA, "")
    facts = rows[(rows["metric"] == "diverged") & (rows["value"] == 1)]
    rows["lost"] = pd.MultiIndex.from_frame(rows[_FINE_TUNING]).isin(pd.MultiIndex.from_frame(facts[_FINE_TUNING]))
    lost = rows[rows["lost"]].groupby(["encoder", "model"])["seed"]

    # The settings of a grid are models of their own, which the scores tell.
    tuned = models[models["stage"] == FINETUNED].set_index("label")["text"]
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


def in_order(seed: str) -> str:
    """Return a key that sorts seeds as numbers: "5" before "11"."""
    return seed.zfill(20)


def _models(options: Mapping[str, object], half: Half) -> pd.DataFrame:
    """The models of a half by their keys in the table of scores: task, strategy, method, head -> stage, label, text."""
    task, strategies = (options.get(name) for name in (half.task, half.strategies))
    rows = [(NA, RANDOM, UNTOUCHED, NA, RANDOM, RANDOM, RAW), (NA, NA, UNTOUCHED, NA, PRETRAINED, PRETRAINED, RAW)]
    heads = {"own": BEFORE, "retrained": AFTER, NA: FINETUNED}
    places = {name: place for place, name in enumerate(STRATEGIES)}
    for strategy in sorted(strategies or (), key=lambda name: places.get(name, len(places))):
        known = STRATEGIES.get(strategy)  # none of a method in training, which is part of the model
        name, text = (known.label, known.text) if known else (strategy, RAW)
        for method in options.get("methods", [UNTOUCHED]) if known else [strategy.removeprefix(WITH)]:
            alone = method == UNTOUCHED or not known
            label = name if alone else method if strategy == PLAIN else f"{name}, {method}"
            rows += [(task, strategy, method, head, stage, label, text) for head, stage in heads.items()]
        if FROZEN in half.printed_in:
            rows.append((NA, NA, UNTOUCHED, f"frozen-{strategy}", FROZEN, name, text))
    return pd.DataFrame(rows if task else [], columns=["task", "strategy", "method", "head", "stage", "label", "text"])
