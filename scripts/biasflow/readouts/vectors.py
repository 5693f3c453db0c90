"""Vectors of sentences, and of words in sentences, from the last layer of an encoder under every method."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import torch
from transformers import BatchEncoding, PreTrainedTokenizerBase

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.left_out import most
from biasflow.corpora.seat import PAPERS_TEMPLATES, AssociationTest, examples_of, in_templates
from biasflow.corpora.word_sets import split_words
from biasflow.encoders.batches import encode
from biasflow.encoders.places import CLS, SENTENCE
from biasflow.encoders.sentence_encoder import Kind
from biasflow.encoders.taps import last_state
from biasflow.readouts.cloze import made_of
from biasflow.readouts.files import save_arrays
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source
from biasflow.stimuli.densray_sets import MASK, read_own_test, read_test

TokenPooling = Literal["cls", "mean", "first-piece", "target"]  # of the last layer's states
Pooling = Literal[TokenPooling, "sentence"]
ALONE = "{word}"  # a template
FIRST_PIECE = "first-piece"  # the one that takes the sentence without special tokens


def read(
    source: Source,
    output: Path,
    *,
    word_pooling: Pooling = "target",
    sentence_pooling: Pooling = "cls",
    others: Sequence[Pooling] = (),
    templates: Sequence[str] | None = None,
    of_words: bool = False,
) -> dict[str, object]:
    """The vectors of the four sets of an association test: arrays X, Y, A, B [methods, n, d], float32.

    The test is `source.dataset`, its file (the planted one has none) the data "test". Words are put into `templates`
    (None: paper A's), and a word's vector is the mean of its pieces, and over the templates, or, with the word_pooling
    "sentence", that of the word as a whole text; sentences are as they are, with `sentence_pooling` and, in arrays such
    as mean.X, with each of `others`. In the file's meta: kind ("weat" for words, "seat" for sentences), pooling,
    others, and of sentences which word each target is about. A user's test is the data "own" (`read_own_test`): one
    `of_words`, or of a sentence for every word and template; the meta says how many words it has, how many of them are
    `split` into pieces, and the templates. Words and sentences that the encoder cannot take are left out; AbsentError
    where these are most of a set."""
    counts: dict[str, object] = {}
    reader = open_reader(source, "none")
    if "own" in source.data:
        of_words = of_words or templates is None
        words, test = read_own_test(source.dataset, source.file("own"), None if of_words else templates)
        listed = list(chain(*examples_of(words).values()))
        split = split_words(reader.tokenizer.backend_tokenizer, listed)
        counts = {"words": len(listed), "split": len(split), "templates": templates or [*PAPERS_TEMPLATES]}
    else:
        (path,) = source.data.get("test", (None,))
        test, of_words = read_test(source.dataset, path)
    pooling = word_pooling if of_words else sentence_pooling
    if of_words and pooling == SENTENCE:
        templates = templates or [ALONE]
    reader = reader.reaching(words=of_words, sentence=pooling == SENTENCE)
    others = [] if of_words else list(others)
    test = _measurable(reader, test, templates, of_words=of_words)
    vectors = embed_test(reader, test, pooling=pooling, of_words=of_words, others=others, templates=templates)
    about = {} if of_words else {"about": {"X": test.X.about, "Y": test.Y.about}}
    kind = "weat" if of_words else "seat"
    save_arrays(output, vectors, reader.axis, kind=kind, pooling=pooling, others=others, **about, **counts)
    return {**reader.facts(), **counts}


def _measurable(
    reader: Reader, test: AssociationTest, templates: Sequence[str] | None, *, of_words: bool
) -> AssociationTest:
    """The test without the words and sentences that the encoder cannot take, or its vocabulary lacks (`made_of`).

    AbsentError where these are most of a set."""
    words = list(chain(*examples_of(test).values()))
    texts = list(chain(*examples_of(in_templates(test, templates)).values())) if of_words else words
    names = np.repeat(np.array(words, dtype=object), len(texts) // len(words))
    table = pd.DataFrame({"text": [_masked(reader.tokenizer, text) for text in texts]}, pd.Index(names))
    reader.left_out.of = table.index.nunique()

    def check(row: tuple, encoding: Mapping[str, list]) -> None:
        if of_words:
            _pieces(reader.tokenizer, row.text, row.Index, encoding["offset_mapping"], encoding["input_ids"])

    kept, _ = made_of(reader, table, ["text"], check, return_offsets_mapping=of_words)
    for role, examples in examples_of(test).items():
        lost = [example for example in examples if example in reader.left_out.reasons]
        if most(len(lost), len(examples)):
            counts = f"{len(lost)} of {len(examples)} in set {role} of {test.name} cannot be measured"
            raise AbsentError(f"{counts}, the first, {lost[0]!r}, because: {reader.left_out.reasons[lost[0]]}")
    return test.only(set(kept.index))


def embed_test(
    reader: Reader,
    test: AssociationTest,
    *,
    pooling: Pooling,
    of_words: bool = False,
    others: Sequence[Pooling] = (),
    templates: Sequence[str] | None = None,
) -> dict[str, np.ndarray]:
    """The vectors of a test's sets by role: X, Y, A, B -> float32 [methods, n, d], each distinct sentence read once;
    those of other poolings as mean.X and so on.

    Examples that are words (`of_words`, and always with pooling "target") are put into `templates` (None: paper A's); a
    word's vector is the mean over these. Errors as `embed`."""
    of_words = of_words or pooling == "target"
    words, times = examples_of(test), len(templates or "-") if of_words else 1
    sentences = examples_of(in_templates(test, templates)) if of_words else words
    repeated = {role: [word for word in listed for _ in range(times)] for role, listed in words.items()}
    pairs = {role: list(zip(sentences[role], repeated[role], strict=True)) for role in words}
    distinct = {pair: row for row, pair in enumerate(dict.fromkeys(pair for some in pairs.values() for pair in some))}
    texts, targets = zip(*distinct, strict=True)
    vectors = embed(reader, texts, (pooling, *others), targets if pooling == "target" else None)
    return {
        role if name == pooling else f"{name}.{role}": _means(
            vectors[name][:, [distinct[pair] for pair in some]], times
        )
        for name in vectors
        for role, some in pairs.items()
    }


def _means(vectors: np.ndarray, times: int) -> np.ndarray:
    """The means of so many neighbouring vectors: [methods, n times, d] -> [methods, n, d]."""
    return vectors if times == 1 else vectors.reshape(len(vectors), -1, times, vectors.shape[-1]).mean(axis=2)


def embed(
    reader: Reader,
    sentences: Sequence[str],
    poolings: Sequence[Pooling],
    targets: Sequence[str] | None = None,
    *,
    cut: bool = False,
    kind: Kind = "",
) -> dict[Pooling, np.ndarray]:
    """One vector per sentence and method by each pooling, from the last encoder layer: float32 [methods, n, d].

    pooling, that is, which token states are averaged:
    "cls"          the first special token's ([CLS], <s>), the sentence vector of May et al. (2019)
    "mean"         those of all tokens, special ones included (Meade et al. 2022)
    "first-piece"  that of the first piece of the sentence tokenised without special tokens (the code of May et al.)
    "target"       those of the pieces of targets[i], the word of sentence i: its first occurrence as a whole word, in
                   upper or lower case (Liang et al. 2020)
    "sentence"     what the library sentence-transformers makes of the sentence, with the folder's prompt of this `kind`
    Those that take the same tokens are read together. [MASK] in a sentence stands for the tokenizer's own mask token.

    cut: whether a sentence that is longer than the encoder takes is cut, and counted; otherwise each is taken whole."""
    vectors = {SENTENCE: reader.sentences(sentences, kind)} if SENTENCE in poolings else {}
    for special in (True, False):
        others = [pooling for pooling in poolings if pooling != SENTENCE]
        if same := [pooling for pooling in others if (pooling != FIRST_PIECE) == special]:
            of_all = np.stack([*_embedded(reader, sentences, same, targets, cut)])
            vectors |= {name: np.ascontiguousarray(of_all[:, :, number]) for number, name in enumerate(same)}
    return {pooling: vectors[pooling] for pooling in poolings}


def embed_each(reader: Reader, texts: Sequence[str], pooling: Pooling, kind: Kind = "") -> Iterator[np.ndarray]:
    """The vectors that `embed` makes of texts, which it may cut, by one pooling, a method after the other: [n, d]."""
    if pooling == SENTENCE:
        return reader.each_sentences(texts, kind)
    return (vectors[:, 0] for vectors in _embedded(reader, texts, [pooling], None, cut=True))


def _embedded(
    reader: Reader, sentences: Sequence[str], poolings: Sequence[TokenPooling], targets: Sequence[str] | None, cut: bool
) -> Iterator[np.ndarray]:
    """For each method float32 [n, poolings, d]; all poolings take the same tokens."""
    tokenizer, offsets, special = reader.tokenizer, "target" in poolings, FIRST_PIECE not in poolings
    masked = [_masked(tokenizer, sentence) for sentence in sentences]
    if cut:
        tokens = reader.tokenised(masked)
        encoded = tokens.of_all(range(len(tokens)))
    else:
        encoded = encode(tokenizer, masked, add_special_tokens=special, return_offsets_mapping=offsets)
    # for each pooling and sentence the positions of the tokens that are averaged
    ids, places = encoded["input_ids"], {pooling: [[0]] * len(sentences) for pooling in poolings}
    if "mean" in poolings:
        places["mean"] = [range(len(its)) for its in ids]
    if offsets:
        rows = zip(masked, targets, encoded.pop("offset_mapping"), ids, strict=True)
        places["target"] = [_pieces(tokenizer, *row) for row in rows]

    def pooled(batch: BatchEncoding, rows: Sequence[int]) -> torch.Tensor:
        states = last_state(reader.model, **batch).float()
        weights = torch.zeros(len(rows), len(poolings), states.shape[1])
        for number, its in enumerate(places.values()):
            for i, row in enumerate(rows):
                weights[i, number, list(its[row])] = 1 / len(its[row])
        return weights.to(states) @ states

    # an eraser of all states acts on a mean of them as on each, one of the first token's on that alone
    of_first = set(poolings) <= {"cls", FIRST_PIECE}
    return reader.each_over(encoded, pooled, "sentences", parts=(None, CLS) if of_first else (None,))


def _masked(tokenizer: PreTrainedTokenizerBase, sentence: str) -> str:
    """The sentence with the tokenizer's own mask token."""
    if tokenizer.mask_token is None and MASK in sentence:
        raise AbsentError(f"{type(tokenizer).__name__} has no mask token for the sentences with {MASK}.")
    return sentence.replace(MASK, tokenizer.mask_token or MASK)


def _pieces(
    tokenizer: PreTrainedTokenizerBase,
    sentence: str,
    target: str,
    offsets: Sequence[tuple[int, int]],
    ids: Sequence[int],
) -> list[int]:
    """Which tokens of the sentence are pieces of the target word; offsets: each token's characters in the sentence."""
    # Letters and digits beside it would make it a part of another word; \b does not know words that end in a mark.
    pattern = rf"(?<!\w){re.escape(target)}(?!\w)"
    mask = tokenizer.mask_token or MASK
    unmasked = sentence.replace(mask, "\0" * len(mask))  # "mask" is a word, too
    match = re.search(pattern, unmasked, flags=re.IGNORECASE) if target else None
    if match is None:
        raise BiasflowError(f"{sentence!r}: the word {target!r} is not in it; change the sentence or the word.")
    places = [i for i, (start, end) in enumerate(offsets) if start < match.end() and end > match.start()]
    if not places or tokenizer.unk_token_id in [ids[i] for i in places]:
        raise AbsentError("a word that the encoder's vocabulary lacks", f"{sentence!r}: {target!r}; choose another")
    return places
