"""Shared inputs of benchmarks: a small random BERT, and pairs of sentences with their tokenizer."""

import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

from biasflow.corpora.nli import LABELS
from biasflow.planted.nli import occupation_pair_words
from biasflow.text.occupation_pairs import OccupationPairs


def random_bert(layers: int, hidden: int) -> BertConfig:
    """A BERT with 12 heads, or 4 where 12 do not divide `hidden`: BERT-base has 12 layers and 768 dimensions."""
    heads = 4 if hidden % 12 else 12
    return BertConfig(
        num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, intermediate_size=4 * hidden
    )


def small_bert(classes: int, *, layers: int = 12, hidden: int = 384) -> BertForSequenceClassification:
    """A BERT with random weights, by default as deep as BERT-base and half as wide: ratios depend on depth."""
    torch.manual_seed(0)
    config = random_bert(layers, hidden)
    config.hidden_dropout_prob, config.num_labels = 0.0, classes
    config.id2label = dict(enumerate(LABELS))
    return BertForSequenceClassification(config).eval()


def planted_pairs(occupations: int = 82) -> tuple[OccupationPairs, BertTokenizer]:
    """Gender-occupation pairs (by default 10,824, as the paper has) in the embedded corpus's words; a tokenizer."""
    words = occupation_pair_words()
    templates = (*words["templates"], ("saw", "window"))
    pairs = OccupationPairs(words["occupations"][:occupations], templates, ("man", "lord"), ("woman", "lady"), "the")
    texts = [text for sentences in pairs.sentences(0, len(pairs)) for text in sentences]
    vocabulary = sorted({word for text in set(texts) for word in text.lower().replace(".", " .").split()})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = {piece: number for number, piece in enumerate([*special, *vocabulary])}
    return pairs, BertTokenizer(vocab=pieces, model_max_length=128)
