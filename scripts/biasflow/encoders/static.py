"""A sentence encoder without layers: a tokenizer and a table of vectors, whose mean sentence-transformers makes."""

import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel

from biasflow.encoders.sentence_transformers import STATIC


class StaticConfig(PretrainedConfig):
    """The configuration of an encoder without layers, which takes texts of any length."""

    model_type = STATIC


class StaticEncoder(PreTrainedModel):
    """What stands for the model of a transformer: it has nothing to run or to edit. The table of vectors lies in the
    sentence encoder around it."""

    config_class = StaticConfig

    def __init__(self, config: StaticConfig):
        super().__init__(config)
        self.place = nn.Parameter(torch.zeros(1), requires_grad=False)  # it says on which device the encoder is
