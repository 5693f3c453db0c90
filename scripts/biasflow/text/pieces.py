"""Find the words that a vocabulary splits into pieces. Imports no torch: a local encoder's tokenizer is asked before
the first job."""

from collections.abc import Iterable


def split_words(tokenizer, words: Iterable[str]) -> list[str]:
    """Return the words that a tokenizer (of the package tokenizers) splits into several tokens within a text, or does
    not know."""
    tokenizer.no_padding()  # which a file may hold, as do those of sentence encoders
    tokenizer.no_truncation()
    unknown = getattr(tokenizer.model, "unk_token", None)
    result = []
    for word in dict.fromkeys(words):
        tokens = tokenizer.encode(f" {word}", add_special_tokens=False).tokens
        if len(tokens) != 1 or tokens[0] == unknown:
            result.append(word)
    return result
