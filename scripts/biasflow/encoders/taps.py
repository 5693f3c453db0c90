"""An encoder's parts by name: its layers, the places to read or edit states at, its last state, and what classifiers
read. All other modules ask here; where an architecture keeps its parts is written in `families`.

The tensors at a place (see `places` for the names):
layer[i]                              [batch, tokens, hidden]
layer[i].cls, pooled                  [batch, hidden]
layer[i].attention.query|key|value    [batch, tokens, heads, head_dim]
The place layer[-1] is the encoder's last state: where a normalisation follows the last layer, what it returns.
A place that a model lacks is a BiasflowError naming both."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter

import torch
from torch import nn

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.encoders import places
from biasflow.encoders.device import as_trained, full
from biasflow.encoders.families import FAMILIES, Family

# The linear layer that reads the sentence vector, in the order in which they are looked for.
CLASSIFICATION_LAYERS = ("cls.seq_relationship", "classifier.out_proj", "classifier", "head")


def name_of(model: nn.Module) -> str:
    """What errors call the model: its class and, where it was loaded from somewhere, from where."""
    source = getattr(model.config, "name_or_path", "")
    return f"{type(model).__name__}{f' ({source})' if source else ''}"


def family(model: nn.Module) -> Family:
    """Where the model keeps its parts; AbsentError for an architecture that `families` does not list."""
    kind = model.config.model_type
    if kind not in FAMILIES:
        raise AbsentError(
            f"{name_of(model)}: the parts of model type {kind!r} are not known, so no method can edit its states; "
            f"biasflow knows {', '.join(FAMILIES)}"
        )
    return FAMILIES[kind]


def depth(model: nn.Module) -> int:
    """How many layers an encoder of any architecture has."""
    return model.config.num_hidden_layers


def last_state(model: nn.Module, **batch: torch.Tensor) -> torch.Tensor:
    """The states that heads are given, [batch, tokens, hidden], of a batch of an encoder of any architecture.

    Heads on top of the encoder do not run: a masked-LM head costs as much as some layers."""
    return model.base_model(**batch).last_hidden_state


def layers(model: nn.Module) -> nn.ModuleList:
    """The encoder layers, first to last. Where layers share a module (ALBERT), each gets one of its own from now on,
    with the same weights, so that an edit in one layer acts in that layer alone."""
    parts = family(model)
    stack = attrgetter(parts.layers)(model.base_model)
    if parts.shared and len(stack) < depth(model):
        stack = _unshared(model, *parts.layers.rsplit(".", 1))
    return stack


def _unshared(model: nn.Module, parent: str, name: str) -> nn.ModuleList:
    """Put as many modules as there are layers in the place of those that are run several times. The parameters stay
    the same objects, and a saved model has the weights and the configuration that it had."""
    parent = attrgetter(parent)(model.base_model)
    groups, n = getattr(parent, name), depth(model)
    if model.config.inner_group_num != 1:
        raise AbsentError(
            f"{name_of(model)}: inner_group_num is {model.config.inner_group_num}; biasflow edits models with 1"
        )
    stack = [copy.deepcopy(groups[i * len(groups) // n], {id(p): p for p in groups.parameters()}) for i in range(n)]
    parent.config = copy.copy(parent.config)  # the forward pass looks up there which module is whose
    parent.config.num_hidden_groups = n
    setattr(parent, name, nn.ModuleList(stack))

    def shared_again(module: nn.Module, weights: dict, prefix: str, metadata: dict) -> None:
        first = {i * len(groups) // n: i for i in reversed(range(n))}  # group -> its first layer
        of_layers = {key: weights.pop(key) for key in list(weights) if key.startswith(f"{prefix}{name}.")}
        for group, layer in first.items():
            old, new = f"{prefix}{name}.{layer}.", f"{prefix}{name}.{group}."
            weights |= {new + key.removeprefix(old): of_layers[key] for key in of_layers if key.startswith(old)}

    parent.register_state_dict_post_hook(shared_again)
    return getattr(parent, name)


def positions(model: nn.Module) -> int:
    """How many tokens a model has positions for; RoBERTa's family counts them from behind the number of its padding
    token on, so that 514 of them are 512 tokens."""
    embeddings = getattr(getattr(model, "base_model", model), "embeddings", None)
    padding = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
    return getattr(model.config, "max_position_embeddings", 512) - (0 if padding is None else padding + 1)


def set_dropout(model: nn.Module, *, attention: float, hidden: float) -> None:
    """Other rates of dropout in a model: of attention weights, and of all other states; its configuration stays."""
    parent, _, name = family(model).dropout.rpartition(".")
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = hidden
    for layer in layers(model):
        owner = attrgetter(parent)(layer)
        if isinstance(rate := getattr(owner, name), nn.Module):
            rate.p = attention
        else:
            setattr(owner, name, attention)


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
    """A place of one model: the module to hook, and how to see it.

    view: from the module's tensor to the place's (see the module docstring); merge: from the module's tensor and a new
    one of the place to the module's. Without them they are the same. on_input: whether the place is the module's input,
    not its output."""

    module: nn.Module
    view: Callable[[torch.Tensor], torch.Tensor] = lambda h: h
    merge: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = lambda h, new: new
    on_input: bool = False

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


def _replace_cls(tensor: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    return torch.cat([new[:, None], tensor[:, 1:]], dim=1)


def tap(model: nn.Module, place: str) -> Tap:
    """The tap at `place`; raises BiasflowError if the model has no such place."""
    index, part = places.layer_of(place)
    if place == places.SENTENCE:
        raise AbsentError(f"{name_of(model)} has no place {place}, which is behind it: leave it out")
    if index is None:
        return _tap_pooled(model)
    stack, parts = layers(model), family(model)
    if not -len(stack) <= index < len(stack):
        raise AbsentError(f"{name_of(model)} has no place {place}: it has {len(stack)} layers")
    is_last = index % len(stack) == len(stack) - 1
    output = attrgetter(parts.norm)(model.base_model) if is_last and parts.norm else stack[index]
    if part is None:
        return Tap(output)
    if part == places.CLS:
        return Tap(output, lambda h: h[:, 0], _replace_cls)
    if not parts.attention:
        raise AbsentError(
            f"{name_of(model)} has no place {place}: {model.config.model_type} makes Q, K and V in one matrix"
        )
    return _tap_attention(model, stack[index], parts.attention, places.ATTENTION.index(part.rsplit(".", 1)[1]))


def _tap_attention(model: nn.Module, layer: nn.Module, paths: tuple[str, ...], number: int) -> Tap:
    """The tap at queries, keys or values (number 0, 1, 2) of a layer, which one or three modules make."""
    heads = model.config.num_attention_heads
    if len(paths) == 1:

        def merge(h: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
            parts = list(h.chunk(3, dim=-1))
            parts[number] = new.flatten(-2)
            return torch.cat(parts, dim=-1)

        return Tap(attrgetter(paths[0])(layer), lambda h: h.chunk(3, dim=-1)[number].unflatten(-1, (heads, -1)), merge)
    if number:  # several heads of queries may share one of keys and values
        heads = getattr(model.config, "num_key_value_heads", None) or heads
    module = attrgetter(paths[number])(layer)
    return Tap(module, lambda h: h.unflatten(-1, (heads, -1)), lambda h, new: new.flatten(-2))


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
        resolved = places.resolve(place, depth(model))
    except BiasflowError as error:
        raise type(error)(f"{name_of(model)}: {error}") from error
    for place_of_model in resolved:
        if place_of_model != places.SENTENCE:  # the sentence encoder around the model has it
            tap(model, place_of_model)
    return resolved


def _tap_pooled(model: nn.Module) -> Tap:
    head = classification_layer(model)
    if head is not None:
        return Tap(head, on_input=True)
    # ALBERT's pooler is a layer without its activation, which is a module beside it.
    pooler = getattr(model.base_model, "pooler_activation", None) or getattr(model.base_model, "pooler", None)
    if pooler is None:
        raise AbsentError(f"{name_of(model)} has no place pooled: it has neither a pooler nor a classification layer")
    return Tap(pooler)


def sentence(model: nn.Module, states: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    """What stands for a sentence in the last state [n, tokens, hidden]: [n, hidden], the first token's state or, in
    models whose classifiers are built so, the mean over tokens. keep [n, tokens]: which of them are no padding.

    BiasflowError for classifiers that average the logits of all tokens ("late"): no one vector stands for a sentence.
    `load.new_classifier` makes none of them."""
    pooling = model.config.classifier_pooling if family(model).averages and not _reads_first_token(model) else "first"
    if pooling == "late":
        raise BiasflowError(
            f"{name_of(model)}: config.json has classifier_pooling 'late': the classifier averages the logits of all "
            "tokens, and no vector stands for a sentence; let biasflow fine-tune the encoder, which then reads the mean"
        )
    if pooling == "mean":
        return (states * keep[..., None]).sum(1) / keep.sum(1, keepdim=True)
    return states[:, 0]


def _reads_first_token(model: nn.Module) -> bool:
    """Whether the model is a `linear_head.FirstTokenClassifier`, whose linear layer reads the state as it is."""
    return isinstance(getattr(model, "head", None), nn.Linear)


def pool(model: nn.Module, sentence: torch.Tensor) -> torch.Tensor:
    """From what stands for a sentence [n, hidden] to what the classification layer reads [n, hidden]."""
    return sentence if _reads_first_token(model) else family(model).pool(model, sentence)


def classify(model: nn.Module, pooled: torch.Tensor) -> torch.Tensor:
    """The classification layer's logits [..., classes] of sentence vectors [..., hidden], computed `as_trained`."""
    head = classification_layer(model)
    if head is None:
        raise BiasflowError(
            f"{name_of(model)} has no next-sentence or classification head; use an encoder that has one"
        )
    with as_trained(model):
        return full(head(pooled))


def last_of(
    model: nn.Module, states: torch.Tensor, keep: torch.Tensor, others: tuple, options: Mapping[str, object]
) -> torch.Tensor:
    """The last state [n, tokens, hidden] for `states`, what the second-to-last layer returns; of the first token alone,
    [n, 1, hidden], where classifiers read no other and it can be had at less cost.

    keep [n, tokens] is True where a token may be attended to; others, options: what the last layer is called with
    beside the states."""
    layer, parts = layers(model)[-1], family(model)
    if parts.finish:
        return _first_token(model, parts, layer, states, keep)
    output = layer(states, *others, **options)
    output = output[0] if isinstance(output, tuple) else output
    return attrgetter(parts.norm)(model.base_model)(output) if parts.norm else output


def _first_token(
    model: nn.Module, parts: Family, layer: nn.Module, states: torch.Tensor, keep: torch.Tensor
) -> torch.Tensor:
    """The first token's output of `layer` for its inputs `states` [n, tokens, hidden]: [n, 1, hidden].

    One query attends, so keys and values are never made: the query is carried back through the key matrix
    (<q, W_K h> = <W_K' q, h>), and the attention-weighted mean of the states goes through the value matrix once."""
    query, key, value = (attrgetter(path)(layer) for path in parts.attention)
    heads = model.config.num_attention_heads
    cls = states[:, :1]

    q = query(cls[:, 0]).unflatten(-1, (heads, -1))  # [n, heads, head_dim]
    # A key's bias adds the same to every token's score and drops out of the softmax.
    carried = torch.einsum("nhd,hdj->nhj", q, key.weight.unflatten(0, (heads, -1)))
    scores = torch.einsum("nhj,ntj->nht", carried, states) * q.shape[-1] ** -0.5
    scores = scores.masked_fill(~keep[:, None], torch.finfo(scores.dtype).min)
    attended = torch.einsum("nht,ntj->nhj", scores.softmax(-1), states)
    context = torch.einsum("nhj,hdj->nhd", attended, value.weight.unflatten(0, (heads, -1))).flatten(1) + value.bias
    return parts.finish(layer, context[:, None], cls)
