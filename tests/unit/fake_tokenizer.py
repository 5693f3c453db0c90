"""Tokenizers made on the spot, for models with random weights: of whole words, and of bytes with the space before."""

import json
from collections.abc import Sequence

from tokenizers.implementations import ByteLevelBPETokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertTokenizer, PreTrainedTokenizerFast, RobertaTokenizer


def word_tokenizer(words: Sequence[str], max_length: int = 64, *, cased: bool = False) -> BertTokenizer:
    """BERT's tokenizer with the special tokens and `words` as its vocabulary."""
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    ids = {word: i for i, word in enumerate(vocabulary)}
    return BertTokenizer(vocab=ids, model_max_length=max_length, do_lower_case=not cased)


def byte_tokenizer(texts: Sequence[str], max_length: int = 64) -> RobertaTokenizer:
    """RoBERTa's tokenizer, in which every word of the texts is a token of its own after a space, and another at the
    beginning."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(texts, vocab_size=1000, min_frequency=1, special_tokens=special, show_progress=False)
    model = json.loads(trained.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    return RobertaTokenizer(vocab=model["vocab"], merges=merges, model_max_length=max_length)


def bos_tokenizer(texts: Sequence[str], *, adds: str = "<s> $A </s>") -> PreTrainedTokenizerFast:
    """One of bytes that has bos and eos tokens in place of cls and sep, as EuroBERT's; eos is the padding, too.

    adds: what it puts around a text."""
    special = ["<s>", "</s>", "<mask>"]
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(texts, vocab_size=1000, min_frequency=1, special_tokens=special, show_progress=False)
    numbers = [(token, trained.token_to_id(token)) for token in special]
    trained.post_processor = TemplateProcessing(single=adds, pair=None, special_tokens=numbers)
    named = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>", "mask_token": "<mask>"}
    return PreTrainedTokenizerFast(tokenizer_object=trained._tokenizer, **named)
