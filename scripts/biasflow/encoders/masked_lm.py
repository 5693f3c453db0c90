"""A masked-LM head at chosen positions: its logits there, and the loss of the tokens that belong there."""

from collections.abc import Mapping

import torch
from transformers import PreTrainedModel
from transformers.utils import ModelOutput

from biasflow.base.errors import BiasflowError

AT_ONCE = 16  # positions whose probabilities are summed together


def outputs_at(
    model: PreTrainedModel, batch: Mapping[str, torch.Tensor], chosen: torch.Tensor
) -> tuple[ModelOutput, torch.Tensor]:
    """What the model returns, and in it the masked-LM head's logits at the positions where `chosen` [batch, tokens]
    holds: [positions, vocabulary].

    The output layer, the widest of all, sees these positions only; the others never get a [vocabulary] row.
    BiasflowError for a model without an output layer."""
    head = model.get_output_embeddings()
    if head is None:
        raise BiasflowError(f"{type(model).__name__} has no masked-LM head; load the encoder with head masked_lm.")
    with head.register_forward_pre_hook(lambda module, args: (args[0][chosen],)):
        output = model(**batch)
    return output, output.prediction_logits if "prediction_logits" in output else output.logits


def log_p_of(logits: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """log softmax(logits) of the token at each of `rows`, in nats, in double precision; logits [positions, vocabulary].

    A few positions at a time: a vocabulary in double precision for all of them does not fit into a processor's cache,
    and takes twice the time."""
    total = torch.cat([some.double().logsumexp(-1) for some in logits.split(AT_ONCE)])
    return logits[rows, tokens].double() - total[rows]
