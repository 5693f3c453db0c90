"""The measures that are judged: every measure that an encoder of the embedded corpus can have. Imports no pandas."""

from collections.abc import Iterator, Mapping

from biasflow.papers.judged import ENCODER, Judged
from biasflow.registry import COST, INSIDE, METRICS, OUTSIDE, Measure

PROBED = "compression"  # of a pre-trained encoder it needs a task's texts
LAST_LAYER = "layer[-1]"  # a part, whatever the number of layers
# The families of metrics, by the kind of task that encoders are trained on. SEAT, DisCo, StereoSet's sentences and the
# real lists of WEAT are not here: nearly all of their words are unknown to the embedded corpus.
FAMILIES = {
    ENCODER: (
        "strength",
        "log_odds",
        "occtmp",
        "weat",
        "ceat",
        "gender_share",
        "gest",
        "crows_pairs",
        "sss",
        "prediction_quality",
        "intrasentence",
        "bec_pro",
        "lpbs",
        "winogender",
        "perplexity",
        "pseudo_perplexity",
    ),
    "occupation": ("fairness", PROBED, "ceat"),
    "coreference": ("winobias", "coreference", PROBED, "ceat"),
    "nli": ("nli_fairness", "accuracy", "ceat"),
}
# Beside those that stand in the matrix: family, metric and what the matrix would say of it.
BESIDE = (
    ("strength", "strength", Measure("Strength, all triples", 0, "low", INSIDE, part="top=100%")),
    ("strength", "stereotype_score", Measure("Stereotype Score, both genders", 0.5, "neutral", INSIDE, variant="both")),
    ("log_odds", "log_odds_slope", Measure("log-odds slope", 0, "neutral", INSIDE)),
    ("gender_share", "gender_share", Measure("gender share, last layer", 0, "low", INSIDE, part=LAST_LAYER)),
    ("fairness", "tpr_gap_pearson", Measure("TPR gap (P), planted shares", 0, "neutral", OUTSIDE, variant="labour")),
    (
        "winobias",
        "pronoun_accuracy",
        Measure("pronouns resolved, anti-stereotypical", 1, "high", OUTSIDE, part="right", variant="anti"),
    ),
    (
        "winobias",
        "pronoun_accuracy",
        Measure("pronouns resolved, pro-stereotypical", 1, "high", COST, part="right", variant="pro"),
    ),
    ("nli_fairness", "nli_accuracy", Measure("NLI accuracy on occupations", 1, "high", OUTSIDE)),
    ("nli_fairness", "nli_parity", Measure("NLI parity", 1, "high", OUTSIDE, variant="majority")),
)


def judged(kinds: Mapping[str, str]) -> Iterator[Judged]:
    """All measures of the encoders, then those of the models that are trained on each task (its name -> its kind)."""
    for family in FAMILIES[ENCODER]:
        yield from (Judged(measure, metric) for metric, measure in _of(family))
    for task, kind in kinds.items():
        if PROBED in FAMILIES[kind]:
            yield from (Judged(measure, metric, data=task) for metric, measure in _of(PROBED))
    for task, kind in kinds.items():
        for family in FAMILIES[kind]:
            yield from (Judged(measure, metric, task) for metric, measure in _of(family))


def _of(family: str) -> list[tuple[str, Measure]]:
    """The measures of a family; an NLI task has no GLUE score but its accuracy."""
    beside = [(metric, measure) for name, metric, measure in BESIDE if name == family]
    measures = [*METRICS[family].measures.items(), *beside]
    return [(metric, measure) for metric, measure in measures if metric != "glue_score"]
