"""Adversarial training: while a classifier learns its task, an adversary learns to predict gender from what the
classifier reads, and the encoder learns against it.

Source: Elazar & Goldberg (2018), after Ganin & Lempitsky (2015). They find that the adversary can come down to chance
while a new one, trained on the finished encoder, still tells gender: read `adversary_accuracy` beside a probe's."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from biasflow.base.genders import GENDERS
from biasflow.encoders.first_token import FirstTokenClassifier

GENDER = "gender"  # the column that the adversary tells: 1 for women, 0 for men
BESIDE = (GENDER,)


def rows(
    name: str, train: np.ndarray, validation: np.ndarray, *, labels: Sequence[str], genders: Sequence[str], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of women and men of both parts: the adversary tells these two apart."""
    known = np.isin(np.asarray(genders, dtype=object), GENDERS)
    return train[known[train]], validation[known[validation]]


class _Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, states, weight):
        ctx.weight = weight
        return states.view_as(states)

    @staticmethod
    def backward(ctx, gradient):
        return -ctx.weight * gradient, None


def reversed_gradient(states: torch.Tensor, weight: float) -> torch.Tensor:
    """Return `states` unchanged, but multiply their gradient by -weight in the backward pass."""
    return _Reversed.apply(states, weight)


class AdversarialClassifier(FirstTokenClassifier):
    """A classifier on the first token, and an adversary on the same state: a hidden layer with tanh, two classes.

    Loss: cross-entropy of the labels + cross-entropy of the genders as the adversary tells them. The adversary goes
    down its gradient, the encoder up, `weight` times as fast. The adversary is not saved. A norm that gradients are
    clipped to is that of all of them, the adversary's too."""

    def __init__(self, classifier: FirstTokenClassifier, *, weight: float, hidden: int):
        super().__init__(classifier.base_model, classifier.head)
        self.weight = weight
        with torch.random.fork_rng(devices=[]):  # so that weight 0 trains as without it, to the last bit
            size = classifier.config.hidden_size
            self.adversary = nn.Sequential(nn.Linear(size, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        self.adversary.to(classifier.device)

    def forward(
        self, input_ids, attention_mask, token_type_ids=None, labels=None, gender=None
    ) -> dict[str, torch.Tensor]:
        states = self.states(input_ids, attention_mask, token_type_ids)
        logits, gender_logits = self.head(states), self.adversary(reversed_gradient(states, self.weight))
        outputs = {"logits": logits, GENDER: gender_logits}
        if labels is None:
            return outputs
        return {"loss": cross_entropy(logits, labels) + cross_entropy(gender_logits, gender), **outputs}


adapt = AdversarialClassifier
