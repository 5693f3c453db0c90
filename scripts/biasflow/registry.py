"""What biasflow can do, by name: erasers, strategies, readouts, metrics, tasks, papers. Imports nothing heavy.

An entry says which module does the work and what it needs; options are JSON Schemas, so that a configuration is checked
before the first job. Adding something is one file and one line here: no script of a training, fit or readout imports
this module, so that a new line runs nothing again. The order here is that of tables and figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

PACKAGE = "scripts.biasflow"
Schema = Mapping[str, object]


def _whole(minimum: int, default: int | None = None) -> Schema:
    return {"type": "integer", "minimum": minimum} | ({} if default is None else {"default": default})


def _one_of(*values: object) -> Schema:
    return {"enum": list(values), "default": values[0]}


_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_WEIGHTS = {"type": "array", "items": {"type": "number", "minimum": 0}, "minItems": 2, "maxItems": 2}


@dataclass(frozen=True)
class Eraser:
    """fitted_to: what it can be fitted to, the default first; options: its fit's, by name; ordered: its directions are
    orthonormal and ordered, so that paper B's grid can take the first or second, weighted by explained variance;
    places: where the method of the same name acts, which every configuration has."""

    label: str
    module: str
    options: Mapping[str, Schema] = field(default_factory=dict)
    fitted_to: tuple[str, ...] = ("words", "pairs", "task")
    ordered: bool = False
    places: str = "last"


ERASERS = {
    "hard": Eraser("hard debiasing", "erasers.hard", {"components": _whole(1, 1)}, ordered=True, places="all"),
    "pca": Eraser(
        "PCA of pairs",
        "erasers.pca",
        {"components": _whole(1, 1), "center": _one_of("pairs", "differences")},
        fitted_to=("pairs",),
        ordered=True,
    ),
    "conceptor": Eraser("conceptor", "erasers.conceptor", {"aperture": {**_POSITIVE, "default": 2.0}}),
    "densray": Eraser(
        "DensRay",
        "erasers.densray",
        {
            "components": _whole(1, 1),
            "weights": {**_WEIGHTS, "default": [0.5, 0.5]},
            "normalize": {"type": "boolean", "default": True},
        },
        places="all",
    ),
    "leace": Eraser("LEACE", "erasers.leace", {"shrinkage": {"type": "boolean", "default": False}}),
    "mean_projection": Eraser("mean projection", "erasers.mean_projection"),
    "inlp": Eraser("INLP", "erasers.inlp", {"classifiers": _whole(1, 100)}),
    "rlace": Eraser("R-LACE", "erasers.rlace", {"components": _whole(1, 1)}),
    "sal": Eraser("SAL", "erasers.sal"),
    "random": Eraser("random directions", "erasers.random", {"components": _whole(1, 1), "seed": _whole(0, 0)}),
}


@dataclass(frozen=True)
class Strategy:
    """How a task's training data are debiased. kinds: the kinds of task that have it (none named: all); text: which
    version of the task's texts it trains on."""

    label: str
    module: str
    kinds: tuple[str, ...] = ()
    text: str = "raw"


STRATEGIES = {
    "plain": Strategy("none", "strategies.plain"),
    "oversampling": Strategy("oversampling", "strategies.balance", ("occupation",)),
    "oversampling-keep": Strategy("oversampling, all kept", "strategies.balance", ("occupation",)),
    "subsampling": Strategy("subsampling", "strategies.balance", ("occupation",)),
    "scrubbing": Strategy("scrubbing", "strategies.scrubbing", ("occupation",), text="scrubbed"),
}
WITH = "with-"  # a strategy "with-<method>": that method is active in every forward pass of the training


@dataclass(frozen=True)
class Task:
    """A kind of task. folder: a package with task.py (how it trains, what it predicts; torch), plan.py (its data, and
    what a training and a reading take; plan.tasks) and schema.yaml (its keys in the configuration); files: what a
    training writes beside the encoder."""

    label: str
    folder: str
    files: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        return f"{self.folder}.task"


TASKS = {
    "nli": Task("natural language inference", "tasks.nli"),
    "glue": Task("GLUE", "tasks.glue"),
    "occupation": Task("occupation prediction", "tasks.occupation", ("head.safetensors",)),
}


@dataclass(frozen=True)
class Readout:
    """What is read from a model under methods. module: has read(source, output, **options). head: what the model must
    have. suffix: of its files. rule: of its jobs."""

    label: str
    module: str
    head: str = "none"
    suffix: str = "parquet"
    rule: str = ""
    memory: int = 8000  # MB
    runtime: int = 120  # minutes


READOUTS = {
    "next_sentence": Readout("next-sentence probabilities", "readouts.next_sentence", "next_sentence"),
    "masked_words": Readout("probabilities of masked words", "readouts.masked_words", "masked_lm"),
    "losses": Readout("losses at masked tokens", "readouts.losses", "masked_lm", runtime=240),
    "likelihoods": Readout("pseudo-log-likelihoods of sentences", "readouts.likelihoods", "masked_lm", runtime=240),
    "vectors": Readout("vectors of words and sentences", "readouts.vectors", suffix="safetensors"),
    "token_scores": Readout("scores of tokens", "readouts.token_scores"),
    "associations": Readout("cosines of words in drawn contexts", "readouts.associations", suffix="safetensors"),
    "gender_shares": Readout("how much gender each place holds", "readouts.gender_shares"),
    "predictions": Readout(
        "predicted classes", "readouts.predictions", "classification", suffix="safetensors", runtime=240
    ),
    "nli_heads": Readout(
        "heads retrained under each method",
        "readouts.sweep_heads",
        "classification",
        suffix="safetensors",
        rule="heads_nli",
        memory=12000,
        runtime=240,
    ),
    "first_token": Readout("vectors of texts", "readouts.first_token", suffix="safetensors", memory=12000, runtime=240),
    "probes": Readout("code lengths of gender", "readouts.probes", rule="probe_texts", runtime=240),
    "heads": Readout("predictions of own and retrained heads", "readouts.heads", rule="heads_texts", memory=12000),
}


@dataclass(frozen=True)
class Measure:
    """One column of the matrix. better: low, high or neutral (nearer to neutral); group: inside, outside, cost."""

    label: str
    neutral: float | None
    better: str
    group: str
    bounds: tuple[float | None, float | None] = (None, None)
    part: str = "-"
    variant: str = "-"


SENTENCE, FIRST_TOKEN, WORDS = "the sentence vector", "the first token", "words"


@dataclass(frozen=True)
class Metric:
    """A scoring module and what it needs. readout: what it scores; datasets: what lists them, of plan.datasets or the
    plans of tasks (then it is for the kinds of task that have it); finetuned, pretrained: whether it measures
    models that are fine-tuned, and those that are not; measures: the values of `metric` that stand in the matrix;
    untouched_only: it says nothing of methods; sees: which of the last layer's states it is made of, so that a method
    that acts elsewhere after it has nothing to change."""

    label: str
    module: str
    readout: str
    datasets: str
    measures: Mapping[str, Measure] = field(default_factory=dict)
    finetuned: bool = True
    pretrained: bool = True
    untouched_only: bool = False
    sees: str = SENTENCE


INSIDE, OUTSIDE, COST = "inside", "outside", "cost"
TRAINING = "training"  # no readout: what a fine-tuning wrote of itself is scored as it is
METRICS = {
    "strength": Metric(
        "Strength and Distance",
        "metrics.stereoset",
        "next_sentence",
        "stimuli",
        measures={
            "strength": Measure("Strength", 0, "low", INSIDE, (0, None), part="top=10%"),
            "distance": Measure("Distance", 0, "low", INSIDE, (0, 1), part="top=10%"),
            "stereotype_score": Measure("Stereotype Score", 0.5, "neutral", INSIDE, (0, 1), variant="original"),
            "language_model_score": Measure("language-model score", 1, "high", COST, (0, 1), variant="both"),
        },
        finetuned=False,
    ),
    "occtmp": Metric(
        "OCCTMP",
        "metrics.occtmp",
        "masked_words",
        "occupations",
        measures={"occtmp_diff": Measure("OCCTMP", 0, "low", INSIDE, (0, None))},
        sees=WORDS,
        finetuned=False,
    ),
    "weat": Metric(
        "WEAT",
        "metrics.association",
        "vectors",
        "word_tests",
        measures={"weat_effect_size": Measure("WEAT", 0, "neutral", INSIDE, (-2, 2), variant="target")},
        sees=WORDS,
    ),
    "seat": Metric(
        "SEAT",
        "metrics.association",
        "vectors",
        "sentence_tests",
        measures={"seat_effect_size": Measure("SEAT", 0, "neutral", INSIDE, (-2, 2), variant="cls")},
        sees=FIRST_TOKEN,
    ),
    "ceat": Metric(
        "CEAT",
        "metrics.combined_effect",
        "associations",
        "context_tests",
        measures={"ceat_effect_size": Measure("CEAT", 0, "neutral", INSIDE, (-2, 2), variant="concepts-spread")},
        sees=WORDS,
    ),
    "gender_share": Metric(
        "gender share",
        "metrics.gender_share",
        "gender_shares",
        "words",
        untouched_only=True,
        finetuned=False,
    ),
    "log_odds": Metric(
        "she-he log-odds of planted occupations",
        "metrics.log_odds",
        "masked_words",
        "planted_occupations",
        measures={"log_odds_r": Measure("log-odds r", 0, "neutral", INSIDE, (-1, 1))},
        sees=WORDS,
        finetuned=False,
    ),
    "compression": Metric(
        "compression of gender",
        "metrics.codelength",
        "probes",
        "probed_texts",
        measures={"compression": Measure("Compression", 1, "low", INSIDE, (0, None), variant="paper-bits-best")},
        sees=FIRST_TOKEN,
    ),
    "perplexity": Metric(
        "masked perplexity",
        "metrics.perplexity",
        "losses",
        "running_text",
        measures={"perplexity": Measure("perplexity", 1, "low", COST, (1, None))},
        sees=WORDS,
        finetuned=False,
    ),
    "pseudo_perplexity": Metric(
        "pseudo-perplexity",
        "metrics.pseudo_perplexity",
        "likelihoods",
        "sample_of_text",
        measures={"pseudo_perplexity": Measure("pseudo-perplexity", 1, "low", COST, (1, None))},
        sees=WORDS,
        finetuned=False,
    ),
    "accuracy": Metric(
        "accuracy, or the task's own score",
        "metrics.glue",
        "predictions",
        "test_sets",
        measures={
            "accuracy": Measure("accuracy", 1, "high", COST, (0, 1)),
            "glue_score": Measure("GLUE score", 1, "high", COST),
        },
        pretrained=False,
    ),
    "nli_fairness": Metric(
        "NLI fairness",
        "metrics.nli",
        "predictions",
        "occupation_pairs",
        measures={"nli_fairness": Measure("NLI Fairness Score", 1, "high", OUTSIDE, (0, 1), variant="majority")},
        pretrained=False,
    ),
    "fairness": Metric(
        "gaps between genders",
        "metrics.occupation",
        "heads",
        "classified_texts",
        measures={
            "accuracy": Measure("accuracy", 1, "high", COST, (0, 1)),
            "tpr_gap_pearson": Measure("TPR gap (P)", 0, "neutral", OUTSIDE, (-1, 1), variant="train"),
            "tpr_gap_sum": Measure("TPR gap (S)", 0, "low", OUTSIDE, (0, None)),
            "independence": Measure("independence", 0, "low", OUTSIDE, (0, None)),
            "separation": Measure("separation", 0, "low", OUTSIDE, (0, None), variant="absdiff"),
            "sufficiency": Measure("sufficiency", 0, "low", OUTSIDE, (0, None), variant="absdiff"),
        },
        sees=FIRST_TOKEN,
    ),
    "training": Metric(
        "what a fine-tuning says of itself",
        "metrics.training",
        TRAINING,
        "trainings",
        untouched_only=True,
        pretrained=False,
    ),
}


@dataclass(frozen=True)
class Paper:
    """A package under papers/: its blocks (plan), tables and figures. kind: of the tasks that its options name."""

    label: str
    module: str
    kind: str = ""


PAPERS = {
    "liang2020": Paper("DensRay (Liang, Dufter and Schütze 2020)", "papers.liang2020", "glue"),
    "dawkins2024": Paper("Projective debiasing (Dawkins et al. 2024)", "papers.dawkins2024", "nli"),
    "orgad2022": Paper(
        "Debiasing and internal representations (Orgad, Goldfarb-Tarrant and Belinkov 2022)",
        "papers.orgad2022",
        "occupation",
    ),
    "planted": Paper("Measures judged by planted bias", "papers.planted"),
}


def rule_of(readout: str) -> str:
    """The rule of a readout's jobs."""
    return READOUTS[readout].rule or f"read_{readout}"


class Entry(Protocol):
    """What is done by a module."""

    module: str


def module_of(entry: Entry) -> str:
    """The full name of an entry's module."""
    return f"{PACKAGE}.{entry.module}"
