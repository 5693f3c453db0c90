"""The architectures whose parts biasflow knows, by the model type in config.json. Imports no torch.

A new architecture is a line in FAMILIES and one in the list of `tests/unit/encoders/families.py`, whose tests say
whether the line is right. Encoders of any other type can still be read as they are, without a method."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # plans are made with this module, and without torch
    from torch import Tensor, nn


def _pooler(model: "nn.Module", sentence: "Tensor") -> "Tensor":
    return model.base_model.pooler(sentence[:, None])


def _dense_tanh(model: "nn.Module", sentence: "Tensor") -> "Tensor":
    """As RoBERTa's classifiers read the sentence; without a classifier the pooler reads it."""
    dense = getattr(getattr(model, "classifier", None), "dense", None)
    return dense(sentence).tanh() if dense else _pooler(model, sentence)


def _pool_albert(model: "nn.Module", sentence: "Tensor") -> "Tensor":
    return model.base_model.pooler_activation(model.base_model.pooler(sentence))


def _finish_bert(layer: "nn.Module", context: "Tensor", residual: "Tensor") -> "Tensor":
    return layer.feed_forward_chunk(layer.attention.output(context, residual))


def _finish_distilbert(layer: "nn.Module", context: "Tensor", residual: "Tensor") -> "Tensor":
    attended = layer.sa_layer_norm(layer.attention.out_lin(context) + residual)
    return layer.output_layer_norm(layer.ffn(attended) + attended)


# The weights that a head needs, each by the names that it may have: a weight that is tied to another is stored once.
Weights = list[tuple[str, ...]]


def _masked_lm(layers: tuple[str, ...], output: str, bias: str = "", *, tied: bool = True) -> Callable[..., Weights]:
    """What a masked-LM head is made of, as a function of config.json: `layers`, each with a weight and a bias, and an
    output layer, whose weight is that of the word embeddings if it is `tied`. bias: another name of its bias."""

    def weights(about: Mapping) -> Weights:
        names = [(f"{layer}.{part}",) for layer in layers for part in ("weight", "bias")]
        biases = (bias, f"{output}.bias") if bias else (f"{output}.bias",)
        if tied and about.get("tie_word_embeddings", True):
            return [*names, biases]
        return [*names, (f"{output}.weight",), *((name,) for name in biases)]

    return weights


_cls_predictions = _masked_lm(
    ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm"),
    "cls.predictions.decoder",
    "cls.predictions.bias",
)
_lm_head = _masked_lm(("lm_head.dense", "lm_head.layer_norm"), "lm_head.decoder", "lm_head.bias")
_lm_predictions = _masked_lm(
    ("lm_predictions.lm_head.dense", "lm_predictions.lm_head.LayerNorm"), "lm_predictions.lm_head"
)


def _deberta_lm(about: Mapping) -> Weights:
    """DeBERTa v3 is published with a head under the second names, which is loaded only if its config.json says so."""
    return _cls_predictions(about) if about.get("legacy", True) else _lm_predictions({})


def _eurobert_lm(about: Mapping) -> Weights:
    return [] if about.get("tie_word_embeddings", False) else [("lm_head.weight",)]


def _modernbert_lm(about: Mapping) -> Weights:
    stored = {
        "head.dense.weight": True,
        "head.dense.bias": about.get("classifier_bias", False),
        "head.norm.weight": True,
        "head.norm.bias": about.get("norm_bias", False),
        "decoder.weight": not about.get("tie_word_embeddings", True),
        "decoder.bias": about.get("decoder_bias", True),
    }
    return [(name,) for name, is_stored in stored.items() if is_stored]


@dataclass(frozen=True)
class Family:
    """Where an architecture keeps its parts, and how its classifiers read a sentence.

    pool       from the vector that stands for a sentence [n, hidden] to what the classification layer reads [n, hidden]
    prefix     what stands before the names of an encoder's weights where it has a head; "" for the model type
    layers     path of the list of layers in the encoder
    attention  paths in a layer of the modules that make query, key and value; one path of a module that makes all three
               one after another; or none, where they have no places of their own
    dropout    path in a layer of the rate at which attention weights are dropped: a dropout module, or a number
    norm       path in the encoder of the normalisation after the last layer, whose output is the last state
    finish     (layer, attention's output before its projection, the layer's input) -> the layer's output; None where
               attention is more than a softmax of scaled dot products, or a normalisation stands before it
    averages   whether classifiers may read the mean over tokens: config.json says it as classifier_pooling
    shared     whether one module is run in several layers
    reserved   whether positions are counted from the padding token's number on, so that some stand for no token
    classifier  the ends of the names of the layers of its classification head, the one that gives the logits last
    masked_lm  config.json -> the weights of a masked-LM head
    next_sentence  whether such a model may have a next-sentence head"""

    pool: Callable[["nn.Module", "Tensor"], "Tensor"]
    prefix: str = ""
    layers: str = "encoder.layer"
    attention: tuple[str, ...] = ("attention.self.query", "attention.self.key", "attention.self.value")
    dropout: str = "attention.self.dropout"
    norm: str | None = None
    finish: Callable[["nn.Module", "Tensor", "Tensor"], "Tensor"] | None = None
    averages: bool = False
    shared: bool = False
    reserved: bool = False
    classifier: tuple[str, ...] = ("pooler.dense", "classifier")
    masked_lm: Callable[[Mapping], Weights] = _cls_predictions
    next_sentence: bool = False


_PROJECTIONS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
_TWO_LAYERS = ("classifier.dense", "classifier.out_proj")
_ROBERTA = Family(
    _dense_tanh, prefix="roberta", finish=_finish_bert, reserved=True, classifier=_TWO_LAYERS, masked_lm=_lm_head
)
FAMILIES: Mapping[str, Family] = {
    "bert": Family(_pooler, finish=_finish_bert, next_sentence=True),
    "roberta": _ROBERTA,
    "distilbert": Family(
        lambda model, sentence: model.pre_classifier(sentence).relu(),
        classifier=("pre_classifier", "classifier"),
        layers="transformer.layer",
        attention=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
        dropout="attention.dropout",
        finish=_finish_distilbert,
        masked_lm=_masked_lm(("vocab_transform", "vocab_layer_norm"), "vocab_projector"),
    ),
    # DeBERTa (v1) makes query, key and value in one matrix, head by head, and adds their biases afterwards.
    "deberta": Family(lambda model, sentence: model.pooler(sentence[:, None]), attention=(), masked_lm=_deberta_lm),
    "deberta-v2": Family(
        lambda model, sentence: model.pooler(sentence[:, None]),
        prefix="deberta",
        attention=("attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj"),
        masked_lm=_deberta_lm,
    ),
    "albert": Family(
        _pool_albert,
        layers="encoder.albert_layer_groups",
        attention=tuple(f"albert_layers.0.attention.{part}" for part in ("query", "key", "value")),
        dropout="albert_layers.0.attention.attention_dropout",
        classifier=("pooler", "classifier"),
        shared=True,
        masked_lm=_masked_lm(("predictions.dense", "predictions.LayerNorm"), "predictions.decoder", "predictions.bias"),
    ),
    "camembert": _ROBERTA,
    "data2vec-text": replace(_ROBERTA, prefix="data2vec_text"),
    "electra": Family(  # the generator has a masked-LM head; the discriminator tells replaced tokens from others
        lambda model, sentence: model.classifier.activation(model.classifier.dense(sentence)),
        classifier=_TWO_LAYERS,
        finish=_finish_bert,
        masked_lm=_masked_lm(("generator_predictions.dense", "generator_predictions.LayerNorm"), "generator_lm_head"),
    ),
    "ernie": Family(_pooler, finish=_finish_bert, next_sentence=True),
    "eurobert": Family(
        lambda model, sentence: model.activation(model.dense(sentence)),
        prefix="model",
        classifier=("dense", "classifier"),
        layers="layers",
        attention=_PROJECTIONS,
        dropout="self_attn.attention_dropout",
        norm="norm",
        averages=True,
        masked_lm=_eurobert_lm,
    ),
    "megatron-bert": Family(_pooler, prefix="bert", norm="encoder.ln", next_sentence=True),
    "modernbert": Family(
        lambda model, sentence: model.head(sentence),
        prefix="model",
        classifier=("head.dense", "classifier"),
        layers="layers",
        attention=("attn.Wqkv",),
        dropout="attn.attention_dropout",
        norm="final_norm",
        averages=True,
        masked_lm=_modernbert_lm,
    ),
    "mpnet": Family(
        _dense_tanh,
        classifier=_TWO_LAYERS,
        attention=("attention.attn.q", "attention.attn.k", "attention.attn.v"),
        dropout="attention.attn.dropout",
        reserved=True,
        masked_lm=_lm_head,
    ),
    "nomic_bert": Family(
        _pooler,
        layers="layers",
        attention=_PROJECTIONS,
        dropout="self_attn.attention_dropout",
        masked_lm=_masked_lm(
            ("cls.predictions.transform.dense", "cls.predictions.transform.layer_norm"),
            "cls.predictions.decoder",
            "cls.predictions.bias",
        ),
    ),
    "rembert": Family(
        _pooler,
        finish=_finish_bert,
        masked_lm=_masked_lm(
            ("cls.predictions.dense", "cls.predictions.LayerNorm"), "cls.predictions.decoder", tied=False
        ),
    ),
    "roberta-prelayernorm": Family(
        _dense_tanh,
        prefix="roberta_prelayernorm",
        norm="LayerNorm",
        reserved=True,
        classifier=_TWO_LAYERS,
        masked_lm=_lm_head,
    ),
    "xlm-roberta": _ROBERTA,
    "xlm-roberta-xl": Family(
        _dense_tanh,
        prefix="roberta",
        norm="encoder.LayerNorm",
        reserved=True,
        classifier=_TWO_LAYERS,
        masked_lm=_lm_head,
    ),
}

_NEXT_SENTENCE: Weights = [
    (f"{layer}.{part}",) for layer in ("cls.seq_relationship", "pooler.dense") for part in ("weight", "bias")
]
# How names of weights of a head begin, for model types that are not listed: as in a family, or in XLM.
_BEGINNINGS = {
    "masked_lm": {
        "pred_layer.proj",
        *(same[0].rpartition(".")[0] for about in FAMILIES.values() for same in about.masked_lm({})),
    },
    "next_sentence": {"cls.seq_relationship"},
}
HEADS = tuple(_BEGINNINGS)
_OLD_NAMES = {".LayerNorm.gamma": ".LayerNorm.weight", ".LayerNorm.beta": ".LayerNorm.bias"}


def head_weights(head: str, about: Mapping) -> Weights | None:
    """The weights that a head ("masked_lm" or "next_sentence") of a listed type needs; None where it has no such head.
    about: config.json."""
    family = FAMILIES[about["model_type"]]
    if head == "masked_lm":
        return family.masked_lm(about)
    return _NEXT_SENTENCE if family.next_sentence else None


def lacking(head: str, about: Mapping, names: Collection[str]) -> str:
    """Why transformers would load no trained head from weights of these names, "" if it would.

    The key `architectures` of config.json counts for nothing: most sentence encoders name a class there that has a
    masked-LM head, and come without its weights."""
    kind = about.get("model_type")
    names = {re.sub("|".join(_OLD_NAMES), lambda old: _OLD_NAMES[old[0]], name) for name in names}
    if kind not in FAMILIES:
        is_there = any(name.startswith(tuple(_BEGINNINGS[head])) for name in names)
        return "" if is_there else "the weights have none by a name that is known"
    needed = head_weights(head, about)
    if needed is None:
        return f"an encoder of the type {kind} has no such head"
    names |= {name.partition(".")[2] for name in names if ".pooler." in name}  # as in bert.pooler.dense.weight
    missing = sorted(same[0] for same in needed if names.isdisjoint(same))
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    return f"the weights lack {missing[0]}{more}" if missing else ""


# Model types of decoders begin or end with such a name, and a decoder's class is called so.
_DECODER_TYPES = (
    r"(.*[_-])?(gpt|openai-gpt|llama|mistral|ministral|mixtral|qwen|gemma|phi|falcon|opt|bloom|mamba|olmo|cohere|mpt|"
    r"deepseek|granite|stablelm|starcoder|smollm|rwkv|xglm|xlnet|ctrl|t5|mt5|umt5|longt5|bart|mbart|plbart|pegasus|"
    r"marian|m2m|led|prophetnet|whisper|gptj|codegen|xlstm|zamba|jamba|nemotron|exaone|glm|nllb|seed_oss|biogpt|"
    r"blenderbot|fsmt|mvp|bert-generation|encoder-decoder|switch|trocr|bitnet|helium|persimmon|minimax|minicpm|moshi|"
    r"olmoe|phimoe|gemma3n|ernie4|internlm|hunyuan|kimi|lfm|nanochat|dbrx|doge|arcee|cpmant|musicgen|seamless)\d*"
    r"([_-].*)?|modernbert-decoder"
)
_DECODER_CLASSES = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "DoubleHeadsModel", "Decoder")
# Why a decoder is refused, and what measures one. It holds for those that see both sides of a token, too.
DECODER = (
    "a decoder, or an encoder with a decoder behind it. biasflow does not read this architecture: it measures encoders "
    "such as BERT, whose states are made of the words on both sides of a token. Score the items with other software "
    "(lm-evaluation-harness, for instance) and read the scores with source: external (docs/howto/own_data.md)"
)


def sign_of_decoder(about: Mapping) -> str | None:
    """The key of config.json, with its value, that tells a decoder, or an encoder with a decoder behind it; None for an
    encoder, as far as its keys tell."""
    for key in ("is_decoder", "is_encoder_decoder", "add_cross_attention"):
        if about.get(key):
            return f"key {key!r} is {about[key]}"
    kind, classes = about.get("model_type") or "", about.get("architectures") or []
    if kind in FAMILIES:
        return None
    if re.fullmatch(_DECODER_TYPES, kind):
        return f"key 'model_type' is {kind}"
    name = next((name for name in classes if name.endswith(_DECODER_CLASSES)), None)
    return name and f"key 'architectures' is {name}"
