"""What several benchmarks run on: a small random BERT, and pairs of sentences with their tokenizer."""

import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

from biasflow.corpora.nli import LABELS
from biasflow.planted.nli import occupation_pair_words
from biasflow.text.occupation_pairs import OccupationPairs


def small_bert(classes: int) -> BertForSequenceClassification:
    """As deep as BERT-base and half as wide, with random weights: the ratios depend on depth, the time on width."""
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=384, num_attention_heads=12, intermediate_size=1536, num_labels=classes, hidden_dropout_prob=0.0
    )
    config.id2label = dict(enumerate(LABELS))
    return BertForSequenceClassification(config).eval()


def planted_pairs() -> tuple[OccupationPairs, BertTokenizer]:
    """As many gender-occupation pairs as the paper has, 10,824, in the words of the embedded corpus; a tokenizer."""
    words = occupation_pair_words()
    pairs = OccupationPairs(
        words["occupations"][:82], (*words["templates"], ("saw", "window")), ("man", "lord"), ("woman", "lady"), "the"
    )
    texts = [text for sentences in pairs.sentences(0, len(pairs)) for text in sentences]
    vocabulary = sorted({word for text in set(texts) for word in text.lower().replace(".", " .").split()})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = {piece: number for number, piece in enumerate([*special, *vocabulary])}
    return pairs, BertTokenizer(vocab=pieces, model_max_length=128)
