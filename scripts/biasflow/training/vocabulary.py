"""The WordPiece vocabulary and the tokenizer of a BERT that is trained from scratch."""

import string
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.trainers import WordPieceTrainer
from transformers import BertTokenizer

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_text

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def train_vocabulary(sentences: Sequence[str], vocab_size: int) -> dict[str, int]:
    """Lower-cased WordPiece vocabulary of up to `vocab_size` pieces: BERT's special tokens, single characters (alone
    and, but for Chinese ones, which are words, inside a word), then the trained pieces. It has all characters, also
    where these are more than `vocab_size`. The same sentences give the same vocabulary.

    The trainer numbers the characters inside words in an order that differs from run to run, and breaks ties between
    pieces by these numbers. Handing it all characters in sorted order, as if they were special, fixes both."""
    normalizer = BertNormalizer(lowercase=True)
    characters = sorted(set(normalizer.normalize_str("\n".join(sentences))) - set(string.whitespace))
    inside = [character for character in characters if normalizer.normalize_str(character) == character]
    trainer = WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=[*SPECIAL_TOKENS, *characters, *(f"##{character}" for character in inside)],
        show_progress=False,
    )
    wordpiece = Tokenizer(WordPiece(unk_token="[UNK]"))
    wordpiece.normalizer, wordpiece.pre_tokenizer = normalizer, BertPreTokenizer()
    wordpiece.train_from_iterator(sentences, trainer)
    return wordpiece.get_vocab()


def _read_vocabulary(path: str | Path) -> dict[str, int]:
    """The pieces of a vocab.txt with their line numbers."""
    pieces = read_text(path).rstrip("\n").split("\n")
    missing = set(SPECIAL_TOKENS) - set(pieces)
    if missing or len(set(pieces)) != len(pieces):
        fault = f"lacks {', '.join(sorted(missing))}" if missing else "repeats a piece"
        raise BiasflowError(f"{path}: the vocabulary {fault}; give BERT's vocab.txt, one piece per line.")
    return {piece: number for number, piece in enumerate(pieces)}


def new_tokenizer(
    documents: Sequence[Sequence[str]], vocabulary: str | Path | None, vocab_size: int, max_length: int
) -> BertTokenizer:
    """A lower-casing WordPiece tokenizer with the pieces of the file `vocabulary` (BERT's vocab.txt) or, without one,
    with those of `train_vocabulary` on the documents. BiasflowError for a vocabulary that no tokenizer can have."""
    if vocabulary is None:
        pieces = train_vocabulary([sentence for document in documents for sentence in document], vocab_size)
    else:
        pieces = _read_vocabulary(vocabulary)
    # vocab=, not vocab_file=: transformers 5 takes the latter in silence and builds an empty vocabulary
    tokenizer = BertTokenizer(vocab=pieces, do_lower_case=True, model_max_length=max_length)
    if len(tokenizer) != len(pieces):
        raise BiasflowError(
            f"pre-training: {len(pieces)} pieces gave a tokenizer of {len(tokenizer)}; check vocab_size."
        )
    return tokenizer
