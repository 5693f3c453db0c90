"""OntoGUM in the pieces and segments of a small real BERT, in models/ beside the folder that BIASFLOW_DATA names."""

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from biasflow.corpora.conll import read_conll
from biasflow.tasks.coreference.segments import Segmenter
from tests.real.files import DATA, LITWIKI, needs

pytestmark = needs(LITWIKI)


@pytest.fixture(scope="module")
def documents():
    return read_conll(DATA / "ontogum/train.v4_gold_conll").documents


@pytest.fixture(scope="module")
def pieces(documents):
    return Segmenter(AutoTokenizer.from_pretrained(LITWIKI, local_files_only=True), 128)(documents)


def test_most_documents_have_more_than_eleven_segments(pieces):
    segments = np.array([each.n_segments for each in pieces])
    assert (np.median([len(each) for each in pieces]), np.median(segments), segments.max()) == (1327, 12, 24)
    assert (segments > 11).sum() == 109
    assert all(torch.bincount(each.segments).max() <= 126 for each in pieces)


def test_every_word_has_a_piece_and_every_mention_its_own(documents, pieces):
    for document, each in zip(documents, pieces, strict=True):
        assert torch.equal(each.words.unique(), torch.arange(len(document.words)))
        spans = [tuple(span) for span in each.mentions.tolist()]
        gold = {number: [] for number in each.clusters.tolist()}
        for span, number in zip(spans, each.clusters.tolist(), strict=True):
            gold[number].append(span)
        assert each.word_clusters(list(gold.values())) == tuple(c for c in document.clusters if len(c) > 1)


def test_most_mentions_are_short(pieces):
    widths = np.concatenate([(each.mentions[:, 1] - each.mentions[:, 0] + 1).numpy() for each in pieces])
    shares = [100 * (widths <= width).mean() for width in (10, 15, 20, 30)]
    assert shares == pytest.approx([96.1, 98.1, 98.9, 99.6], abs=0.05)
