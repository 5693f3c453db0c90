"""What biasflow can do, by name: erasers, strategies, readouts, metrics, tasks, papers. Imports nothing heavy.

An entry says which module does the work and what it needs; options are JSON Schemas, so that a configuration is checked
before the first job. Metrics are described in data/metrics.yaml, all others here. To add something, write one file and
one entry. No script of a training, fit or readout imports this module, so a new entry makes nothing run again. Tables
and figures keep the order of the entries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

import yaml

from biasflow.base.shipped import shipped

PACKAGE = "biasflow"
Schema = Mapping[str, object]


def _whole(minimum: int, default: int | None = None) -> Schema:
    return {"type": "integer", "minimum": minimum} | ({} if default is None else {"default": default})


def _one_of(*values: object) -> Schema:
    return {"enum": list(values), "default": values[0]}


_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_SEED = {"type": "integer", "minimum": 0, "maximum": 2**32 - 1, "default": 0}
_WEIGHTS = {
    "type": "array",
    "items": {"type": "number", "minimum": 0},
    "contains": {"exclusiveMinimum": 0},
    "minItems": 2,
    "maxItems": 2,
}


@dataclass(frozen=True)
class Eraser:
    """An eraser: a module with `fit`, which returns an affine map that takes gender out of vectors.

    meaning: what it does, in words that follow "it"; options: JSON Schemas of the options of `fit`, by name;
    fitted_to: what it can be fitted to, the default first; ordered: whether its directions are orthonormal and ordered,
    so that paper B's grid can take the first or second, weighted by explained variance; places: where it acts in the
    method of its name, which every configuration has; needs_labels: whether its `fit` needs the classes of a task as
    `y`; class_centred: whether it takes them, too, to be fitted to gender minus its share in the class."""

    label: str
    meaning: str
    module: str
    options: Mapping[str, Schema] = field(default_factory=dict)
    fitted_to: tuple[str, ...] = ("words", "pairs", "task")
    ordered: bool = False
    places: str = "last"
    needs_labels: bool = False
    class_centred: bool = False


ERASERS = {
    "hard": Eraser(
        "hard debiasing",
        "removes the direction along which the vectors of all gendered words vary most",
        "erasers.hard",
        {"components": _whole(1, 1)},
        ordered=True,
        places="all",
    ),
    "pca": Eraser(
        "PCA of pairs",
        "removes the direction along which the differences within masculine-feminine pairs vary most",
        "erasers.pca",
        {"components": _whole(1, 1), "center": _one_of("pairs", "differences")},
        fitted_to=("pairs",),
        ordered=True,
    ),
    "conceptor": Eraser(
        "conceptor",
        "shrinks every direction by how much of the vectors of gendered words lies in it",
        "erasers.conceptor",
        {"aperture": {**_POSITIVE, "default": 2.0}},
    ),
    "densray": Eraser(
        "DensRay",
        "removes the direction along which vectors of different genders differ most and vectors of the same gender "
        "least",
        "erasers.densray",
        {
            "components": _whole(1, 1),
            "weights": {**_WEIGHTS, "default": [0.5, 0.5]},
            "normalize": {"type": "boolean", "default": True},
        },
        places="all",
    ),
    "leace": Eraser(
        "LEACE",
        "changes the vectors as little as possible so that no linear classifier can tell the genders apart",
        "erasers.leace",
        {"shrinkage": {"type": "boolean", "default": False}},
        class_centred=True,
    ),
    "splince": Eraser(
        "SPLINCE",
        "changes the vectors as LEACE does, but keeps how they vary with the classes of the task",
        "erasers.splince",
        fitted_to=("task",),
        places="last.cls",
        needs_labels=True,
    ),
    "mean_projection": Eraser(
        "mean projection",
        "removes the direction from the mean masculine to the mean feminine vector",
        "erasers.mean_projection",
        class_centred=True,
    ),
    "inlp": Eraser(
        "INLP",
        "removes the directions of linear gender classifiers, one after another",
        "erasers.inlp",
        {"classifiers": _whole(1, 100), "stop_at": _one_of("balanced", "majority")},
    ),
    "rlace": Eraser(
        "R-LACE",
        "removes the direction without which a linear gender classifier does worst",
        "erasers.rlace",
        {"components": _whole(1, 1)},
    ),
    "sal": Eraser("SAL", "removes the directions in which vectors and gender vary together", "erasers.sal"),
    "random": Eraser(
        "random directions",
        "removes directions drawn at random; it is a control",
        "erasers.random",
        {"components": _whole(1, 1), "seed": _SEED},
    ),
}


PLAIN = "plain"  # the training as it is
GIVEN = "given"  # no training: the classifier is the user's
# What a strategy may need of a task. A kind of task says which of these its tasks have (tasks.kinds.Kind).
GROUP, ENGLISH, DOCUMENTS = (
    "a gender of each text",
    "English texts that can be scrubbed",
    "documents to read as a whole",
)
FIRST_TOKEN_HEAD, ADAPTED = "a classifier on the first token", "a training that takes a changed model"
DECIDED = "texts of yours on which a classifier can be tested (kind: classification)"
DECISIONS = "decided_texts"  # the datasets of a metric of its decisions


@dataclass(frozen=True)
class Strategy:
    """A way to debias a task's training, or to train it otherwise, mostly by changing the data.

    meaning: what it is, in words that follow the name and a colon; module: see `strategies`; that one itself has none
    of their functions; needs: what a task must have for it (GROUP and the like); text: which version of the task's
    texts the training reads; adapts: of one that changes the model that is trained, the key of the task with its
    options, whose JSON Schemas are `options` or in the schema of the task."""

    label: str
    meaning: str
    module: str = "strategies"
    needs: tuple[str, ...] = ()
    text: str = "raw"
    adapts: str = ""
    options: Mapping[str, Schema] = field(default_factory=dict)


STRATEGIES = {
    PLAIN: Strategy("none", "fine-tuning on the data as they are"),
    GIVEN: Strategy("as given", "a classifier of yours as it is, without any training", needs=(DECIDED,)),
    "oversampling": Strategy(
        "oversampling",
        "fine-tuning on data in which some people are repeated, so that every label has as many women as men",
        "strategies.balance",
        (GROUP,),
    ),
    "oversampling-keep": Strategy(
        "oversampling, all kept", "oversampling that keeps every person", "strategies.balance", (GROUP,)
    ),
    "subsampling": Strategy(
        "subsampling",
        "fine-tuning on data from which some people are left out, so that every label has as many women as men",
        "strategies.balance",
        (GROUP,),
    ),
    "scrubbing": Strategy(
        "scrubbing", "fine-tuning on texts without the words that tell gender", needs=(ENGLISH,), text="scrubbed"
    ),
    "adversarial": Strategy(
        "adversarial training",
        "fine-tuning against an adversary that learns to tell gender",
        "strategies.adversarial",
        (GROUP, FIRST_TOKEN_HEAD),
        adapts="adversary",
    ),
    "blind": Strategy(
        "BLIND",
        "fine-tuning in which an example counts less if a detector expects the classifier to be right about "
        "it (BLIND); it needs nobody's gender",
        "strategies.blind",
        (FIRST_TOKEN_HEAD,),
        adapts="blind",
    ),
    "lora": Strategy(
        "low-rank adapters",
        "fine-tuning in which only updates of low rank of the encoder's matrices are trained (LoRA)",
        "strategies.lora",
        (ADAPTED,),
        adapts="lora",
        options={
            "rank": {"description": "Rank of the updates. Default: 8.", **_whole(1)},
            "alpha": {"description": "The updates are multiplied by alpha / rank. Default: 16.", **_POSITIVE},
        },
    ),
    "doubled": Strategy(
        "none, data doubled",
        "fine-tuning on every document twice, as a control for the added copies of ca",
        "tasks.coreference.strategies",
        (DOCUMENTS,),
    ),
    "anon": Strategy(
        "anonymisation",
        "fine-tuning on documents without the names of persons",
        "tasks.coreference.strategies",
        (DOCUMENTS,),
    ),
    "ca": Strategy(
        "counterfactual augmentation",
        "fine-tuning on documents and their gender-swapped copies (counterfactual augmentation)",
        "tasks.coreference.strategies",
        (DOCUMENTS,),
    ),
    "anon+ca": Strategy(
        "anonymisation, augmentation",
        "fine-tuning on documents without names and their gender-swapped copies",
        "tasks.coreference.strategies",
        (DOCUMENTS,),
    ),
}
WITH = "with-"  # a strategy "with-<method>": that method is active in every forward pass of the training


@dataclass(frozen=True)
class Task:
    """A kind of task.

    folder: a package with task.py (how it trains, what it predicts; torch), plan.py (its data, and what a training and
    a readout need; tasks.kinds) and schema.yaml (its keys in the configuration). name: of one of several kinds in a
    folder, with <name>.py and <name>.yaml in the place of the last two."""

    label: str
    folder: str
    name: str = ""

    @property
    def module(self) -> str:
        return f"{self.folder}.task"

    @property
    def plan(self) -> str:
        """The module with its KIND."""
        return f"{self.folder}.{self.name or 'plan'}"

    @property
    def schema(self) -> str:
        """The file of its keys, in the package."""
        return f"{self.folder.replace('.', '/')}/{self.name or 'schema'}.yaml"


TASKS = {
    "nli": Task("natural language inference", "tasks.classification", "nli"),
    "glue": Task("GLUE", "tasks.classification", "glue"),
    "occupation": Task("occupation prediction", "tasks.classification", "occupation"),
    "classification": Task("classification of texts", "tasks.classification"),
    "coreference": Task("coreference resolution", "tasks.coreference"),
}


@dataclass(frozen=True)
class Readout:
    """A readout: what is computed from a model under methods with torch, and scored by metrics without it.

    module: has read(source, output, **options); head: the head that the model must have; suffix: of its files; rule:
    the name of its rule, empty for read_<name>; external: the module whose `read` makes the
    same file from those of an external encoder, empty if there is none; memory: in MB; runtime: in minutes; alone:
    whether it has a job of its own on a narrow encoder, too (see TOGETHER); draws: under how many draws of a control it
    is read, None for all: DEAR where each trains, keeps much, or reads every token, 1 where no bias is read."""

    label: str
    module: str
    head: str = "none"
    suffix: str = "parquet"
    rule: str = ""
    external: str = ""
    memory: int = 8000
    runtime: int = 120
    alone: bool = False
    draws: int | None = None


DEAR = 7
READOUTS = {
    "next_sentence": Readout(
        "next-sentence probabilities", "readouts.next_sentence", "next_sentence", external="readouts.external_items"
    ),
    "masked_words": Readout(
        "probabilities of masked words", "readouts.masked_words", "masked_lm", external="readouts.external_items"
    ),
    "losses": Readout("losses at masked tokens", "readouts.losses", "masked_lm", runtime=240, alone=True, draws=1),
    "likelihoods": Readout(
        "pseudo-log-likelihoods of sentences",
        "readouts.likelihoods",
        "masked_lm",
        external="readouts.external_items",
        runtime=240,
        alone=True,
        draws=DEAR,
    ),
    "pair_tokens": Readout(
        "predictions of the tokens of sentences in pairs",
        "readouts.pair_tokens",
        "masked_lm",
        runtime=240,
        alone=True,
        draws=DEAR,
    ),
    "fillings": Readout(
        "likeliest tokens for blanks", "readouts.fillings", "masked_lm", runtime=240, alone=True, draws=DEAR
    ),
    "vectors": Readout(
        "vectors of words and sentences", "readouts.vectors", suffix="safetensors", external="readouts.external_vectors"
    ),
    "sentence_vectors": Readout(
        "vectors of a sample of sentences", "readouts.sentence_vectors", suffix="safetensors", draws=1
    ),
    "document_similarities": Readout("similarities of queries to documents", "readouts.document_similarities"),
    "people_similarities": Readout(
        "similarities of queries for a profession to biographies",
        "readouts.people_similarities",
        suffix="safetensors",
    ),
    "rankings": Readout("ranked lists", "readouts.external_rankings", external="readouts.external_rankings"),
    "token_scores": Readout("scores of tokens", "readouts.token_scores"),
    "associations": Readout(
        "cosines of words in drawn contexts", "readouts.associations", suffix="safetensors", draws=DEAR
    ),
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
        alone=True,
    ),
    "first_token": Readout(
        "vectors of texts", "readouts.first_token", suffix="safetensors", memory=12000, runtime=240, draws=DEAR
    ),
    "probes": Readout("code lengths of gender", "readouts.probes", rule="probe_texts", runtime=240, draws=DEAR),
    "mlp_probes": Readout("code lengths of gender, with a hidden layer", "readouts.probes", runtime=240, draws=DEAR),
    "families": Readout("genders that probes of four families tell", "readouts.families", memory=12000, draws=DEAR),
    "word_families": Readout(
        "genders of words in context that probes of four families tell", "readouts.word_families", draws=DEAR
    ),
    "heads": Readout(
        "predictions of own and retrained heads",
        "readouts.heads",
        rule="heads_texts",
        external="readouts.external_predictions",
        memory=12000,
        draws=DEAR,
    ),
    "clusters": Readout(
        "predicted clusters of mentions",
        "readouts.clusters",
        rule="heads_documents",
        external="readouts.predicted_clusters",
        memory=12000,
        runtime=1440,
        alone=True,
        draws=DEAR,
    ),
    "professions": Readout("vectors of professions", "readouts.professions", suffix="safetensors"),
}
# A narrow encoder is read faster than a job starts. So one job makes all readouts of a block that are not `alone`; its
# entry, under this name, stands beside those of the readouts.
TOGETHER = "together"
JOBS_OF_READOUTS = READOUTS | {TOGETHER: Readout("what is read together", "", memory=12000, runtime=480)}


INSIDE, OUTSIDE, COST = "inside", "outside", "cost"


@dataclass(frozen=True)
class Beside:
    """A score that must be read together with a measure, and so stands beside it in tables.

    label: "" for one that is not shown; metric, part, variant: its keys in the table of scores (variant None: that of
    the measure); any_dataset: whether the model may be measured on another dataset (of several the largest score
    counts). If the score is at least `most` or below `least`, nothing is claimed from the measure, for the reason
    `why`."""

    label: str
    metric: str
    part: str = "-"
    variant: str | None = "-"
    least: float = -inf
    most: float = inf
    why: str = ""
    any_dataset: bool = False


ALWAYS, OVER_SEEDS = "always", "seeds"  # the second as in the column `interval` of matrix.csv


@dataclass(frozen=True)
class Measure:
    """A measure: one number that describes a model, one column of the matrix.

    meaning: what it measures, in words that follow the name and a colon; neutral: its value without bias; better:
    low, high or neutral (nearer to neutral); group: inside, outside, cost; part, variant: its keys in the table of
    scores; or_variants: other variants that a model may have instead; readings: variants that score the same test
    in another way; beside: the scores that must be read together with it; unsigned: whether it lies off neutral
    for models without bias, too, so that a difference from neutral shows nothing: ALWAYS (means of absolute values, a
    product with accuracy), or OVER_SEEDS, where intervals over items are compared with shuffled items
    (metrics.occupation), and those over seeds are not; noisy: whether the noise of few items moves the scores of all
    seeds alike, as that of gaps, so that seeds alone do not say how sure a change is; farthest: the largest distance
    from neutral that is possible, by which pictures put measures on one axis (inf: there is none)."""

    label: str
    meaning: str
    neutral: float
    better: str
    group: str
    part: str = "-"
    variant: str = "-"
    or_variants: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    beside: tuple[Beside, ...] = ()
    unsigned: str = ""
    noisy: bool = False
    farthest: float = inf


SENTENCE, FIRST_TOKEN, WORDS, TOKENS = "the sentence vector", "the first token", "words", "all tokens"
EMBEDDING = "the vector of the sentence encoder"  # as sentence-transformers makes it


@dataclass(frozen=True)
class Metric:
    """A module that computes scores from a readout, by its `score` or, if it has several metrics, `score_<metric>`.

    readout: what it scores; datasets: the function that lists its datasets, in plan.datasets or in the plans of tasks
    (then it is for the kinds of task that have the function); measures: the values of the column `metric` that are
    columns of the matrix; finetuned, pretrained: whether it measures fine-tuned models, and those that are not;
    untouched_only: whether it measures models without a method only; reads_states: the states of the last layer that
    it depends on (a method that changes only others cannot change the score); criticism: a known objection, one
    sentence with its source for the caption of the first table."""

    label: str
    module: str
    readout: str
    datasets: str
    measures: Mapping[str, Measure] = field(default_factory=dict)
    finetuned: bool = True
    pretrained: bool = True
    untouched_only: bool = False
    reads_states: str = SENTENCE
    criticism: str = ""

    def rows(self) -> dict[tuple[str, str, str], Measure]:
        """Metric, part and variant of the scores that are cells of the matrix -> their measure."""
        return {
            (name, measure.part, variant): measure
            for name, measure in self.measures.items()
            for variant in (measure.variant, *measure.or_variants)
        }


TRAINING = "training"  # not a readout: the facts that a fine-tuning recorded are scored directly


def metric_of(about: Mapping) -> Metric:
    """The metric of an entry of data/metrics.yaml, whose keys are the fields of Metric, Measure and Beside. TypeError
    for an unknown key, and where one is missing."""
    return Metric(**{**about, "measures": {name: _measure(keys) for name, keys in about.get("measures", {}).items()}})


def _measure(about: Mapping) -> Measure:
    several = {key: tuple(about[key]) for key in ("or_variants", "readings") if key in about}
    return Measure(**{**about, **several, "beside": tuple(Beside(**other) for other in about.get("beside", ()))})


_DESCRIBED = yaml.load(shipped("data/metrics.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader)
METRICS = {name: metric_of(about) for name, about in _DESCRIBED["metrics"].items()}


@dataclass(frozen=True)
class Paper:
    """A paper or a study: a package under papers/ or studies/ with its blocks of the plan, its tables and figures.

    tasks: its options that name tasks -> the kind of these tasks."""

    label: str
    module: str
    tasks: Mapping[str, str] = field(default_factory=dict)


PAPERS = {
    "liang2020": Paper("DensRay (Liang, Dufter and Schütze 2020)", "papers.liang2020", {"tasks": "glue"}),
    "dawkins2024": Paper("Projective debiasing (Dawkins et al. 2024)", "papers.dawkins2024", {"task": "nli"}),
    "orgad2022": Paper(
        "Debiasing and internal representations (Orgad, Goldfarb-Tarrant and Belinkov 2022)",
        "papers.orgad2022",
        {"task": "occupation", "coreference": "coreference"},
    ),
    "planted": Paper("Measures judged by planted bias", "studies.planted"),
    "calibrated": Paper("Measures calibrated on your encoder", "studies.calibrated"),
}


def rule_of(readout: str) -> str:
    """The name of the rule whose jobs make a readout, or several together: "read_vectors"."""
    return JOBS_OF_READOUTS[readout].rule or f"read_{readout}"


class Entry(Protocol):
    """An entry of the registry that a module implements."""

    module: str


def module_of(entry: Entry) -> str:
    """The full name of the module that implements an entry: "biasflow.erasers.leace"."""
    return f"{PACKAGE}.{entry.module}"


def external_module(readout: Readout) -> str:
    """The full name of the module that makes a readout from the files of an external encoder."""
    return f"{PACKAGE}.{readout.external}"
