"""What is judged: every measure that an encoder of the embedded corpus can have. Imports no pandas."""

from collections.abc import Iterator
from dataclasses import dataclass

from scripts.biasflow.registry import COST, INSIDE, METRICS, OUTSIDE, TASKS, Measure

ENCODER = ""  # in place of a kind of task: the encoder as it was pre-trained
PROBED = "compression"  # of a pre-trained encoder it needs a task's texts
# The families of metrics, by the kind of task that encoders are trained on. GEST, CrowS-Pairs, StereoSet's blanks, BEC-Pro,
# Winogender, SEAT and the real lists of WEAT are not here: nearly all of their words are unknown to the embedded corpus.
FAMILIES = {
    ENCODER: (
        "strength",
        "log_odds",
        "occtmp",
        "weat",
        "ceat",
        "gender_share",
        "perplexity",
        "pseudo_perplexity",
    ),
    "occupation": ("fairness", PROBED, "ceat"),
    "coreference": ("winobias", "coreference", PROBED, "ceat"),
    "nli": ("nli_fairness", "accuracy", "ceat"),
}
# Beside those that stand in the matrix: family, metric and what the matrix would say of it.
_BESIDE = (
    ("strength", "strength", Measure("Strength, all triples", 0, "low", INSIDE, part="top=100%")),
    ("strength", "stereotype_score", Measure("Stereotype Score, both genders", 0.5, "neutral", INSIDE, variant="both")),
    ("log_odds", "log_odds_slope", Measure("log-odds slope", 0, "neutral", INSIDE)),
    ("gender_share", "gender_share", Measure("gender share, last layer", 0, "low", INSIDE, part="layer[3]")),
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


@dataclass(frozen=True)
class Judged:
    """A measure of the encoder itself, or of models that are trained on a kind of task; data: the kind of task whose texts
    it is read on where the encoder is not trained on them."""

    measure: Measure
    metric: str
    kind: str = ENCODER
    data: str = ""

    @property
    def name(self) -> str:
        """What tables and figures call it: its label and the task."""
        about = self.kind or self.data
        return self.measure.label + (f" ({about})" if about else "")

    @property
    def sign(self) -> int:
        """The way in which it goes with more bias: up (1), down (-1), or nowhere (0), for a measure of quality."""
        if self.measure.group == COST:
            return 0
        return -1 if self.measure.better == "high" else 1


def judged(kinds: tuple[str, ...]) -> Iterator[Judged]:
    """All measures of the encoders, then those of each kind of task that they are trained on."""
    for family in FAMILIES[ENCODER]:
        yield from (Judged(measure, metric) for metric, measure in _of(family))
    for kind in kinds:
        if PROBED in FAMILIES[kind]:
            yield from (Judged(measure, metric, data=kind) for metric, measure in _of(PROBED))
    for kind in kinds:
        for family in FAMILIES[kind]:
            yield from (Judged(measure, metric, kind) for metric, measure in _of(family))


def _of(family: str) -> list[tuple[str, Measure]]:
    found = [*METRICS[family].measures.items(), *((metric, one) for of, metric, one in _BESIDE if of == family)]
    return [(metric, measure) for metric, measure in found if metric != "glue_score"]


assert set(FAMILIES) <= {ENCODER, *TASKS}
