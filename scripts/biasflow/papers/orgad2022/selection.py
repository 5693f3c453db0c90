"""The paper's part of a run: which rows of the one table of scores are its models', and under which labels.

A row of a selection is a score: encoder, model (its label in the tables: "none", "oversampling" ... for fine-tuned
encoders, "pretrained", "random"), stage (whose score it is), text (the test input, "raw" or "scrubbed"; "" without
one), seed, head_seed, dataset, metric, variant ("" without one), value, n, and whether the fine-tuning was lost."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import pandas as pd

from scripts.biasflow.papers.frames import NOT_ASKED, Run
from scripts.biasflow.papers.orgad2022.blocks import random_seeds
from scripts.biasflow.papers.orgad2022.measures import (
    CEAT_EFFECT,
    CEAT_PRINTED,
    COMPRESSION_VALUE,
    DATA,
    RELEASED,
    UNDEFINED,
    data_of,
)
from scripts.biasflow.registry import STRATEGIES, WITH
from scripts.biasflow.results.scores import NA
from scripts.biasflow.results.scores import NONE as UNTOUCHED

PLAIN, RAW, SCRUBBED = "plain", "raw", "scrubbed"
NONE = STRATEGIES[PLAIN].label  # the model that all others are compared with
# Fine-tuned encoders with their own head, with retrained ones, and by themselves; heads on the encoder before
# fine-tuning, and this encoder by itself, or never trained.
BEFORE, AFTER, FINETUNED = "before", "after", "finetuned"
FROZEN, PRETRAINED, RANDOM = "frozen", "pretrained", "random"
BASELINES = (RANDOM, PRETRAINED)  # models without fine-tuning, in the order of the tables
FAIRNESS, COMPRESSION, CEAT = _METRICS = "fairness", "compression", "ceat"  # of the registry, that tables show
NOT_LISTED = "it is not in papers.orgad2022.encoders"
NO_SCORES = "the run has no defined value of it"
_FINE_TUNING = ["encoder", "task", "strategy", "seed"]


@dataclass(frozen=True, eq=False)
class Selection:
    """The paper's rows of a run, its encoders (those with scores first), and its models without BASELINES.

    models: label -> the text that it is trained on, and probed on in correlations, in the order of tables and figures;
    diverged: (encoder, model) -> the seeds whose fine-tuned encoder learned nothing, in numerical order."""

    run: Run
    rows: pd.DataFrame
    encoders: list[str]
    models: Mapping[str, str]
    diverged: Mapping[tuple[str, str], list[str]]

    @cached_property
    def scored(self) -> set[str]:
        """The encoders that have a score of this paper."""
        return set(self.rows["encoder"])

    @cached_property
    def ceat_tests(self) -> list[str]:
        """C6, C7, C8, then others."""
        return sorted(set(self.rows.loc[self.rows["metric"] == CEAT_EFFECT, "dataset"]))

    @property
    def ceat_test(self) -> str:
        """The test that tables 1, 2 and 6 show: the first."""
        return self.ceat_tests[0] if self.ceat_tests else CEAT_PRINTED

    @cached_property
    def probe_data(self) -> list[str]:
        """The readings of the probe's data that the run has: those of the printed values first."""
        found = set(self.rows.loc[self.rows["metric"] == COMPRESSION_VALUE, "variant"].map(data_of))
        return [data for data in DATA if data in found] or [RELEASED]

    @property
    def inputs(self) -> list[str]:
        """The readings of what a scrubbed model is tested on, that of the printed values first."""
        found = set(self.rows.loc[self.rows["stage"].isin([BEFORE, AFTER]), "text"])
        return [text for text in (RAW, SCRUBBED) if text in found] or [RAW]

    def diverged_seeds(self, encoder: str, model: str) -> str:
        """The seeds that were left out, as tables name them: "seeds 3, 7", "" for none."""
        seeds = self.diverged.get((encoder, model), [])
        return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}" if seeds else ""

    def lost(self, stage: str) -> Mapping[tuple[str, str], list[str]]:
        """`diverged`, but for heads on encoders that were not fine-tuned: they lose none."""
        return {} if stage == FROZEN else self.diverged

    def reason(self, encoder: str, what: str = "", model: str = "") -> str:
        """Why a model lacks "compression", "ceat", or the measures of stage "before", "after" or "frozen".

        An encoder without any score lacks them all for one reason, the first of the plan."""
        options = self.run.options
        if encoder not in options["encoders"]:
            return NOT_LISTED
        if model and model not in (*BASELINES, *self.models):
            return NOT_ASKED
        if encoder not in self.scored:
            return self.run.reason(encoder=encoder, metric=_METRICS) or NO_SCORES
        tuned = [f"{options['task']}/{name}/seed{seed}" for name in options["strategies"] for seed in options["seeds"]]
        trainings = [PRETRAINED] if what == FROZEN else tuned
        metric = what if what in _METRICS else FAIRNESS
        return self.run.reason(encoder=encoder, metric=metric, training=trainings) or NO_SCORES

    def no_points(self, encoder: str, intrinsic: str = COMPRESSION) -> str:
        """Why nothing can be correlated with an intrinsic measure of an encoder, "compression" or "ceat"."""
        own = self.rows[(self.rows["encoder"] == encoder) & self.rows["stage"].isin([BEFORE, AFTER])]
        if len(own) and own["lost"].all():
            return "the fine-tuning of all models diverged"
        return self.reason(encoder, intrinsic if len(own) else BEFORE)


@lru_cache(maxsize=1)  # all tables and figures are made of the same
def select(run: Run) -> Selection:
    """The rows of the encoders, task, strategies, seeds and methods that the paper's options name; all others stay out.

    Options: encoders, task, strategies, seeds; random_encoders (their seeds; absent or null: `seeds`) and methods
    (absent: none)."""
    options = run.options
    models = _models(options)
    rows = run.scores[run.scores["encoder"].isin(options["encoders"])]
    rows = rows.merge(models, on=["task", "strategy", "method", "head"])
    seed = rows["seed"].where(rows["seed"] != NA, rows["split_seed"])  # what has none of its own is told apart by this
    listed = seed.isin([NA, *map(str, options["seeds"])])
    listed = listed.where(rows["stage"] != RANDOM, seed.isin(map(str, random_seeds(options))))
    listed |= rows["stage"] == FROZEN  # the task has seeds of their own for them
    rows = rows.assign(
        seed=seed,
        text=rows["dataset"].map({f"{options['task']}-{text}": text for text in (RAW, SCRUBBED)}),
        variant=rows["variant"].where(rows["metric"] != UNDEFINED, rows["part"]),
        model=rows["label"] + (" " + rows["setting"]).where(rows["setting"] != NA, ""),
    )[listed]
    text = ["seed", "head_seed", "readout_seed", "text", "variant"]
    rows[text] = rows[text].fillna("").replace(NA, "")
    facts = rows[(rows["metric"] == "diverged") & (rows["value"] == 1)]
    rows["lost"] = pd.MultiIndex.from_frame(rows[_FINE_TUNING]).isin(pd.MultiIndex.from_frame(facts[_FINE_TUNING]))
    lost = rows[rows["lost"]].groupby(["encoder", "model"])["seed"]

    # The settings of a grid are models of their own, which the scores tell.
    tuned = models[models["stage"] == FINETUNED].set_index("label")["text"]
    found = rows.groupby("label")["model"].unique()
    encoders = sorted(set(rows["encoder"]))
    return Selection(
        run,
        rows,
        encoders=[*encoders, *(name for name in options["encoders"] if name not in encoders)],
        models={model: text for label, text in tuned.items() for model in sorted(found.get(label, [label]))},
        diverged={key: sorted(set(seeds), key=in_order) for key, seeds in lost},
    )


def in_order(seed: str) -> str:
    """A key that sorts seeds as numbers: "5" before "11"."""
    return seed.zfill(20)


def _models(options: Mapping[str, object]) -> pd.DataFrame:
    """What the paper's models are in the table of scores: task, strategy, method, head -> stage, label, text."""
    rows = [(NA, RANDOM, UNTOUCHED, NA, RANDOM, RANDOM, RAW), (NA, NA, UNTOUCHED, NA, PRETRAINED, PRETRAINED, RAW)]
    heads = {"own": BEFORE, "retrained": AFTER, NA: FINETUNED}
    places = {name: place for place, name in enumerate(STRATEGIES)}
    for strategy in sorted(options["strategies"], key=lambda name: places.get(name, len(places))):
        known = STRATEGIES.get(strategy)  # none of a method in training, which is part of the model
        name, text = (known.label, known.text) if known else (strategy, RAW)
        for method in options.get("methods", [UNTOUCHED]) if known else [strategy.removeprefix(WITH)]:
            alone = method == UNTOUCHED or not known
            label = name if alone else method if strategy == PLAIN else f"{name}, {method}"
            rows += [(options["task"], strategy, method, head, stage, label, text) for head, stage in heads.items()]
        rows.append((NA, NA, UNTOUCHED, f"frozen-{strategy}", FROZEN, name, text))
    return pd.DataFrame(rows, columns=["task", "strategy", "method", "head", "stage", "label", "text"])
