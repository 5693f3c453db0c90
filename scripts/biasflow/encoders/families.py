"""The architectures whose parts biasflow knows, by the model type in config.json. Imports no torch.

A new architecture is a line in FAMILIES and one in the list of `tests/unit/encoders/families.py`, whose tests say
whether the line is right. Encoders of any other type can still be read as they are, without a method."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Family:
    """Where an architecture keeps its parts, and how its classifiers read a sentence.

    pool       from the vector that stands for a sentence [n, hidden] to what the classification layer reads [n, hidden]
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
    heads      the heads that a model called "...ForPreTraining" holds, of "masked_lm" and "next_sentence" """

    pool: Callable[["nn.Module", "Tensor"], "Tensor"]
    layers: str = "encoder.layer"
    attention: tuple[str, ...] = ("attention.self.query", "attention.self.key", "attention.self.value")
    dropout: str = "attention.self.dropout"
    norm: str | None = None
    finish: Callable[["nn.Module", "Tensor", "Tensor"], "Tensor"] | None = None
    averages: bool = False
    shared: bool = False
    reserved: bool = False
    heads: tuple[str, ...] = ("masked_lm",)


_BOTH_HEADS = ("masked_lm", "next_sentence")
_PROJECTIONS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
_ROBERTA = Family(_dense_tanh, finish=_finish_bert, reserved=True)
FAMILIES: Mapping[str, Family] = {
    "bert": Family(_pooler, finish=_finish_bert, heads=_BOTH_HEADS),
    "roberta": _ROBERTA,
    "distilbert": Family(
        lambda model, sentence: model.pre_classifier(sentence).relu(),
        layers="transformer.layer",
        attention=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
        dropout="attention.dropout",
        finish=_finish_distilbert,
    ),
    # DeBERTa (v1) makes query, key and value in one matrix, head by head, and adds their biases afterwards.
    "deberta": Family(lambda model, sentence: model.pooler(sentence[:, None]), attention=()),
    "deberta-v2": Family(
        lambda model, sentence: model.pooler(sentence[:, None]),
        attention=("attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj"),
    ),
    "albert": Family(
        _pool_albert,
        layers="encoder.albert_layer_groups",
        attention=tuple(f"albert_layers.0.attention.{part}" for part in ("query", "key", "value")),
        dropout="albert_layers.0.attention.attention_dropout",
        shared=True,
    ),
    "camembert": _ROBERTA,
    "data2vec-text": _ROBERTA,
    "electra": Family(  # what is called ...ForPreTraining is the discriminator: it tells replaced tokens from others
        lambda model, sentence: model.classifier.activation(model.classifier.dense(sentence)),
        finish=_finish_bert,
        heads=(),
    ),
    "ernie": Family(_pooler, finish=_finish_bert, heads=_BOTH_HEADS),
    "eurobert": Family(
        lambda model, sentence: model.activation(model.dense(sentence)),
        layers="layers",
        attention=_PROJECTIONS,
        dropout="self_attn.attention_dropout",
        norm="norm",
        averages=True,
    ),
    "megatron-bert": Family(_pooler, norm="encoder.ln", heads=_BOTH_HEADS),
    "modernbert": Family(
        lambda model, sentence: model.head(sentence),
        layers="layers",
        attention=("attn.Wqkv",),
        dropout="attn.attention_dropout",
        norm="final_norm",
        averages=True,
    ),
    "mpnet": Family(
        _dense_tanh,
        attention=("attention.attn.q", "attention.attn.k", "attention.attn.v"),
        dropout="attention.attn.dropout",
        reserved=True,
    ),
    "nomic_bert": Family(_pooler, layers="layers", attention=_PROJECTIONS, dropout="self_attn.attention_dropout"),
    "rembert": Family(_pooler, finish=_finish_bert),
    "roberta-prelayernorm": Family(_dense_tanh, norm="LayerNorm", reserved=True),
    "xlm-roberta": _ROBERTA,
    "xlm-roberta-xl": Family(_dense_tanh, norm="encoder.LayerNorm", reserved=True),
}

# Model types of decoders begin or end with such a name, and a decoder's class is called so.
_DECODER_TYPES = (
    r"(.*[_-])?(gpt|openai-gpt|llama|mistral|ministral|mixtral|qwen|gemma|phi|falcon|opt|bloom|mamba|olmo|cohere|mpt|"
    r"deepseek|granite|stablelm|starcoder|smollm|rwkv|xglm|xlnet|ctrl|t5|mt5|umt5|longt5|bart|mbart|plbart|pegasus|"
    r"marian|m2m|led|prophetnet|whisper|gptj|codegen|xlstm|zamba|jamba|nemotron|exaone|glm|nllb|seed_oss|biogpt)\d*"
    r"([_-].*)?|modernbert-decoder"
)
_DECODER_CLASSES = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "DoubleHeadsModel", "Decoder")
# Why a decoder is refused, and what measures one. It holds for those that see both sides of a token, too.
DECODER = (
    "a decoder, or an encoder with a decoder behind it. biasflow does not read this architecture: it measures encoders "
    "such as BERT, whose states are made of the words on both sides of a token. Score the items with other software "
    "(lm-evaluation-harness, for instance) and read the scores with source: external (docs/howto/item_scores.md)"
)


def sign_of_decoder(about: Mapping) -> str | None:
    """The key of config.json, with its value, that tells a decoder, or an encoder with a decoder behind it; None for an
    encoder, as far as its keys tell."""
    for key in ("is_decoder", "is_encoder_decoder", "add_cross_attention"):
        if about.get(key):
            return f"key {key!r} is {about[key]}"
    kind, classes = about.get("model_type") or "", about.get("architectures") or []
    if kind in FAMILIES or any(name.endswith("ForMaskedLM") for name in classes):
        return None
    if re.fullmatch(_DECODER_TYPES, kind):
        return f"key 'model_type' is {kind}"
    name = next((name for name in classes if name.endswith(_DECODER_CLASSES)), None)
    return name and f"key 'architectures' is {name}"
