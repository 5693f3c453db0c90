"""How encoders are trained further (source `continued`), by name. Imports no torch, so that the plan can ask."""

from dataclasses import dataclass

MASKED_LM, PLANTED_BIAS, PLANTED_SEARCH = "masked_lm", "planted", "planted_search"
PLANTING = (PLANTED_BIAS, PLANTED_SEARCH)  # a dose of bias, of a masked LM and of a sentence encoder
SWAPPED, AGAIN = "swapped", "again"  # what can stand beside a text: its gender-swapped version, or itself


@dataclass(frozen=True)
class Recipe:
    """Masked language modelling with AdamW, a learning rate that falls linearly to 0, and `share` of the tokens masked
    anew in each batch of blocks.

    beside: what is trained on in equal parts beside the text, SWAPPED or AGAIN, or None. attention_dropout,
    hidden_dropout: rates in place of the encoder's own (None), of attention weights and of all other states."""

    epochs: int = 1
    batch_size: int = 4
    learning_rate: float = 5e-5
    share: float = 0.15
    beside: str | None = None
    attention_dropout: float | None = None
    hidden_dropout: float | None = None


# A method and its control differ in nothing else, and take the same number of steps.
RECIPES = {
    # The encoder whose perplexity Liang et al. (2020) report: run_language_modeling.py of transformers 2.8, by their
    # released commands. It is also the control of dropout.
    MASKED_LM: Recipe(),
    # Counterfactual data augmentation (Zhao et al. 2018; Webster et al. 2020), and its control.
    "cda": Recipe(beside=SWAPPED),
    "doubled": Recipe(beside=AGAIN),
    # Webster et al. (2020), the rates that they give for BERT.
    "dropout": Recipe(attention_dropout=0.15, hidden_dropout=0.20),
    # A known amount of bias for the calibration of measures; dose 0 is the control. It trains as NewHeads says.
    PLANTED_BIAS: Recipe(),
    # The same of a sentence encoder, which tells the answer to a search from those to others (Henderson et al. 2017).
    PLANTED_SEARCH: Recipe(),
}
PLANTED_UNITS = "planted_units.csv"  # in the folder of an encoder of PLANTING: what it was trained on
EXAMPLES = {PLANTED_BIAS: 240, PLANTED_SEARCH: 60}  # of each occupation


@dataclass(frozen=True)
class NewHeads:
    """How language-model heads that an encoder lacks are trained, by AdamW: head_steps steps alone at head_rate, then
    together with the encoder at a rate that falls linearly from learning_rate to 0. The recipe PLANTED_BIAS trains
    like this, too, with no step alone."""

    head_steps: int = 200
    head_rate: float = 1e-3
    learning_rate: float = 3e-4
    batch_size: int = 16
    max_length: int = 128
    share: float = 0.15

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate as a multiple of learning_rate, `step` steps after the encoder has joined, of `steps`."""
        return self.head_rate / self.learning_rate if step < 0 else 1 - step / steps
