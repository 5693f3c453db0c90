"""Places in a model, by name. The one module that knows the architectures: BERT, RoBERTa, DistilBERT, DeBERTa.

The tensors at a place (see `places` for the names):
layer[i]                              [batch, tokens, hidden]
layer[i].cls, pooled                  [batch, hidden]
layer[i].attention.query|key|value    [batch, tokens, heads, head_dim]
A place that a model lacks is a BiasflowError naming both."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

import torch
from torch import nn

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.encoders import places
from biasflow.encoders.precision import as_trained, full


def _finish_bert(layer: nn.Module, context: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    return layer.feed_forward_chunk(layer.attention.output(context, residual))


def _finish_distilbert(layer: nn.Module, context: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    attended = layer.sa_layer_norm(layer.attention.out_lin(context) + residual)
    return layer.output_layer_norm(layer.ffn(attended) + attended)


def _pool_with_pooler(model: nn.Module, base: nn.Module, cls: torch.Tensor) -> torch.Tensor:
    return base.pooler(cls[:, None])


def _pool_roberta(model: nn.Module, base: nn.Module, cls: torch.Tensor) -> torch.Tensor:
    if isinstance(getattr(model, "classifier", None), nn.Module):
        return torch.tanh(model.classifier.dense(cls))
    return base.pooler(cls[:, None])


def _pool_distilbert(model: nn.Module, base: nn.Module, cls: torch.Tensor) -> torch.Tensor:
    return torch.relu(model.pre_classifier(cls))


def _pool_deberta(model: nn.Module, base: nn.Module, cls: torch.Tensor) -> torch.Tensor:
    return model.pooler(cls[:, None])


@dataclass(frozen=True)
class Family:
    """Where a family keeps its parts. `finish` is None where attention is not plain scaled dot products (DeBERTa)."""

    layers: str
    query: str | None
    key: str | None
    value: str | None
    pool: Callable[[nn.Module, nn.Module, torch.Tensor], torch.Tensor]
    finish: Callable[[nn.Module, torch.Tensor, torch.Tensor], torch.Tensor] | None


_BERT_ATTENTION = ("attention.self.query", "attention.self.key", "attention.self.value")
FAMILIES = {
    "bert": Family("encoder.layer", *_BERT_ATTENTION, _pool_with_pooler, _finish_bert),
    "roberta": Family("encoder.layer", *_BERT_ATTENTION, _pool_roberta, _finish_bert),
    "distilbert": Family(
        "transformer.layer",
        "attention.q_lin",
        "attention.k_lin",
        "attention.v_lin",
        _pool_distilbert,
        _finish_distilbert,
    ),
    # DeBERTa (v1) makes query, key and value in one matrix, so that they have no places of their own.
    "deberta": Family("encoder.layer", None, None, None, _pool_deberta, None),
    "deberta-v2": Family(
        "encoder.layer",
        "attention.self.query_proj",
        "attention.self.key_proj",
        "attention.self.value_proj",
        _pool_deberta,
        None,
    ),
}

# Where the dropout of attention weights lies in all of them.
ATTENTION_DROPOUTS = (".attention.self.dropout", ".attention.dropout")

# The linear layer that reads the sentence vector, in the order in which they are looked for.
CLASSIFICATION_LAYERS = ("cls.seq_relationship", "classifier.out_proj", "classifier", "head")


def name_of(model: nn.Module) -> str:
    """What errors call the model: its class and, where it was loaded from somewhere, from where."""
    source = getattr(model.config, "name_or_path", "")
    return f"{type(model).__name__}{f' ({source})' if source else ''}"


def family(model: nn.Module) -> Family:
    kind = model.config.model_type
    if kind not in FAMILIES:
        raise BiasflowError(f"{name_of(model)}: model type {kind!r} is not known; biasflow knows {', '.join(FAMILIES)}")
    return FAMILIES[kind]


def layers(model: nn.Module) -> nn.ModuleList:
    """The encoder layers, first to last."""
    return attrgetter(family(model).layers)(model.base_model)


def positions(model: nn.Module) -> int:
    """How many tokens a model has positions for; RoBERTa's family counts them from behind the number of its padding
    token on, so that 514 of them are 512 tokens."""
    embeddings = getattr(getattr(model, "base_model", model), "embeddings", None)
    padding = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
    return getattr(model.config, "max_position_embeddings", 512) - (0 if padding is None else padding + 1)


def set_dropout(model: nn.Module, *, attention: float, hidden: float) -> None:
    """Other rates of dropout in a model: of attention weights, and of all other states; its configuration stays."""
    family(model)
    for name, module in model.named_modules():
        if isinstance(module, nn.Dropout):
            module.p = attention if name.endswith(ATTENTION_DROPOUTS) else hidden


def classification_layer(model: nn.Module) -> nn.Linear | None:
    """The linear layer on top of the sentence vector: next-sentence head or sequence classifier, or None."""
    for path in CLASSIFICATION_LAYERS:
        try:
            layer = attrgetter(path)(model)
        except AttributeError:
            continue
        if isinstance(layer, nn.Linear):
            return layer
    return None


@dataclass(frozen=True)
class Tap:
    """A place of one model: the module to hook, whether its input or its output is the place, and how to see it."""

    module: nn.Module
    on_input: bool
    view: Callable[[torch.Tensor], torch.Tensor]  # the module's tensor -> the place's tensor (see the module docstring)
    merge: Callable[
        [torch.Tensor, torch.Tensor], torch.Tensor
    ]  # (module's tensor, new place tensor) -> module's tensor

    def hook(self, function: Callable[[torch.Tensor], torch.Tensor | None]) -> torch.utils.hooks.RemovableHandle:
        """Call `function` with the place's tensor in every forward pass; what it returns (unless None) replaces it."""

        def replaced(value):
            tensor = value[0] if isinstance(value, tuple) else value
            new = function(self.view(tensor))
            if new is None:
                return None
            merged = self.merge(tensor, new)
            return (merged, *value[1:]) if isinstance(value, tuple) else merged

        if self.on_input:
            return self.module.register_forward_pre_hook(lambda module, args: replaced(args))
        return self.module.register_forward_hook(lambda module, args, output: replaced(output))


def _identity(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _replace(tensor: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    return new


def _replace_cls(tensor: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    return torch.cat([new[:, None], tensor[:, 1:]], dim=1)


def tap(model: nn.Module, place: str) -> Tap:
    """The tap at `place`; raises BiasflowError if the model has no such place."""
    index, part = places.layer_of(place)
    if index is None:
        return _tap_pooled(model)
    stack = layers(model)
    if not -len(stack) <= index < len(stack):
        raise AbsentError(f"{name_of(model)} has no place {place}: it has {len(stack)} layers")
    if part is None:
        return Tap(stack[index], False, _identity, _replace)
    if part == places.CLS:
        return Tap(stack[index], False, lambda h: h[:, 0], _replace_cls)
    path = getattr(family(model), part.rsplit(".", 1)[1])
    if path is None:
        raise AbsentError(
            f"{name_of(model)} has no place {place}: {model.config.model_type} makes Q, K and V in one matrix"
        )
    heads = model.config.num_attention_heads
    return Tap(
        attrgetter(path)(stack[index]),
        False,
        lambda h: h.unflatten(-1, (heads, -1)),
        lambda h, new: new.flatten(-2),
    )


def has(model: nn.Module, place: str) -> bool:
    """Whether the model has that place."""
    try:
        tap(model, place)
    except BiasflowError:
        return False
    return True


def resolve(model: nn.Module, place: str) -> tuple[str, ...]:
    """What a method's `place` (all, each, last, last.cls, or a place) means in this model, checked: see `places`."""
    try:
        found = places.resolve(place, len(layers(model)))
    except BiasflowError as error:
        raise type(error)(f"{name_of(model)}: {error}") from error
    for each in found:
        tap(model, each)
    return found


def _tap_pooled(model: nn.Module) -> Tap:
    head = classification_layer(model)
    if head is not None:
        return Tap(head, True, _identity, _replace)
    pooler = getattr(model.base_model, "pooler", None)
    if pooler is None:
        raise AbsentError(f"{name_of(model)} has no place pooled: it has neither a pooler nor a classification layer")
    return Tap(pooler, False, _identity, _replace)


def pool(model: nn.Module, cls: torch.Tensor) -> torch.Tensor:
    """From the last layer's first token [n, hidden] to what the classification layer reads [n, hidden]."""
    if isinstance(getattr(model, "head", None), nn.Linear):
        return cls  # `first_token.FirstTokenClassifier` has nothing between the two
    return family(model).pool(model, model.base_model, cls)


def classify(model: nn.Module, pooled: torch.Tensor) -> torch.Tensor:
    """The classification layer's logits [..., classes] of sentence vectors [..., hidden], computed `as_trained`."""
    head = classification_layer(model)
    if head is None:
        raise BiasflowError(
            f"{name_of(model)} has no next-sentence or classification head; use an encoder that has one"
        )
    with as_trained(model):
        return full(head(pooled))


def last_layer_cls(model: nn.Module, layer: nn.Module, states: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    """The first token's output of `layer` for its inputs `states` [n, tokens, hidden]: [n, hidden].

    One query attends, so keys and values are never made: the query is carried back through the key matrix
    (<q, W_K h> = <W_K' q, h>), and the attention-weighted mean of the states goes through the value matrix once.
    keep [n, tokens] is True where a token may be attended to."""
    parts = family(model)
    if parts.finish is None:
        raise BiasflowError(
            f"{name_of(model)}: {model.config.model_type} has its own attention; use hooked edits instead"
        )
    query, key, value = (attrgetter(path)(layer) for path in (parts.query, parts.key, parts.value))
    heads = model.config.num_attention_heads
    cls = states[:, :1]

    q = query(cls[:, 0]).unflatten(-1, (heads, -1))  # [n, heads, head_dim]
    # A key's bias adds the same to every token's score and drops out of the softmax.
    carried = torch.einsum("nhd,hdj->nhj", q, key.weight.unflatten(0, (heads, -1)))
    scores = torch.einsum("nhj,ntj->nht", carried, states) * q.shape[-1] ** -0.5
    scores = scores.masked_fill(~keep[:, None], torch.finfo(scores.dtype).min)
    attended = torch.einsum("nht,ntj->nhj", scores.softmax(-1), states)
    context = torch.einsum("nhj,hdj->nhd", attended, value.weight.unflatten(0, (heads, -1))).flatten(1) + value.bias
    return parts.finish(layer, context[:, None], cls)[:, 0]
