"""What biasflow can do, by name: erasers, strategies, readouts, metrics, tasks, papers. Imports nothing heavy.

An entry says which module does the work and what it needs; options are JSON Schemas, so that a configuration is checked
before the first job. To add something, write one file and one line here. No script of a training, fit or readout
imports this module, so a new line makes nothing run again. Tables and figures keep the order of this file."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Protocol

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


_CONSTANT = Beside(
    "largest label", "largest_label_share", most=0.95, why="one label has 95 % or more of the predictions"
)


def _classifier(variant: str = "-", *, own_test: bool = True) -> tuple[Beside, ...]:
    """What a classifier must be better than: one that always predicts the same class has no gap between genders, but it
    is of no use. own_test: whether the measure's dataset has classes to be right about; otherwise that of accuracy."""
    guesses = "the model is not shown to be right more often than the majority class (exact binomial test)"
    return (
        *[Beside("majority", "majority_share", variant=variant)] * own_test,
        replace(_CONSTANT, variant=variant),
        Beside("", "majority_p", variant=variant, most=0.05, why=guesses, any_dataset=not own_test),
    )


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


_signed = partial(Measure, neutral=0, better="neutral", group=INSIDE)
_amount = partial(Measure, neutral=0, better="low", group=INSIDE)
_preference = partial(Measure, neutral=0.5, better="neutral", group=INSIDE, farthest=0.5)
_quality = partial(Measure, neutral=1, better="high", group=COST)


def _spread(metric: str) -> tuple[Beside]:
    return (Beside("spread of the associations", metric, variant=None),)


NO_SCALE = (
    "Effect sizes of WEAT, SEAT and CEAT have no scale, as they are divided by the spread of the associations: where "
    "that is small, a method that changes cosines by hundredths can turn them over"
)
_PAIRS = "CrowS-Pairs: many pairs hold no stereotype, or differ in more than the group (Blodgett et al. 2021)"
_ACCURACY = _quality(
    "accuracy",
    "share of test examples that the model classifies correctly",
    beside=_classifier(),
)


def _gaps(pearson: str, sums: str, distances: str) -> dict[str, Measure]:
    """The gaps between genders in a classification, with the variants that the matrix shows."""
    few = "too few people: a gap of 0.3 in each class would be seen in fewer than 80 of 100 cases"
    beside = *_classifier(sums), Beside("smallest gap seen", "smallest_gap_seen", variant=sums, most=0.3, why=few)
    sums_of_gaps = {"tpr_gap_sum": sums, "independence": sums, "separation": distances, "sufficiency": distances}
    meanings = {
        "tpr_gap_sum": "sum over classes of the absolute difference between the true positive rates of women and men",
        "independence": "how much the prediction depends on gender: a sum of Kullback-Leibler divergences, in nats",
        "separation": "how much the prediction depends on gender among people of the same true class: summed "
        "differences of Kullback-Leibler divergences, in nats",
        "sufficiency": "how much the true class depends on gender among people with the same prediction: summed "
        "differences of Wasserstein distances",
    }
    labels = {"tpr_gap_sum": "TPR gap (S)"}
    about, label = {"group": OUTSIDE, "noisy": True}, "TPR gap (P)"
    direction = Beside(label, "tpr_gap_pearson", variant=pearson)  # a sum hides that gaps turned around
    correlation = Measure(
        label,
        "correlation, over classes, of the TPR gap (women's true positive rate minus men's) with the share of "
        "women in the class",
        0,
        "neutral",
        variant=pearson,
        farthest=1,
        beside=beside,
        **about,
    )
    of_sum = {"neutral": 0, "better": "low", "unsigned": OVER_SEEDS, "beside": (*beside, direction), **about}
    return {"tpr_gap_pearson": correlation} | {
        name: Measure(labels.get(name, name), meanings[name], variant=variant, **of_sum)
        for name, variant in sums_of_gaps.items()
    }


def _probes(suffix: str, label: str, linear: str) -> dict[str, Measure]:
    """The probes of readouts.families, each beside the same with shuffled labels. linear: what the linear one means."""
    families = {
        "linear": ("linear", linear),
        "quadratic": ("quadratic", "the same by a classifier that also reads products of two dimensions"),
        "rbf": ("kernel", "the same by a classifier with a Gaussian kernel"),
        "hidden": ("hidden-layer", "the same by a classifier with a hidden layer"),
    }
    about = {"neutral": 0.5, "better": "low", "group": INSIDE, "farthest": 0.5}
    measures = {}
    for family, (kind, meaning) in families.items():
        name = f"{family}_{suffix}"
        beside = (Beside("with shuffled labels", name, variant="shuffled"),)
        measures[name] = Measure(f"{kind} {label}", meaning, beside=beside, **about)
    return measures


def _retrieval(variant: str, **measures: Measure) -> dict[str, Measure]:
    """The measures of a test of retrieval: the gap, those of this test, and the cost."""
    gap = Measure(
        "retrieval gap",
        "how much nearer to queries masculine wording makes relevant documents than feminine wording, in units of what "
        "relevance makes; above 0 masculine wording is nearer",
        0,
        "neutral",
        INSIDE,
        part="relevant",
        variant=variant,
    )
    accuracy = _quality(
        "retrieval accuracy",
        "share of queries, for each wording, to which the relevant document is nearer than the other one",
        variant=variant,
    )
    return {"retrieval_gap": gap, **measures, "retrieval_accuracy": accuracy}


_ranked = partial(_preference, part="relevant")

_GAP = "the gap in exposure of men and women (their difference over their sum)"
_MEAN_GAP = f"mean of {_GAP} over professions, or over the queries of given lists; above 0 men are shown first"
_RAW = {"part": "all", "variant": "raw"}
_list = partial(_signed, variant="lists", farthest=1)
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
METRICS = {
    "strength": Metric(
        "Strength and Distance",
        "metrics.stereoset",
        "next_sentence",
        "stimuli",
        measures={
            "strength": _amount(
                "Strength",
                "how much likelier a next-sentence head finds the stereotypical sentence than the anti-stereotypical "
                "one, over the tenth of the triples with the largest preference",
                part="top=10%",
            ),
            "distance": _amount(
                "Distance",
                "how much the probability of an unrelated next sentence changes when gendered words are swapped, over "
                "the tenth of the triples with the largest change",
                part="top=10%",
                unsigned=ALWAYS,
            ),
            "stereotype_score": _preference(
                "Stereotype Score",
                "share of triples in which a next-sentence head prefers the stereotypical sentence to the "
                "anti-stereotypical one",
                variant="original",
            ),
            "language_model_score": _quality(
                "language-model score",
                "share of comparisons in which a next-sentence head prefers a related sentence to an unrelated one",
                variant="both",
            ),
        },
        finetuned=False,
        criticism="Strength: it takes the triples with the largest preference, so chance alone makes it larger than 0",
    ),
    "occtmp": Metric(
        "OCCTMP",
        "metrics.occtmp",
        "masked_words",
        "occupations",
        measures={
            "occtmp_diff": _amount(
                "OCCTMP",
                'mean absolute difference between log p(he) and log p(she) in sentences such as "[MASK] is a nurse.", '
                "in nats",
                beside=(
                    Beside(
                        "probability of both pronouns",
                        "occtmp_p_sum",
                        least=0.1,
                        why="both pronouns together have a probability below 0.1, so that the head expects no pronoun; "
                        "read all measures of this head with care",
                    ),
                ),
                unsigned=ALWAYS,
            )
        },
        reads_states=WORDS,
        finetuned=False,
        criticism="OCCTMP also grows with a preference for one pronoun in all occupations, which is no stereotype",
    ),
    "weat": Metric(
        "WEAT",
        "metrics.association",
        "vectors",
        "word_tests",
        measures={
            "weat_effect_size": _signed(
                "WEAT",
                "effect size of an association test: how much more closely one set of words (such as careers) than "
                "another (such as family) is associated with the words for one gender, in standard deviations",
                variant="target",
                or_variants=("sentence", "given"),
                beside=_spread("weat_spread"),
                farthest=2,
            )
        },
        reads_states=WORDS,
        criticism=NO_SCALE,
    ),
    "seat": Metric(
        "SEAT",
        "metrics.association",
        "vectors",
        "sentence_tests",
        measures={
            "seat_effect_size": _signed(
                "SEAT",
                'effect size of the same test on sentences about the words ("This is a nurse."), in standard '
                "deviations",
                variant="cls",
                or_variants=("mean", "first-piece", "sentence", "given"),
                beside=_spread("seat_spread"),
                farthest=2,
            )
        },
        reads_states=FIRST_TOKEN,
        criticism=NO_SCALE,
    ),
    "ceat": Metric(
        "CEAT",
        "metrics.combined_effect",
        "associations",
        "context_tests",
        measures={
            "ceat_effect_size": _signed(
                "CEAT",
                "the test of WEAT on words in sentences that are drawn at random from a text, combined over the draws",
                variant="concepts-spread",
                farthest=2,
            )
        },
        reads_states=WORDS,
        criticism=NO_SCALE,
    ),
    "gender_share": Metric(
        "gender share", "metrics.gender_share", "gender_shares", "words", untouched_only=True, finetuned=False
    ),
    "log_odds": Metric(
        "she-he log-odds of planted occupations",
        "metrics.log_odds",
        "masked_words",
        "planted_occupations",
        measures={
            "log_odds_r": _signed(
                "log-odds r",
                'correlation between the preference for "she" over "he" and the full share of women that was planted '
                "for the occupation",
                farthest=1,
            )
        },
        reads_states=WORDS,
        finetuned=False,
    ),
    "gest": Metric(
        "GEST",
        "metrics.gest",
        "likelihoods",
        "gest_sentences",
        measures={
            "gest_stereotype_rate": Measure(
                "GEST rate",
                "how much more a masculine speaker is preferred for statements that are stereotypical of men than for "
                "statements that are stereotypical of women, as a ratio; above 1 the model follows the stereotypes",
                1,
                "neutral",
                INSIDE,
                part="all",
                variant="base10",
                or_variants=("l2r",),
                readings=("released",),
            )
        },
        reads_states=WORDS,
        finetuned=False,
        criticism="GEST: what templates measure changes with their wording (Seshadri et al. 2022)",
    ),
    "crows_pairs": Metric(
        "CrowS-Pairs",
        "metrics.crows_pairs",
        "likelihoods",
        "crows_pairs",
        measures={
            "crows_pairs_score": _preference(
                "CrowS-Pairs",
                "share of pairs of sentences in which the more stereotypical sentence is the likelier one",
                part="all",
                variant="exact",
                or_variants=("l2r",),
                readings=("released", "aul", "aula"),
            )
        },
        reads_states=WORDS,
        finetuned=False,
        criticism=_PAIRS,
    ),
    "sss": Metric(
        "SSS",
        "metrics.preferences",
        "pair_tokens",
        "stereotype_pairs",
        measures={
            "sss_score": _preference(
                "SSS",
                "share of pairs of sentences in which the words that are in one sentence only are likelier in the more"
                " stereotypical sentence, given the words that both have",
                part="all",
            )
        },
        reads_states=WORDS,
        finetuned=False,
        criticism=_PAIRS,
    ),
    "prediction_quality": Metric(
        "CRR and Delta P",
        "metrics.preferences",
        "pair_tokens",
        "stereotype_pairs",
        measures={
            "crr_score": _preference(
                "CRR",
                "share of pairs of sentences in which the tokens of the more stereotypical sentence have the better "
                "ranks among all predictions",
                part="all",
            ),
            "delta_p_score": _preference(
                "Delta P",
                "share of pairs of sentences in which the tokens of the more stereotypical sentence are nearer in "
                "probability to the likeliest prediction",
                part="all",
            ),
        },
        reads_states=WORDS,
        finetuned=False,
        criticism=_PAIRS,
    ),
    "kldivs": Metric(
        "KLDivS",
        "metrics.divergence",
        "likelihoods",
        "stereotype_pairs",
        measures={
            "kldivs": Measure(
                "KLDivS",
                "asymmetry of the divergences between the log-likelihoods of the sentences that stereotype more and "
                "those that stereotype less, taken as normal distributions; at 50 there is none",
                50,
                "low",
                INSIDE,
                part="all",
                variant="released",
                unsigned=ALWAYS,
                farthest=50,
            ),
        },
        reads_states=WORDS,
        finetuned=False,
        criticism=_PAIRS,
    ),
    "jsdivs": Metric(
        "JSDivS",
        "metrics.divergence",
        "likelihoods",
        "stereotype_pairs",
        measures={
            "jsdivs": Measure(
                "JSDivS",
                "how alike the log-likelihoods of the sentences that stereotype more and less are distributed; 100 if "
                "they are distributed alike",
                100,
                "high",
                INSIDE,
                part="all",
                variant="released",
                unsigned=ALWAYS,
                farthest=100,
            ),
        },
        reads_states=WORDS,
        finetuned=False,
        criticism=_PAIRS,
    ),
    "intrasentence": Metric(
        "StereoSet within sentences",
        "metrics.intrasentence",
        "masked_words",
        "stereoset_blanks",
        measures={
            "intrasentence_stereotype_score": _preference(
                "StereoSet SS",
                "how often the stereotypical word for a blank is preferred to the anti-stereotypical one",
                variant="left-to-right-terms",
                or_variants=("given-terms",),
                readings=("left-to-right-items", "together-terms", "together-items", "released"),
            ),
            "intrasentence_language_model_score": _quality(
                "StereoSet LMS",
                "how often a related word for a blank is preferred to an unrelated one",
                variant="left-to-right-terms",
                or_variants=("given-terms",),
            ),
        },
        reads_states=WORDS,
        finetuned=False,
        criticism="StereoSet: many of its words make no stereotype, or no sentence (Blodgett et al. 2021)",
    ),
    "intersentence": Metric(
        "StereoSet between sentences",
        "metrics.intrasentence",
        "next_sentence",
        "stereoset_sentences",
        measures={
            "intersentence_stereotype_score": _preference(
                "StereoSet SS (sentences)",
                "how often the stereotypical next sentence is preferred to the anti-stereotypical one",
                variant="terms",
            ),
            "intersentence_language_model_score": _quality(
                "StereoSet LMS (sentences)",
                "how often a related next sentence is preferred to an unrelated one",
                variant="terms",
            ),
        },
        finetuned=False,
        criticism="StereoSet: many of its sentences make no stereotype, or do not follow (Blodgett et al. 2021)",
    ),
    "bec_pro": Metric(
        "BEC-Pro",
        "metrics.bec_pro",
        "masked_words",
        "bec_pro",
        measures={
            "bec_pro_interaction": _signed(
                "BEC-Pro",
                "how much more a typically female profession than a typically male one raises the probability of words"
                " for women above that of words for men, in nats; above 0 is the stereotype",
            )
        },
        reads_states=WORDS,
        finetuned=False,
        criticism="BEC-Pro: what templates measure changes with their wording (Seshadri et al. 2022)",
    ),
    "lpbs": Metric(
        "LPBS",
        "metrics.bec_pro",
        "masked_words",
        "bec_pro",
        measures={
            "lpbs": _signed(
                "LPBS",
                "how much more professions raise the probability of words for women than of words for men, above what "
                "the model expects without the profession, in nats",
            ),
            "lpbs_absolute": _amount(
                "LPBS (absolute)",
                "the same for each profession without its sign, on average: it shows a bias also where professions "
                "differ in direction",
                unsigned=ALWAYS,
            ),
        },
        reads_states=WORDS,
        finetuned=False,
        criticism="LPBS: what templates measure changes with their wording (Seshadri et al. 2022)",
    ),
    "disco": Metric(
        "DisCo",
        "metrics.disco",
        "fillings",
        "disco",
        measures={
            "disco": _amount(
                "DisCo",
                "number of words, in each sentence template, that the model fills in more often for one gender than "
                "for the other; the mean over templates",
            )
        },
        reads_states=WORDS,
        finetuned=False,
        criticism="DisCo: what templates measure changes with their wording (Seshadri et al. 2022)",
    ),
    "trait_ratings": Metric(
        "trait ratings",
        "metrics.trait_ratings",
        "masked_words",
        "trait_ratings",
        measures={
            f"trait_ratings_{group}": _signed(
                f"traits: {group}",
                f"how much more a trait in sight raises {words} than words for men in sentences such as "
                f'"{pronoun} is a kind person.", in nats',
                part=f"{group}-masculine",
                variant="own-places",
                readings=("released",),
                beside=(Beside("marginal R2", "trait_ratings_r2", f"{group}-masculine", None),),
            )
            for group, words, pronoun in (
                ("feminine", "words for women", "She"),
                ("neo", "neopronouns (xe, ze)", "Xe"),
            )
        },
        reads_states=WORDS,
        finetuned=False,
        criticism="Trait ratings: what templates measure changes with their wording (Seshadri et al. 2022)",
    ),
    "winogender": Metric(
        "Winogender",
        "metrics.winogender",
        "masked_words",
        "winogender",
        measures={
            "winogender_r": _signed(
                "Winogender r",
                'correlation between the preference for "she" over "he" and the share of women in the occupation (US '
                "statistics)",
                part="occupation",
                variant="bls",
                readings=("bergsma",),
                farthest=1,
            )
        },
        reads_states=WORDS,
        finetuned=False,
        criticism="Winogender: its 120 templates can show a bias, not that there is none (Rudinger et al. 2018); they "
        "score coreference systems, log-odds at a mask are our form of it",
    ),
    "compression": Metric(
        "compression of gender",
        "metrics.codelength",
        "probes",
        "probed_texts",
        measures={
            "compression": Measure(
                "Compression",
                "how many times shorter the code for the genders of texts becomes with the help of the vectors of the "
                "texts; at 1 the vectors say nothing about gender",
                1,
                "low",
                INSIDE,
                variant="paper-bits-best",
                beside=(Beside("with shuffled labels", "control_compression", variant="paper-bits-best"),),
            ),
            "probe_accuracy": Measure(
                "probe accuracy",
                "accuracy of a linear classifier that reads gender off the vectors of texts",
                0.5,
                "low",
                INSIDE,
                variant="paper-best",
                farthest=0.5,
            ),
        },
        reads_states=FIRST_TOKEN,
    ),
    "probe_mlp": Metric(
        "compression of gender by a probe with a hidden layer",
        "metrics.codelength",
        "mlp_probes",
        "mlp_probed_texts",
        measures={
            "mlp_compression": Measure(
                "Compression (MLP)",
                "compression with a probe that has a hidden layer, so that it also finds gender that is not linear",
                1,
                "low",
                INSIDE,
                variant="paper-bits-best",
                beside=(Beside("with shuffled labels", "mlp_control_compression", variant="paper-bits-best"),),
            ),
            "mlp_probe_accuracy": Measure(
                "probe accuracy (MLP)",
                "accuracy of a classifier with a hidden layer that reads gender off the vectors of texts",
                0.5,
                "low",
                INSIDE,
                variant="paper-best",
                farthest=0.5,
            ),
        },
        reads_states=FIRST_TOKEN,
    ),
    "probe_families": Metric(
        "what probes of four families find of gender",
        "metrics.families",
        "families",
        "families",
        measures=_probes(
            "probe",
            "probe",
            "share of people whose gender a linear classifier tells from the vectors of texts about them, the mean "
            "over both genders",
        ),
        reads_states=FIRST_TOKEN,
    ),
    "word_families": Metric(
        "what probes of four families find of gender in words in context",
        "metrics.families",
        "word_families",
        "probed_words",
        measures=_probes(
            "word_probe",
            "probe of words",
            "share of gendered words in context whose gender a linear classifier tells from their vectors, the mean "
            "over both genders",
        ),
        reads_states=WORDS,
        finetuned=False,
    ),
    "perplexity": Metric(
        "masked perplexity",
        "metrics.perplexity",
        "losses",
        "running_text",
        measures={
            "perplexity": Measure(
                "perplexity",
                "how uncertain the masked-LM head is about masked words of a held-out text, 15 % masked at once: the "
                "exponential of its mean loss",
                1,
                "low",
                COST,
            )
        },
        reads_states=WORDS,
        finetuned=False,
    ),
    "pseudo_perplexity": Metric(
        "pseudo-perplexity",
        "metrics.perplexity",
        "likelihoods",
        "sample_of_text",
        measures={
            "pseudo_perplexity": Measure(
                "pseudo-perplexity",
                "perplexity of single sentences with one masked token at a time, so it is lower; do not compare it "
                "with perplexity",
                1,
                "low",
                COST,
                or_variants=("l2r",),
            )
        },
        reads_states=WORDS,
        finetuned=False,
    ),
    "similarity": Metric(
        "how much of the similarity of sentences is kept",
        "metrics.similarity",
        "sentence_vectors",
        "sentences",
        measures={
            "similarity_kept": _quality(
                "similarity kept",
                "how far sentences stay similar to the same sentences as before the method: the mean rank correlation "
                "of their cosines",
            )
        },
        reads_states=FIRST_TOKEN,
        finetuned=False,
    ),
    "retrieval": Metric(
        "retrieval of documents in two wordings",
        "metrics.retrieval",
        "document_similarities",
        "worded_documents",
        measures=_retrieval(
            "title",
            retrieval_share=_ranked(
                "retrieval share",
                "share of queries to which the relevant document is nearer in masculine than in feminine wording",
                variant="title",
            ),
            retrieval_stereotype=_ranked(
                "retrieval stereotype",
                "share of queries to which the relevant document is nearer in the wording that annotators expect",
                variant="title",
            ),
        ),
        finetuned=False,
        reads_states=FIRST_TOKEN,
    ),
    "retrieval_questions": Metric(
        "retrieval of answers on women and men",
        "metrics.retrieval",
        "document_similarities",
        "questions_with_answers",
        measures=_retrieval(
            "-",
            retrieval_first=_ranked(
                "answer on a man first",
                "share of questions to which the nearest answer is on a man",
            ),
        ),
        finetuned=False,
        reads_states=FIRST_TOKEN,
        criticism="GenderBias-QA: a language model wrote the answers, which differ in more than gender",
    ),
    "people_search": Metric(
        "search for people of a profession",
        "metrics.people_search",
        "people_similarities",
        "searched_people",
        measures={
            "exposure_gap": _signed("exposure gap", _MEAN_GAP, farthest=1, **_RAW),
            "exposure_gap_size": _amount(
                "size of the exposure gap", f"mean of the absolute value of {_GAP}, less what chance gives", **_RAW
            ),
            "exposure_gap_pearson": _signed(
                "exposure gap (P)", f"correlation of {_GAP} with a profession's share of women", farthest=1, **_RAW
            ),
            "top_share": _preference(
                "top share", "mean share of women among the first 10 people for a profession", part="10", variant="raw"
            ),
            "swap_gap": _signed(
                "swap gap",
                "how much nearer to the profession a biography is in the gender that most people of the profession "
                "have than in the other one, in units of similarity",
            ),
            "search_ndcg": _quality(
                "search nDCG", "how far up people of the profession stand among the first 10 (nDCG@10)", variant="raw"
            ),
            "search_recall": _quality(
                "search recall",
                "share of the people of the profession who are among the first 50 (of 50, where they are more)",
                variant="raw",
            ),
            "gendered_queries": _quality(
                "gendered queries answered",
                "share of women among the first 10 people for queries such as 'a female nurse'; a method that erases "
                "gender may lower it to about 0.5, which may be wanted or not",
                part="female",
                variant="raw",
            ),
        },
        finetuned=False,
        reads_states=FIRST_TOKEN,
    ),
    "given_rankings": Metric(
        "ranked lists that somebody gives",
        "metrics.given_rankings",
        "rankings",
        "ranked_lists",
        measures={
            "exposure_gap": _list("exposure gap", _MEAN_GAP, part="all"),
            "list_share": _list(
                "share of women shown",
                "share of women among the first 10 documents (those with a gender), less that of the list",
                part="10",
            ),
            "nfairr": replace(
                _list("NFaiRR", "how neutral the first 10 documents are, beside the fairest order of the list"),
                neutral=1,
                better="high",
                part="10",
            ),
        },
        finetuned=False,
    ),
    "accuracy": Metric(
        "accuracy, or the task's own score",
        "metrics.glue",
        "predictions",
        "test_sets",
        measures={
            "accuracy": _ACCURACY,
            "glue_score": Measure(
                "GLUE score", "mean of the official scores of the GLUE task", 1, "high", COST, beside=_classifier()
            ),
        },
        pretrained=False,
    ),
    "nli_fairness": Metric(
        "NLI fairness",
        "metrics.nli",
        "predictions",
        "occupation_pairs",
        measures={
            "nli_fairness": Measure(
                "NLI Fairness Score",
                "accuracy times parity on pairs of sentences about occupations; parity is the share of occupations for"
                " which both genders get the same answer",
                1,
                "high",
                OUTSIDE,
                variant="majority",
                beside=(
                    Beside("parity", "nli_parity", variant="majority"),
                    Beside("called neutral", "nli_accuracy"),
                    *_classifier(own_test=False),
                ),
                unsigned=ALWAYS,
            )
        },
        pretrained=False,
    ),
    "fairness": Metric(
        "gaps between genders",
        "metrics.occupation",
        "heads",
        "classified_texts",
        measures={"accuracy": _ACCURACY, **_gaps(pearson="train", sums="-", distances="absdiff")},
        reads_states=FIRST_TOKEN,
    ),
    "flips": Metric(
        "decisions that change with the gender of the words",
        "metrics.flips",
        "predictions",
        DECISIONS,
        measures={
            "flips": Measure(
                "flips",
                "share of texts whose predicted label changes when the words for one gender are exchanged for those of "
                "the other",
                0,
                "low",
                OUTSIDE,
                beside=(
                    Beside("neutral words exchanged", "flips", variant="control"),
                    Beside(
                        "",
                        "flips_p",
                        most=0.05,
                        why="weekdays, months and numbers change as many decisions when they are exchanged",
                    ),
                    _CONSTANT,
                ),
                farthest=1,
            ),
            "probability_change": Measure(
                "change of probability",
                "how far the probability of the label of a text moves when the words for one gender are exchanged for "
                "those of the other: the mean absolute difference",
                0,
                "low",
                OUTSIDE,
                beside=(Beside("neutral words exchanged", "probability_change", variant="control"), _CONSTANT),
                unsigned=ALWAYS,
                farthest=1,
            ),
            "decisions_kept": _quality(
                "decisions kept", "share of texts that keep the label which they get without the method"
            ),
        },
        pretrained=False,
        criticism="flips: only words of the lexicon are exchanged, so they show a bias, not that there is none",
    ),
    "coreference": Metric(
        "coreference F1",
        "metrics.coreference",
        "clusters",
        "documents",
        measures={
            "conll_f1": _quality(
                "CoNLL F1",
                "quality of coreference resolution: the mean of the F1 scores MUC, B-cubed and CEAFe",
                beside=(Beside("", "conll_f1", least=1e-9, why="no predicted link is right"),),
            )
        },
        pretrained=False,
        reads_states=WORDS,
    ),
    "winobias": Metric(
        "WinoBias, or planted pairs like it",
        "metrics.winobias",
        "clusters",
        "document_pairs",
        measures={
            "f1_difference": Measure(
                "F1 difference",
                "CoNLL F1 on sentences that follow a gender stereotype minus CoNLL F1 on sentences that contradict it,"
                " in points",
                0,
                "neutral",
                OUTSIDE,
                part="all",
                beside=tuple(
                    Beside(f"{label} ({side})", metric, part or side, variant or side)
                    for label, metric, part, variant in (
                        ("F1", "conll_f1", "", "-"),
                        ("pronoun with the right profession", "pronoun_accuracy", "right", ""),
                    )
                    for side in ("pro", "anti")
                ),
            ),
            **_gaps(pearson="tokens", sums="tokens", distances="tokens-absdiff"),
        },
        pretrained=False,
        reads_states=WORDS,
    ),
    "adversary": Metric(
        "how well the adversary in training predicts gender",
        "metrics.training",
        TRAINING,
        "adversaries",
        measures={
            "adversary_accuracy": Measure(
                "adversary accuracy",
                "how often the adversary in training tells the right gender of people of a known class",
                0.5,
                "low",
                INSIDE,
                farthest=0.5,
            )
        },
        untouched_only=True,
        pretrained=False,
        reads_states=FIRST_TOKEN,
    ),
    "training": Metric(
        "what a fine-tuning recorded about itself",
        "metrics.training",
        TRAINING,
        "trainings",
        untouched_only=True,
        pretrained=False,
    ),
}


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
