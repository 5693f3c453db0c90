"""Documents in pieces and segments: no token and no bracket is lost, and windows are slices of the whole."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig, BertModel

from biasflow.tasks.coreference.model import TokenVectors
from biasflow.tasks.coreference.segments import Segmenter, SpecialTokens, in_one_row, segment_numbers
from tests.unit.conftest import SIZES
from tests.unit.readouts.test_word_contexts import word_pieces
from tests.unit.synthetic_conll import conll_text, documents_of
from tests.unit.tasks.coreference.made_up import TOKENIZER, documents

PIECES = word_pieces()


def pieces_of(tmp_path, *texts, tokenizer=PIECES, length=16, **options):
    return Segmenter(tokenizer, length, **options)(documents_of(tmp_path, *texts))


@given(st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=5), max_size=6), st.integers(1, 9))
def test_a_segment_ends_where_no_more_fits(document, most):
    sizes = [size for sentence in document for size in sentence]
    words = np.repeat(np.arange(len(sizes)), sizes).astype(int)
    sentences = np.repeat(np.arange(len(document)), [len(sentence) for sentence in document]).astype(int)[words]
    numbers = segment_numbers(sentences, words, most)
    n = len(words)
    assert len(numbers) == n and (np.bincount(numbers) <= most).all() and set(np.diff(numbers)) <= {0, 1}
    begin = 0
    for end in np.flatnonzero(np.diff(numbers)) + 1:
        inside = range(begin + 1, end)
        if sentences[end] != sentences[end - 1]:
            unit = sentences
        elif words[end] != words[end - 1]:
            unit = words
            assert not any(sentences[at] != sentences[at - 1] for at in inside)
        else:
            unit = np.arange(n)
            assert not any(words[at] != words[at - 1] for at in inside)
        assert np.flatnonzero(unit == unit[end])[-1] + 1 - begin > most
        begin = end


def test_every_word_and_mention_has_its_pieces(tmp_path):
    words = ["the", "nurse", "abc", "/.", "\u200b"]
    (found,) = pieces_of(tmp_path, conll_text("nw/1", [words], [[(0, 1), (2, 3)], [(4, 4)]]))
    assert found.words.tolist() == [0, 1, 1, 2, 2, 2, 3, 4]
    assert PIECES.convert_ids_to_tokens(found.ids.tolist()) == ["the", "nur", "##se", "a", "##b", "##c", ".", "[UNK]"]
    assert found.mentions.tolist() == [[0, 2], [3, 6]]  # the cluster of one mention is left out
    assert found.clusters.tolist() == [0, 0]


def test_a_window_is_a_slice_with_the_mentions_in_it(tmp_path):
    before, whole = Segmenter(TOKENIZER, 9)(documents(tmp_path, [0, 1], sentences=6))
    window = whole.window(1, 2)
    begin, end = window.start - len(before), window.start - len(before) + len(window)
    assert 0 < begin < end < len(whole)
    assert window.n_segments == 2 and window.segments[0] == 0
    for name in ("ids", "words", "sentences", "speakers"):
        assert torch.equal(getattr(window, name), getattr(whole, name)[begin:end])
    inside = {(*span, c) for span, c in zip(map(tuple, whole.mentions.tolist()), whole.clusters.tolist(), strict=True)}
    inside = {(first - begin, last - begin, c) for first, last, c in inside if begin <= first and last < end}
    found = zip(map(tuple, window.mentions.tolist()), window.clusters.tolist(), strict=True)
    assert inside and {(*span, c) for span, c in found} == inside


def test_token_vectors_are_those_of_each_segment_alone(tmp_path):
    torch.manual_seed(0)
    model = BertModel(BertConfig(**SIZES)).eval()
    special = SpecialTokens.of(TOKENIZER)
    (whole,) = Segmenter(TOKENIZER, 9)(documents(tmp_path, [0], sentences=5))
    vectors = TokenVectors(model, special)(whole)
    expected = []
    for segment in range(whole.n_segments):
        ids = whole.ids[whole.segments == segment]
        ids = torch.cat([torch.tensor([special.before]), ids, torch.tensor([special.after])])[None]
        expected.append(model(input_ids=ids).last_hidden_state[0, 1:-1])
    torch.testing.assert_close(vectors, torch.cat(expected), atol=1e-5, rtol=1e-4)
    window = whole.window(1, 2)
    torch.testing.assert_close(
        TokenVectors(model, special)(window), vectors[window.start : window.start + len(window)], atol=1e-5, rtol=1e-4
    )


def test_documents_of_one_row_are_encoded_as_they_are_one_by_one(tmp_path):
    torch.manual_seed(0)
    encode = TokenVectors(BertModel(BertConfig(**SIZES)).eval(), SpecialTokens.of(TOKENIZER))
    pieces = Segmenter(TOKENIZER, 12)(documents(tmp_path, range(9), sentences=6))
    row = in_one_row(pieces)
    windows = [row.window(first, 4) for first in range(0, row.n_segments, 4)]
    assert row.n_segments == sum(each.n_segments for each in pieces)
    together = torch.cat([encode(window) for window in windows])
    torch.testing.assert_close(together, torch.cat([encode(each) for each in pieces]), atol=1e-5, rtol=1e-4)
    assert [window.start for window in windows[:2]] == [0, len(windows[0])]
