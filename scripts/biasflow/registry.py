"""What biasflow can do, by name: erasers, strategies, readouts, metrics, tasks, papers. Imports nothing heavy.

An entry says which module does the work and what it needs; options are JSON Schemas, so that a configuration is checked
before the first job. Adding something is one file and one line here: no script of a training, fit or readout imports
this module, so that a new line runs nothing again. The order here is that of tables and figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    "random": Eraser("random directions", "erasers.random", {"components": _whole(1, 1), "seed": _SEED}),
}


@dataclass(frozen=True)
class Strategy:
    """How a task's training is debiased, by its data before all. kinds: the kinds of task that have it (none named:
    all); text: which version of the task's texts it trains on; adversary: whether it is trained against one."""

    label: str
    module: str
    kinds: tuple[str, ...] = ()
    text: str = "raw"
    adversary: bool = False


STRATEGIES = {
    "plain": Strategy("none", "strategies.plain"),
    "oversampling": Strategy("oversampling", "strategies.balance", ("occupation",)),
    "oversampling-keep": Strategy("oversampling, all kept", "strategies.balance", ("occupation",)),
    "subsampling": Strategy("subsampling", "strategies.balance", ("occupation",)),
    "scrubbing": Strategy("scrubbing", "strategies.scrubbing", ("occupation",), text="scrubbed"),
    "adversarial": Strategy("adversarial training", "strategies.adversarial", ("occupation",), adversary=True),
    "doubled": Strategy("none, data doubled", "tasks.coreference.strategies", ("coreference",)),
    "anon": Strategy("anonymisation", "tasks.coreference.strategies", ("coreference",)),
    "ca": Strategy("counterfactual augmentation", "tasks.coreference.strategies", ("coreference",)),
    "anon+ca": Strategy("anonymisation, augmentation", "tasks.coreference.strategies", ("coreference",)),
}
WITH = "with-"  # a strategy "with-<method>": that method is active in every forward pass of the training


@dataclass(frozen=True)
class Task:
    """A kind of task. folder: a package with task.py (how it trains, what it predicts; torch), plan.py (its data, and
    what a training and a reading take; asking.tasks) and schema.yaml (its keys in the configuration); files: what a
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
    "coreference": Task("coreference resolution", "tasks.coreference", ("scorer.safetensors",)),
}


@dataclass(frozen=True)
class Readout:
    """What is read from a model under methods. module: has read(source, output, **options). head: what the model must
    have. suffix: of its files. rule: of its jobs. external: the module that makes the same of files that an encoder of
    source external gives, by its read(given, data, output); empty where there is none. alone: whether it is worth a job
    of its own on a narrow encoder, too (see TOGETHER)."""

    label: str
    module: str
    head: str = "none"
    suffix: str = "parquet"
    rule: str = ""
    external: str = ""
    memory: int = 8000  # MB
    runtime: int = 120  # minutes
    alone: bool = False


READOUTS = {
    "next_sentence": Readout("next-sentence probabilities", "readouts.next_sentence", "next_sentence"),
    "masked_words": Readout("probabilities of masked words", "readouts.masked_words", "masked_lm"),
    "losses": Readout("losses at masked tokens", "readouts.losses", "masked_lm", runtime=240, alone=True),
    "likelihoods": Readout(
        "pseudo-log-likelihoods of sentences", "readouts.likelihoods", "masked_lm", runtime=240, alone=True
    ),
    "vectors": Readout("vectors of words and sentences", "readouts.vectors", suffix="safetensors"),
    "sentence_vectors": Readout("vectors of a sample of sentences", "readouts.sentence_vectors", suffix="safetensors"),
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
        alone=True,
    ),
    "first_token": Readout("vectors of texts", "readouts.first_token", suffix="safetensors", memory=12000, runtime=240),
    "probes": Readout("code lengths of gender", "readouts.probes", rule="probe_texts", runtime=240),
    "heads": Readout("predictions of own and retrained heads", "readouts.heads", rule="heads_texts", memory=12000),
    "clusters": Readout(
        "predicted clusters of mentions",
        "readouts.clusters",
        rule="heads_documents",
        external="readouts.external_clusters",
        memory=12000,
        runtime=1440,
        alone=True,
    ),
    "professions": Readout("vectors of professions", "readouts.professions", suffix="safetensors"),
}
# A narrow encoder is read in less time than a job takes to start: what of a block is not `alone` is one job, which
# stands beside the readouts under this name.
TOGETHER = "together"
JOBS_OF_READOUTS = READOUTS | {TOGETHER: Readout("what is read together", "", memory=12000, runtime=480)}


INSIDE, OUTSIDE, COST = "inside", "outside", "cost"


@dataclass(frozen=True)
class Beside:
    """A score without which a measure cannot be read, and which stands beside it: metric, part and variant (None: the
    measure's own) of the table of scores. Where it is at least `most`, or below `least`, the measure claims nothing,
    and `why` says so."""

    label: str
    metric: str
    part: str = "-"
    variant: str | None = "-"
    least: float = -inf
    most: float = inf
    why: str = ""


def _one_label(variant: str = "-") -> tuple[Beside]:
    """A model that always predicts the same has no gap between genders, and no use."""
    why = "one label has 95 % or more of the predictions"
    return (Beside("share of the most frequent label", "largest_label_share", variant=variant, most=0.95, why=why),)


@dataclass(frozen=True)
class Measure:
    """One column of the matrix. better: low, high or neutral (nearer to neutral); group: inside, outside, cost;
    or_variants: those that a model may have in place of its variant; beside: what it cannot be read without; unsigned:
    a mean of absolute values, which no model has at neutral, so that a difference from it is no finding."""

    label: str
    neutral: float
    better: str
    group: str
    part: str = "-"
    variant: str = "-"
    or_variants: tuple[str, ...] = ()
    beside: tuple[Beside, ...] = ()
    unsigned: bool = False


def _spread(metric: str) -> tuple[Beside]:
    return (Beside("spread of the associations", metric, variant=None),)


NO_SCALE = (
    "Effect sizes of WEAT, SEAT and CEAT have no scale, as they are divided by the spread of the associations: where "
    "that is small, a method that changes cosines by hundredths can turn them over (docs/scores/vectors.md)"
)
_ACCURACY = Measure("accuracy", 1, "high", COST, beside=_one_label())


def _gaps(pearson: str, sums: str, distances: str) -> dict[str, Measure]:
    """The gaps between genders in a classification, by the variants of them that stand in the matrix."""
    beside = _one_label(sums)
    return {
        "tpr_gap_pearson": Measure("TPR gap (P)", 0, "neutral", OUTSIDE, variant=pearson, beside=beside),
        "tpr_gap_sum": Measure("TPR gap (S)", 0, "low", OUTSIDE, variant=sums, beside=beside),
        "independence": Measure("independence", 0, "low", OUTSIDE, variant=sums, beside=beside),
        "separation": Measure("separation", 0, "low", OUTSIDE, variant=distances, beside=beside),
        "sufficiency": Measure("sufficiency", 0, "low", OUTSIDE, variant=distances, beside=beside),
    }


SENTENCE, FIRST_TOKEN, WORDS, TOKENS = "the sentence vector", "the first token", "words", "all tokens"


@dataclass(frozen=True)
class Metric:
    """A scoring module and what it needs. readout: what it scores; datasets: what lists them, of plan.datasets or the
    plans of tasks (then it is for the kinds of task that have it); finetuned, pretrained: whether it measures
    models that are fine-tuned, and those that are not; measures: the values of `metric` that stand in the matrix;
    untouched_only: it says nothing of methods; sees: which of the last layer's states it is made of, so that a method
    that acts elsewhere after it has nothing to change; criticism: what is known against it, a sentence with its source
    that stands in the caption of the first table."""

    label: str
    module: str
    readout: str
    datasets: str
    measures: Mapping[str, Measure] = field(default_factory=dict)
    finetuned: bool = True
    pretrained: bool = True
    untouched_only: bool = False
    sees: str = SENTENCE
    criticism: str = ""


TRAINING = "training"  # no readout: what a fine-tuning wrote of itself is scored as it is
METRICS = {
    "strength": Metric(
        "Strength and Distance",
        "metrics.stereoset",
        "next_sentence",
        "stimuli",
        measures={
            "strength": Measure("Strength", 0, "low", INSIDE, part="top=10%"),
            "distance": Measure("Distance", 0, "low", INSIDE, part="top=10%", unsigned=True),
            "stereotype_score": Measure("Stereotype Score", 0.5, "neutral", INSIDE, variant="original"),
            "language_model_score": Measure("language-model score", 1, "high", COST, variant="both"),
        },
        finetuned=False,
    ),
    "occtmp": Metric(
        "OCCTMP",
        "metrics.occtmp",
        "masked_words",
        "occupations",
        measures={
            "occtmp_diff": Measure(
                "OCCTMP",
                0,
                "low",
                INSIDE,
                beside=(
                    Beside(
                        "probability of both pronouns",
                        "occtmp_p_sum",
                        least=0.1,
                        why="both pronouns together have a probability below 0.1, so that the head expects no pronoun",
                    ),
                ),
                unsigned=True,
            )
        },
        sees=WORDS,
        finetuned=False,
    ),
    "weat": Metric(
        "WEAT",
        "metrics.association",
        "vectors",
        "word_tests",
        measures={
            "weat_effect_size": Measure("WEAT", 0, "neutral", INSIDE, variant="target", beside=_spread("weat_spread"))
        },
        sees=WORDS,
        criticism=NO_SCALE,
    ),
    "seat": Metric(
        "SEAT",
        "metrics.association",
        "vectors",
        "sentence_tests",
        measures={
            "seat_effect_size": Measure(
                "SEAT",
                0,
                "neutral",
                INSIDE,
                variant="cls",
                or_variants=("mean", "first-piece"),
                beside=_spread("seat_spread"),
            )
        },
        sees=FIRST_TOKEN,
        criticism=NO_SCALE,
    ),
    "ceat": Metric(
        "CEAT",
        "metrics.combined_effect",
        "associations",
        "context_tests",
        measures={"ceat_effect_size": Measure("CEAT", 0, "neutral", INSIDE, variant="concepts-spread")},
        sees=WORDS,
        criticism=NO_SCALE,
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
        measures={"log_odds_r": Measure("log-odds r", 0, "neutral", INSIDE)},
        sees=WORDS,
        finetuned=False,
    ),
    "gest": Metric(
        "GEST",
        "metrics.gest",
        "likelihoods",
        "gest_sentences",
        measures={"gest_stereotype_rate": Measure("GEST rate", 1, "neutral", INSIDE, part="all", variant="base10")},
        sees=WORDS,
        finetuned=False,
        criticism="GEST: what templates measure changes with their wording (Seshadri et al. 2022)",
    ),
    "crows_pairs": Metric(
        "CrowS-Pairs",
        "metrics.crows_pairs",
        "likelihoods",
        "crows_pairs",
        measures={"crows_pairs_score": Measure("CrowS-Pairs", 0.5, "neutral", INSIDE, part="all", variant="exact")},
        sees=WORDS,
        finetuned=False,
        criticism="CrowS-Pairs: many pairs hold no stereotype, or differ in more than the group (Blodgett et al. 2021)",
    ),
    "intrasentence": Metric(
        "StereoSet within sentences",
        "metrics.intrasentence",
        "masked_words",
        "stereoset_blanks",
        measures={
            "intrasentence_stereotype_score": Measure(
                "StereoSet SS", 0.5, "neutral", INSIDE, variant="left-to-right-terms"
            ),
            "intrasentence_language_model_score": Measure(
                "StereoSet LMS", 1, "high", COST, variant="left-to-right-terms"
            ),
        },
        sees=WORDS,
        finetuned=False,
        criticism="StereoSet: many of its words make no stereotype, or no sentence (Blodgett et al. 2021)",
    ),
    "bec_pro": Metric(
        "BEC-Pro",
        "metrics.bec_pro",
        "masked_words",
        "bec_pro",
        measures={"bec_pro_interaction": Measure("BEC-Pro", 0, "neutral", INSIDE)},
        sees=WORDS,
        finetuned=False,
        criticism="BEC-Pro: what templates measure changes with their wording (Seshadri et al. 2022)",
    ),
    "winogender": Metric(
        "Winogender",
        "metrics.winogender",
        "masked_words",
        "winogender",
        measures={"winogender_r": Measure("Winogender r", 0, "neutral", INSIDE, part="occupation", variant="bls")},
        sees=WORDS,
        finetuned=False,
        criticism="Winogender: its 120 templates can show a bias, not that there is none (Rudinger et al. 2018)",
    ),
    "compression": Metric(
        "compression of gender",
        "metrics.codelength",
        "probes",
        "probed_texts",
        measures={
            "compression": Measure(
                "Compression",
                1,
                "low",
                INSIDE,
                variant="paper-bits-best",
                beside=(Beside("with shuffled labels", "control_compression", variant="paper-bits-best"),),
            ),
            "probe_accuracy": Measure("probe accuracy", 0.5, "low", INSIDE, variant="paper-best"),
        },
        sees=FIRST_TOKEN,
    ),
    "perplexity": Metric(
        "masked perplexity",
        "metrics.perplexity",
        "losses",
        "running_text",
        measures={"perplexity": Measure("perplexity", 1, "low", COST)},
        sees=WORDS,
        finetuned=False,
    ),
    "pseudo_perplexity": Metric(
        "pseudo-perplexity",
        "metrics.pseudo_perplexity",
        "likelihoods",
        "sample_of_text",
        measures={"pseudo_perplexity": Measure("pseudo-perplexity", 1, "low", COST)},
        sees=WORDS,
        finetuned=False,
    ),
    "similarity": Metric(
        "similarity of sentences that stays",
        "metrics.similarity",
        "sentence_vectors",
        "sentences",
        measures={"similarity_kept": Measure("similarity kept", 1, "high", COST)},
        sees=FIRST_TOKEN,
        finetuned=False,
    ),
    "accuracy": Metric(
        "accuracy, or the task's own score",
        "metrics.glue",
        "predictions",
        "test_sets",
        measures={
            "accuracy": _ACCURACY,
            "glue_score": Measure("GLUE score", 1, "high", COST, beside=_one_label()),
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
                1,
                "high",
                OUTSIDE,
                variant="majority",
                beside=(
                    Beside("parity", "nli_parity", variant="majority"),
                    Beside("called neutral", "nli_accuracy"),
                    *_one_label(),
                ),
            )
        },
        pretrained=False,
    ),
    "fairness": Metric(
        "gaps between genders",
        "metrics.occupation",
        "heads",
        "classified_texts",
        measures={
            "accuracy": _ACCURACY,
            **_gaps(pearson="train", sums="-", distances="absdiff"),
        },
        sees=FIRST_TOKEN,
    ),
    "coreference": Metric(
        "coreference F1",
        "metrics.coreference",
        "clusters",
        "documents",
        measures={"conll_f1": Measure("CoNLL F1", 1, "high", COST)},
        pretrained=False,
        sees=WORDS,
    ),
    "winobias": Metric(
        "WinoBias, or planted pairs like it",
        "metrics.winobias",
        "clusters",
        "document_pairs",
        measures={
            "f1_difference": Measure("F1 difference", 0, "neutral", OUTSIDE, part="all"),
            **_gaps(pearson="tokens", sums="tokens", distances="tokens-absdiff"),
        },
        pretrained=False,
        sees=WORDS,
    ),
    "adversary": Metric(
        "gender as an adversary in training tells it",
        "metrics.adversary",
        TRAINING,
        "adversaries",
        measures={"adversary_accuracy": Measure("adversary accuracy", 0.5, "low", INSIDE)},
        untouched_only=True,
        pretrained=False,
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
    """A package under papers/: its blocks (plan), tables and figures. tasks: its options that name tasks -> the kind of
    these."""

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
    "planted": Paper("Measures judged by planted bias", "papers.planted"),
}


def rule_of(readout: str) -> str:
    """The rule of a readout's jobs, or of those that read several together."""
    return JOBS_OF_READOUTS[readout].rule or f"read_{readout}"


class Entry(Protocol):
    """What is done by a module."""

    module: str


def module_of(entry: Entry) -> str:
    """The full name of an entry's module."""
    return f"{PACKAGE}.{entry.module}"


def external_module(readout: Readout) -> str:
    """The full name of the module that reads what an external encoder gives for a readout."""
    return f"{PACKAGE}.{readout.external}"
