"""Documents in pieces and segments: no token and no bracket is lost, and windows are slices of the whole."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig, BertModel

from biasflow.base.errors import BiasflowError
from biasflow.tasks.coreference.model import TokenVectors
from biasflow.tasks.coreference.segments import GENRES, UNKNOWN_GENRE, Segmenter, SpecialTokens, segment_numbers
from tests.unit.conftest import SIZES
from tests.unit.fake_tokenizer import bos_tokenizer
from tests.unit.readouts.test_word_contexts import byte_pairs, word_pieces
from tests.unit.synthetic_conll import conll_text, documents_of
from tests.unit.tasks.coreference.made_up import TOKENIZER, documents

PIECES = word_pieces()


def pieces_of(tmp_path, *texts, tokenizer=PIECES, length=16, **options):
    return Segmenter(tokenizer, length, **options)(documents_of(tmp_path, *texts))


def test_whole_sentences_then_words_then_what_fits():
    sentences = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2])
    words = np.array([0, 1, 1, 2, 3, 4, 5, 5, 5, 6, 6, 6, 6, 6, 6])
    #                 first sentence and second fit; the third is cut after a word, and a word of six within itself
    assert segment_numbers(sentences, words, 5).tolist() == [0] * 5 + [1] * 4 + [2] * 5 + [3]


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


def test_words_of_byte_level_vocabularies_have_their_space(tmp_path):
    tokenizer, text = byte_pairs(), conll_text("nw/1", [["the", "nurse"]])
    (spaced,) = pieces_of(tmp_path, text, tokenizer=tokenizer)
    (bare,) = pieces_of(tmp_path, text, tokenizer=tokenizer, word_prefix_space=False)
    assert tokenizer.decode(spaced.ids.tolist()) == " the nurse"
    assert tokenizer.decode(bare.ids.tolist()) == "thenurse"
    assert spaced.ids.tolist() == tokenizer(" the nurse", add_special_tokens=False)["input_ids"]


def test_genre_and_speakers(tmp_path):
    keys = ["bc/a", "tc/b/c", "unknown/a", "mz"]
    found = pieces_of(tmp_path, *(conll_text(key, [["he"]]) for key in keys))
    assert [each.genre for each in found] == [GENRES.index("bc"), GENRES.index("tc"), UNKNOWN_GENRE, GENRES.index("mz")]
    before, she, after = conll_text("nw/1", [["he", "he", "she"]]).partition("\tshe\t")
    text = before + she + after.replace("Speaker#1", "Speaker#2")
    assert pieces_of(tmp_path, text)[0].speakers.tolist() == [0, 0, 1]


def test_documents_without_words_have_no_pieces(tmp_path):
    first, empty, last = pieces_of(
        tmp_path, conll_text("nw/1", [["he"]]), conll_text("nw/2", []), conll_text("nw/3", [["she"]])
    )
    assert [len(each) for each in (first, empty, last)] == [1, 0, 1]
    assert [each.start for each in (first, empty, last)] == [0, 1, 1]
    assert empty.n_segments == 0 and empty.mentions.shape == (0, 2)
    assert Segmenter(PIECES, 16)([]) == []


def test_segments_need_room_for_a_piece():
    with pytest.raises(BiasflowError, match="2 tokens"):
        Segmenter(PIECES, 2)


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


def test_random_windows_reach_all_of_a_document_and_follow_from_the_generator(tmp_path):
    (whole,) = Segmenter(TOKENIZER, 9)(documents(tmp_path, [0], sentences=6))
    assert whole.random_window(whole.n_segments, np.random.default_rng(0)) is whole
    firsts = {whole.random_window(2, np.random.default_rng(seed)).start for seed in range(40)}
    assert len(firsts) == whole.n_segments - 1
    again = [whole.random_window(2, np.random.default_rng(5)).start for _ in range(2)]
    assert again[0] == again[1]


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


def test_clusters_of_words_have_every_span_once(tmp_path):
    (found,) = pieces_of(tmp_path, conll_text("nw/1", [["nurse", "abc", "he", "she", "the"]]))
    # pieces: nur ##se a ##b ##c he she the
    clusters = [[(0, 0), (0, 1), (5, 5)], [(6, 6), (1, 1)], [(2, 3), (7, 7), (2, 4)]]
    assert found.word_clusters(clusters) == (((0, 0), (2, 2)), ((1, 1), (4, 4)))


def test_a_tokenizer_without_cls_and_sep_is_refused():
    with pytest.raises(BiasflowError, match=r"no cls_token, sep_token or pad_token.*use another encoder"):
        SpecialTokens.of(bos_tokenizer(["he is a nurse"]))
