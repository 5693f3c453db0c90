"""Which words a vocabulary has no piece for. Imports no torch: a local encoder's tokenizer is asked before the first
job."""

from collections.abc import Iterable


def split_words(tokenizer, words: Iterable[str]) -> list[str]:
    """The words, within a text, that are several tokens of a tokenizer (of the package tokenizers), or one that stands
    for whatever its vocabulary lacks."""
    unknown = getattr(tokenizer.model, "unk_token", None)
    result = []
    for word in dict.fromkeys(words):
        tokens = tokenizer.encode(f" {word}", add_special_tokens=False).tokens
        if len(tokens) != 1 or tokens[0] == unknown:
            result.append(word)
    return result
