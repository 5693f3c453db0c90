"""How encoders are trained further (source `continued`), by name. Imports no torch, so that the plan can ask."""

from dataclasses import dataclass

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
    "masked_lm": Recipe(),
    # Counterfactual data augmentation (Zhao et al. 2018; Webster et al. 2020), and its control.
    "cda": Recipe(beside=SWAPPED),
    "doubled": Recipe(beside=AGAIN),
    # Webster et al. (2020), the rates that they give for BERT.
    "dropout": Recipe(attention_dropout=0.15, hidden_dropout=0.20),
}
