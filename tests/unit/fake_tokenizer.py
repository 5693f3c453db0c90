"""A word-level tokenizer made on the spot, for models with random weights."""

from collections.abc import Sequence

from transformers import BertTokenizer


def word_tokenizer(words: Sequence[str], max_length: int = 64) -> BertTokenizer:
    """BERT's tokenizer with the special tokens and `words` as its vocabulary."""
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    return BertTokenizer(vocab={word: i for i, word in enumerate(vocabulary)}, model_max_length=max_length)
