"""BLIND: training that trusts less what is easy, without knowing anybody's gender.

While a classifier learns its task, a detector learns to tell from the state that the classifier reads whether the
classifier is right. Examples of which the detector expects this count less: an easy example may be easy by a shortcut,
such as the gender of a profession's majority.

Source: Orgad & Belinkov (2023), with a linear detector and without their temperature."""

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from biasflow.encoders.first_token import FirstTokenClassifier


class BlindClassifier(FirstTokenClassifier):
    """A classifier on the first token, and a linear success detector g on the same state h.

    Loss: mean (1 - sigmoid(g(h)))^focus * cross-entropy of the labels + mean cross-entropy of g(h) for whether the
    classifier's likeliest label is the right one. No gradient of the first part reaches the detector, and none of the
    second the encoder or the classifier. The detector is not saved. A norm that gradients are clipped to is that of
    all of them, the detector's too."""

    def __init__(self, classifier: FirstTokenClassifier, *, focus: float = 2.0):
        super().__init__(classifier.base_model, classifier.head)
        self.focus = focus
        with torch.random.fork_rng(devices=[]):  # so that the training draws the same numbers as without a detector
            self.detector = nn.Linear(classifier.config.hidden_size, 1)
        self.detector.to(classifier.device)

    def forward(self, input_ids, attention_mask, token_type_ids=None, labels=None) -> dict[str, torch.Tensor]:
        """The logits of a batch and, with labels, its loss, as the class says."""
        states = self.states(input_ids, attention_mask, token_type_ids)
        logits = self.head(states)
        if labels is None:
            return {"logits": logits}
        expected = self.detector(states.detach())[:, 0]
        right = (logits.detach().argmax(1) == labels).to(expected)
        weights = torch.sigmoid(-expected.detach()) ** self.focus
        loss = (weights * cross_entropy(logits, labels, reduction="none")).mean()
        return {"loss": loss + binary_cross_entropy_with_logits(expected, right), "logits": logits}


adapt = BlindClassifier
