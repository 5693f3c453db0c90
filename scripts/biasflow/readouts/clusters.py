"""The readout `clusters`: the clusters that a coreference model's own scorer, and scorers trained anew, predict.

File: a table (readouts.predicted_clusters). Beside it lie the scorers that were trained, `<name>.heads.safetensors`
(tasks.coreference.heads).

Source: Orgad et al. (2022; section 3, "retraining", and table 8)."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.files import sha256
from biasflow.base.progress import Progress
from biasflow.base.tabular import write_parquet
from biasflow.corpora.conll import read_conll
from biasflow.encoders.batches import batchwise
from biasflow.encoders.device import flushed_denormals, resolve_device
from biasflow.encoders.taps import depth, name_of
from biasflow.methods.fitted import Fitted
from biasflow.readouts.files import METHOD, NA, OWN, RETRAINED
from biasflow.readouts.predicted_clusters import TEXTS, cluster_rows
from biasflow.readouts.reader import Reader
from biasflow.readouts.source import Source, load_for
from biasflow.readouts.states import States, to_be_stored
from biasflow.tasks.coreference.heads import StoredVectors, save_heads, train_heads
from biasflow.tasks.coreference.model import (
    SEGMENTS,
    Examples,
    Recipe,
    TokenVectors,
    load_coreference,
    predicted_clusters,
)
from biasflow.tasks.coreference.scorer import CoarseToFine
from biasflow.tasks.coreference.segments import SPECIAL, Pieces, Segmenter, SpecialTokens, in_one_row, with_words
from biasflow.training.checkpoints import DivergedError, claim, complete_folder, is_kept
from biasflow.training.task import origin

TRAIN, VALIDATION = LEARNT = ("train", "validation")  # roles of what scorers are trained on


def read(source: Source, output: Path, *, head_seeds: Sequence[int], recipe: Mapping[str, object]) -> dict:
    """Predict the clusters of the documents of the roles TEXTS under every method of the block: by the model's own
    scorer, and by one for each of `head_seeds`, trained on the documents of the roles LEARNT as they are, on the
    vectors that the frozen encoder has under that method.

    recipe: the fields of `model.Recipe`; what it says of the encoder plays no part, and documents are read as the model
    was trained to (its `reading`). A killed run goes on from what it left in `source.work` (or beside the output),
    which is removed at the end. BiasflowError: what reading, training and `checkpoints.claim` refuse, vectors that are
    not finite, and a method that changes nothing."""
    work = source.work or output.with_suffix(".work")
    with flushed_denormals():
        asked = Recipe.of(recipe)
        model, tokenizer = load_coreference(source.model_folder, device=resolve_device(source.device))
        reader = Reader(model, tokenizer, load_for(source)).reaching(words=True)
        encoding = replace(reader, fitted=to_be_stored(reader.fitted, depth(model)))
        segmenter = model.reading.segmenter(model, tokenizer)
        claim(work, _settings(source, reader, asked))
        texts, path = _opened(source, TEXTS, segmenter), work / "texts.safetensors"
        _store(encoding, texts, path, "float32")
        facts, under_methods = encoding.facts(), States(path, reader.fitted)
        for _ in under_methods.under_each():
            pass  # a method that changes nothing is refused before scorers are trained under others
        retrained: Iterator[list] = iter([[]] * len(reader.axis))
        if head_seeds:
            learnt = _opened(source, LEARNT, segmenter)
            retrained = _retrained(work, encoding, reader.fitted, learnt, asked, head_seeds)
        tables, trained = [], []
        for (method, setting, X), of_method in zip(under_methods.under_each(), retrained, strict=True):
            vectors, names = StoredVectors(X, model.device), dict(zip(METHOD, (method, setting), strict=True))
            for head, seed, scorer, _ in [(OWN, NA, model.scorer, {}), *of_method]:
                clusters = {text: predicted_clusters(scorer, vectors, data.pieces) for text, data in texts.items()}
                tables.append(cluster_rows(clusters, **names, head=head, head_seed=seed))
            trained += [
                (scorer.cpu(), {**names, "head": head, "head_seed": seed, **course})
                for head, seed, scorer, course in of_method
            ]
    write_parquet(pd.concat(tables, ignore_index=True), output)
    if trained:
        save_heads(*zip(*trained, strict=True), model.reading, output.with_suffix(".heads.safetensors"))
    shutil.rmtree(work, ignore_errors=True)
    documents = {text: len(data.documents) for text, data in texts.items()}
    return {**facts, "documents": documents, "heads": [about for _, about in trained]}


def _settings(source: Source, reader: Reader, recipe: Recipe) -> dict[str, object]:
    """All that decides the vectors and scorers that a killed run leaves."""
    return {
        "recipe": asdict(recipe),
        "data": {role: sha256(source.file(role)) for role in LEARNT},
        "methods": [list(pair) for pair in reader.axis],
        "fitted": sha256(source.methods_file) if source.methods_file else None,
        **origin(source.model_folder, reader.model.device, [__file__]),
    }


def _opened(source: Source, roles: Sequence[str], segmenter: Segmenter) -> dict[str, Examples]:
    """Role -> its documents, and their pieces, which stand in one row for all roles."""
    documents = {role: read_conll(source.file(role)).documents for role in roles}
    pieces = iter(segmenter([document for of_role in documents.values() for document in of_role]))
    return {role: Examples(of_role, [next(pieces) for _ in of_role]) for role, of_role in documents.items()}


def _store(reader: Reader, corpora: Mapping[str, Examples], path: Path, dtype: str) -> None:
    """Write the token vectors of all documents under every method, [methods, pieces, hidden], as readouts.first_token
    writes those of texts. Segments are encoded many at a time, whatever document they belong to."""
    row = in_one_row(with_words([pieces for corpus in corpora.values() for pieces in corpus.pieces]))
    encode = TokenVectors(reader.model, SpecialTokens.of(reader.tokenizer))
    with reader.storing(path, len(row), dtype) as (keep, _):

        def read_segments(numbers: range) -> tuple[Pieces, np.ndarray]:
            window = row.window(numbers.start, len(numbers))
            return window, reader.under_each(encode, window)

        def name(segment: int) -> str:
            length = len(row.window(segment, 1)) + SPECIAL
            return f"coreference: vectors: {name_of(reader.model)}: a segment of {length} tokens"

        counted, segments = Progress(row.n_segments, "coreference: vectors"), range(row.n_segments)
        for rows, (window, states) in batchwise(read_segments, segments, batch_size=SEGMENTS, name=name):
            keep(slice(window.start, window.start + len(window)), states)
            counted.advance(len(rows))


def _retrained(
    work: Path,
    encoding: Reader,
    fitted: Fitted,
    learnt: Mapping[str, Examples],
    recipe: Recipe,
    seeds: Sequence[int],
) -> Iterator[list[tuple[str, str, CoarseToFine, dict[str, object]]]]:
    """Under each method: head, seed, scorer, and how its training went."""
    folder, name = work / "learnt", "vectors.safetensors"
    if not is_kept(folder):
        with complete_folder(folder) as temporary:
            _store(encoding, learnt, temporary / name, "float16")
    for number, (*_, X) in enumerate(States(folder / name, fitted).under_each()):
        vectors, documents = StoredVectors(X, encoding.model.device), learnt[TRAIN].pieces
        options = {"recipe": recipe, "seeds": seeds, "work": work / str(number)}
        try:
            heads = [
                (RETRAINED, str(seed), scorer, facts)
                for seed, scorer, facts in train_heads(vectors, documents, learnt[VALIDATION], **options)
            ]
        except DivergedError:
            shutil.rmtree(work)  # there is nothing in it to go on from
            raise
        yield heads
