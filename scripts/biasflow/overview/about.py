"""What the page says about encoders and how they were trained, and the permutation tests beside their effect sizes."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from biasflow.encoders.described import FOREIGN
from biasflow.overview.judgements import COST
from biasflow.overview.maps import head_of
from biasflow.plan.methods import LAST_LAYER
from biasflow.registry import METRICS, OUTSIDE
from biasflow.results.matrix import OWN, by_rows, untouched_rows
from biasflow.results.scores import NA, NONE, models
from biasflow.results.statistics import holm

POOLED = {"cls": "the first token", "mean": "the mean of all tokens", "first-piece": "the first piece of a word"}
POOLED |= {"sentence": "what sentence-transformers makes"}
# The metrics of the vector of a sentence, which a copy of a sentence encoder changes.
OF_SENTENCES = ("seat", "similarity", "retrieval", "retrieval_questions", "people_search")
# SEAT's sentences repeat a word in templates, so its p that counts every sentence for itself is far too small.
_TESTS = {"weat_p_value": "weat_effect_size", "seat_word_p_value": "seat_effect_size"}
_HALVES = {math.comb(words, words // 2): words for words in range(4, 18, 2)}  # of partitions, where all are counted


class Copy(NamedTuple):
    """What `biasflow debias` writes of a model. methods: those that act in the last layer alone; part: what it changes:
    "decisions" of a classifier, "sentence vectors" of a sentence encoder, "heads", or "" where there is none."""

    methods: Collection[str] = ()
    part: str = ""

    def changes(self, measure: str) -> bool:
        """Whether a measure reads this part; the vectors of tokens stay as they are (methods.debiased)."""
        metrics = {name: entry for name, entry in METRICS.items() if measure in entry.measures}
        return {
            "decisions": any(entry.measures[measure].group == OUTSIDE for entry in metrics.values()),
            "sentence vectors": not metrics.keys().isdisjoint(OF_SENTENCES),
            "heads": head_of(measure) != "none",
        }.get(self.part, False)


def copies(names: pd.DataFrame, encoders: pd.DataFrame) -> dict[str, Copy]:
    """Encoder -> what can be kept of it. names, encoders: names.csv and encoders.csv, as texts."""
    rows = names[(names["kind"] == "method") & names["attribute"].str.endswith("places")]
    last = rows["value"].isin(LAST_LAYER).groupby(rows["name"]).all()
    has_head = (encoders[["masked_lm_head", "next_sentence_head"]] == "yes").any(axis=1)
    parts = np.where(encoders["sentence_vector"] != "", "sentence vectors", np.where(has_head, "heads", ""))
    return {name: Copy({*last.index[last]}, part) for name, part in zip(encoders["encoder"], parts, strict=True)}


@dataclass(frozen=True)
class Training:
    """How an encoder was fine-tuned on a task: (least, most) of each number over strategies and seeds, None where it is
    not known; the classes None, too, of a task without classes."""

    task: str
    models: int
    numbers: Mapping[str, tuple[float, float] | None]


@dataclass(frozen=True)
class About:
    """An encoder: its name, the end of its folder or that on the hub, or ""; which model it is; what of its folder is
    not applied, or ""; its row of encoders.csv, empty of one without weights; how SEAT makes the vector of a sentence,
    if it was measured; and its fine-tunings by task."""

    name: str
    model: str
    not_applied: str
    row: Mapping[str, str]
    pooled: Sequence[str]
    trainings: Sequence[Training]

    @property
    def foreign(self) -> float | None:
        """The share of common English words that its vocabulary splits, where that is most of them."""
        share = float(self.row.get("english_words_split") or 0)
        return share if share >= FOREIGN else None


def about(
    encoders: pd.DataFrame, trainings: pd.DataFrame, scores: pd.DataFrame, names: pd.DataFrame
) -> dict[str, About]:
    """Encoder -> what is known of it, for all encoders of the scores.

    encoders, trainings: encoders.csv and trainings.csv as texts (scripts/describe.py), where "" is not known; an
    encoder without weights of its own (a user's predictions) has no row. names: names.csv as texts."""
    rows = {row["encoder"]: row for row in encoders.to_dict("records")}
    which, texts = models(names, encoders), names[names["kind"] == "encoder"]
    attributes = {name: dict(zip(of["attribute"], of["value"], strict=True)) for name, of in texts.groupby("name")}
    return {
        name: About(
            "/".join((attributes[name].get("path") or attributes[name].get("id", "")).split("/")[-2:]),
            which[name],
            attributes[name].get("not_applied", ""),
            rows.get(name, {}),
            _pooled(of_encoder),
            [
                _training(task, block, _tested(of_encoder[of_encoder["task"] == task]))
                for task, block in trainings[trainings["encoder"] == name].groupby("task", sort=False)
            ],
        )
        for name, of_encoder in scores.groupby("encoder", sort=False)
    }


def _pooled(scores: pd.DataFrame) -> list[str]:
    of_seat = (scores["metric"] == "seat_effect_size") & (scores["part"] == NA)
    return [POOLED.get(name, name) for name in scores.loc[of_seat, "variant"].unique()]


def _training(task: str, rows: pd.DataFrame, tested: Sequence[float]) -> Training:
    columns = ["train", "validation", "cut", "classes", "majority_share"]
    of_classes = (rows["validation_metric"] == "accuracy").all()
    numbers = {name: _range(pd.to_numeric(rows[name])) for name in columns[: 5 if of_classes else 3]}
    return Training(task, len(rows), numbers | {"test": _range(pd.Series(tested, dtype=float))})


def _range(values: pd.Series) -> tuple[float, float] | None:
    values = values.dropna()
    return None if values.empty else (values.min(), values.max())


def _tested(scores: pd.DataFrame) -> list[float]:
    """The numbers of examples on which the quality of models with their own heads was measured."""
    costs = {name for (name, _, _), measure in by_rows().items() if measure.group == COST}
    untouched = scores[scores["metric"].isin(costs) & scores["head"].isin(OWN) & (scores["method"] == NONE)]
    return list(untouched["n"].dropna())


class PermutationTest(NamedTuple):
    """The result of a permutation test on an untouched model. corrected: its p after Holm correction, an upper bound if
    no partition counted; opposite: that of an effect below 0; NaN if there is a test for each of several seeds; words:
    how many target words it divides, 0 where that is not known."""

    text: str
    corrected: float
    opposite: float
    words: int = 0


def permutation_tests(scores: pd.DataFrame) -> dict[tuple[str, str, str, str], PermutationTest]:
    """(encoder, task, measure, dataset) -> the permutation test of WEAT or SEAT of the untouched model.

    One-sided p, of SEAT that of whole words, below 1 / partitions where none of these is counted; and p corrected for
    all tests of the encoder that are here, by Holm: in SEAT those of both poolings that are read. Of several seeds
    there are several tests: the text says how many."""
    shown = {(measure, part, variant) for measure, part, variant in by_rows() if measure in _TESTS.values()}
    tests = untouched_rows(scores[scores["metric"].isin(_TESTS) & scores["value"].notna()])
    keys = zip(tests["metric"].map(_TESTS), tests["part"], tests["variant"], strict=True)
    tests = tests.assign(shown=np.array([key in shown for key in keys], dtype=bool))
    bound = (tests["value"] == 0) & tests["n"].gt(0)
    tests["p"] = tests["value"].mask(bound, 1 / tests["n"])
    tests["sign"] = np.where(bound, "< ", "= ")
    tests["corrected"] = tests.groupby("encoder")["p"].transform(holm).astype(float)
    opposite = (1 - tests["value"] + 1 / tests["n"]).clip(upper=1)  # with the observed partition
    tests["opposite"] = opposite.groupby(tests["encoder"]).transform(holm).astype(float)
    families = {encoder: _family(of_encoder) for encoder, of_encoder in tests.groupby("encoder")}
    results = {}
    for (encoder, task, metric, dataset), block in tests[tests["shown"]].groupby(
        ["encoder", "task", "metric", "dataset"], sort=False
    ):
        row = block.iloc[0]
        single_test = (
            f"permutation test: one-sided p {_p(row['sign'], row['p'])}; after Holm correction for "
            f"{families[encoder]} p {_p(row['sign'], row['corrected'])}"
        )
        seeds = (
            f"permutation test: one-sided p {_p('', block['p'].min())} to {_p('', block['p'].max())} over "
            f"{len(block)} seeds"
        )
        results[encoder, task, _TESTS[metric], dataset] = (
            PermutationTest(single_test, row["corrected"], row["opposite"], _HALVES.get(row["n"], 0))
            if len(block) == 1
            else PermutationTest(seeds, np.nan, np.nan)
        )
    return results


def _family(tests: pd.DataFrame) -> str:
    """Which tests are corrected together: "15 tests (3 WEAT, 12 SEAT in 2 readings)"."""
    kinds = tests.assign(kind=tests["metric"].str.split("_").str[0].str.upper()).groupby("kind", sort=False)["variant"]
    said = [f"{len(of)} {kind}{f' in {of.nunique()} readings' * (of.nunique() > 1)}" for kind, of in kinds]
    return f"{len(tests)} tests ({', '.join(said)})"


def _p(sign: str, value: float) -> str:
    small = np.format_float_positional(value, precision=1, unique=False, fractional=False, trim="-")
    return f"{sign}{value:.3f}" if value >= 0.001 else f"{sign}{small}"
