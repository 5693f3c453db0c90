"""Scores of coreference: F1 of the official measures, and the scorer of spans."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig, BertModel

from biasflow.tasks.coreference import scorer as module
from biasflow.tasks.coreference.f1 import conll_f1
from biasflow.tasks.coreference.model import TokenVectors, antecedent_loss, clusters_of, mention_loss
from biasflow.tasks.coreference.scorer import CoarseToFine, Scored, Sizes, candidates, kept_spans
from biasflow.tasks.coreference.segments import Pieces, Segmenter, SpecialTokens, in_one_row, segment_numbers
from tests.unit.conftest import SIZES as OF_ENCODER
from tests.unit.readouts.test_word_contexts import word_pieces
from tests.unit.synthetic_conll import conll_text, documents_of
from tests.unit.tasks.coreference.made_up import TOKENIZER, documents
from tests.unit.tasks.coreference.reference_scorer import crosses, plain_score, prune

TRUTH_A = "a bc def"
# Case: gold, predicted, metric -> recall and precision. Clusters are words, their letters are mentions.
CASES = [
    (TRUTH_A, TRUTH_A, {"muc": (1, 1), "b_cubed": (1, 1), "ceafe": (1, 1), "lea": (1, 1)}),
    (TRUTH_A, "a de", {"muc": ("1/3", 1), "b_cubed": ("7/18", 1), "ceafe": (0.6, 0.9)}),
    (TRUTH_A, "a bcx defy z", {"muc": (1, "3/5"), "b_cubed": (1, "55/108"), "ceafe": (0.8857, 0.6643)}),
    (TRUTH_A, "a bcx dy z", {"muc": ("1/3", "1/3"), "b_cubed": ("5/9", "17/42"), "ceafe": ("11/15", 0.55)}),
    (TRUTH_A, "a b c d e f", {"muc": (0, 0), "b_cubed": ("1/2", 1)}),
    ("12345 67 89ABC", "12345 6789ABC", {"muc": (1, "9/10"), "b_cubed": (1, "16/21")}),
    ("12345 67 89ABC", "1234589ABC 67", {"muc": (1, "9/10"), "b_cubed": (1, "7/12")}),
    ("ABCD", "AB CD", {"muc": ("2/3", 1)}),
    ("abc defg", "ab cd fghi", {"lea": (0.2381, 0.3333)}),
    ("a bc", "a bd", {"lea": ("1/3", "1/3")}),  # a alone on both sides is a link kept
    ("a bc", "ab c", {"lea": (0, 0)}),
]


@pytest.mark.parametrize(("gold", "predicted", "expected"), CASES)
def test_reference_cases(gold, predicted, expected):
    scores = conll_f1([gold.split()], [predicted.split()])
    for metric, values in expected.items():
        found = getattr(scores, metric)
        recall, precision = (float(Fraction(str(value))) for value in values)
        assert (found.recall, found.precision) == pytest.approx((recall, precision), abs=5e-5), metric
        assert found.f1 == pytest.approx(2 * recall * precision / (recall + precision) if recall else 0, abs=5e-5)


def test_a_mention_predicted_twice_counts_where_it_stands_first():
    scores = conll_f1([["abc"]], [["ab", "bc", "a"]])
    assert scores.repeated == 2
    assert np.array_equal(scores.per_document, conll_f1([["abc"]], [["ab", "c"]]).per_document)


def clusters_of_documents(size: int = 3):
    """Gold and predicted clusters of some clusters_of_documents; a mention stands in one cluster of a side at most."""

    def clusters(numbers):
        return [
            [mention for mention, each in enumerate(numbers) if each == number]
            for number in sorted(set(numbers) - {None})
        ]

    side = st.lists(st.none() | st.integers(0, 4), max_size=9).map(clusters)
    return st.lists(st.tuples(side, side), min_size=1, max_size=size).map(lambda pairs: list(zip(*pairs, strict=True)))


@given(clusters_of_documents())
def test_documents_are_one_document_whose_mentions_name_theirs(sides):
    tagged = [
        [[[(number, mention) for mention in cluster] for number, each in enumerate(side) for cluster in each]]
        for side in sides
    ]
    assert conll_f1(*tagged).per_document[0] == pytest.approx(conll_f1(*sides).per_document.sum(axis=0))


def recall_by_definition(gold, predicted) -> list[tuple[float, float]]:
    """Numerator and denominator of each metric's recall, mention by mention and link by link."""
    of = {mention: frozenset(cluster) for cluster in predicted for mention in cluster}
    muc = lea = 0
    for cluster in gold:
        muc += len(cluster) - len({of.get(mention, mention) for mention in cluster})
        links = [frozenset(pair) for pair in combinations(cluster, 2)] or [frozenset(cluster)]
        kept = [link for link in links if any(_has(other, link) for other in of.values())]
        lea += len(cluster) * len(kept) / len(links)
    b_cubed = sum(len(of.get(m, frozenset()) & set(cluster)) / len(cluster) for cluster in gold for m in cluster)
    few, many = sorted((gold, predicted), key=len)
    ceafe = max(
        sum(2 * len({*one} & {*other}) / (len(one) + len(other)) for one, other in zip(few, chosen, strict=True))
        for chosen in permutations(many, len(few))
    )
    mentions = sum(map(len, gold))
    return [(muc, mentions - len(gold)), (b_cubed, mentions), (ceafe, len(gold)), (lea, mentions)]


def _has(cluster, link) -> bool:
    return link <= cluster if len(link) > 1 else link == cluster


@given(clusters_of_documents(size=1))
def test_counts_are_those_of_the_definitions(sides):
    (gold,), (predicted,) = sides
    (counts,) = conll_f1([gold], [predicted]).per_document
    assert counts[:, :2] == pytest.approx(np.array(recall_by_definition(gold, predicted)))
    assert counts[:, 2:] == pytest.approx(np.array(recall_by_definition(predicted, gold)))


SIZES = Sizes(max_width=5, ffnn=24, antecedents=7, span_ratio=0.4, most_spans=3900, feature=6, dropout=0.0)
HIDDEN = 16


def made_up(n: int, sentence: int = 9, **changes) -> Pieces:
    places = torch.arange(n)
    mentions = torch.tensor([[0, 0], [min(2, n - 1), min(3, n - 1)], [n // 2, n // 2], [n - 1, n - 1]]).unique(dim=0)
    found = Pieces(
        ids=places, words=places, sentences=places // sentence, speakers=places // sentence % 3, segments=places // 4,
        genre=2, mentions=mentions, clusters=torch.arange(len(mentions)) % 2, start=0,
    )  # fmt: skip
    return replace(found, **changes)


def new(sizes: Sizes = SIZES, deviation: float = 0.3) -> CoarseToFine:
    torch.manual_seed(0)
    scorer = CoarseToFine(HIDDEN, sizes)
    for parameter in scorer.parameters():  # the weights of a new one are too small to show an error
        torch.nn.init.normal_(parameter, std=deviation)
    return scorer


def gradients(scorer, vectors, scored, document):
    loss = antecedent_loss(scored, document) + mention_loss(scored, document)
    parameters = [vectors, *scorer.parameters()]
    return loss, [g for g in torch.autograd.grad(loss, parameters, allow_unused=True) if g is not None]


@pytest.mark.parametrize("n", [1, 2, 7, 40, 75])
@pytest.mark.parametrize("block", [5, 256])
def test_it_is_the_plain_scorer_in_scores_losses_and_gradients(monkeypatch, n, block):
    monkeypatch.setattr(module, "STARTS", block)
    monkeypatch.setattr(module, "SPANS", block)
    scorer, document = new().double(), made_up(n)
    vectors = torch.randn(n, HIDDEN, dtype=torch.float64, requires_grad=True)
    ours, plain = scorer(vectors, document), plain_score(scorer, vectors, document)
    for name in ("spans", "candidates", "scores", "mention_scores"):
        torch.testing.assert_close(getattr(ours, name), getattr(plain, name), atol=1e-8, rtol=1e-8)
    earlier = ours.scores > -torch.inf
    assert torch.equal(ours.antecedents[earlier], plain.antecedents[earlier])
    (loss, found), (plain_sum, expected) = (gradients(scorer, vectors, each, document) for each in (ours, plain))
    torch.testing.assert_close(loss, plain_sum, atol=1e-8, rtol=1e-8)
    assert len(found) == len(expected) > 10
    for a, b in zip(found, expected, strict=True):
        assert torch.isfinite(a).all()
        torch.testing.assert_close(a, b, atol=1e-8, rtol=1e-8)


def scored(spans, antecedents, scores) -> Scored:
    spans = torch.tensor(spans)
    return Scored(spans, torch.tensor(antecedents), torch.tensor(scores), spans, torch.zeros(len(spans)))


INF = float("inf")


def test_the_loss_by_hand():
    document = made_up(9, mentions=torch.tensor([[0, 0], [2, 2], [4, 4]]), clusters=torch.tensor([0, 0, 0]))
    found = scored(
        [[0, 0], [2, 2], [3, 3], [4, 4]],
        [[1, 2], [0, 3], [1, 0], [1, 0]],
        [[-INF, -INF], [1.0, -INF], [2.0, -1.0], [0.5, 0.5]],
    )
    e = torch.exp
    one, two, half = torch.tensor(1.0), torch.tensor(2.0), torch.tensor(0.5)
    expected = (1 + e(one)).log() - 1  # the first mention is its antecedent
    expected = expected + (1 + e(two) + e(-one)).log()  # no mention: none
    expected = expected + (1 + 2 * e(half)).log() - (2 * e(half)).log()  # both mentions before it
    torch.testing.assert_close(antecedent_loss(found, document), expected)


def test_clusters_are_chains_of_the_best_antecedents():
    spans = [[0, 0], [1, 1], [2, 3], [4, 4], [5, 5], [6, 6]]
    antecedents = [[0, 0]] * 2 + [[1, 0], [2, 1], [0, 1], [3, 4]]
    scores = [[-INF, -INF], [0.0, -INF], [1.0, 0.5], [0.2, 0.1], [0.3, 0.3], [-1.0, -0.5]]
    #         none           tie with none     1         2            tie: the nearer  none
    assert clusters_of(scored(spans, antecedents, scores)) == [[(1, 1), (2, 3), (4, 4), (5, 5)]]
    tie = scored([[0, 0], [1, 1], [2, 2]], [[0, 0], [0, 0], [0, 1]], [[-INF] * 2, [-1.0, -INF], [0.3, 0.3]])
    assert clusters_of(tie) == [[(1, 1), (2, 2)]]
    assert clusters_of(scored([[0, 0]], [[0]], [[-INF]])) == []


SENTENCES = st.lists(st.integers(1, 6), min_size=1, max_size=5).map(
    lambda sizes: np.repeat(np.arange(len(sizes)), sizes)
)


@given(SENTENCES, st.integers(1, 5), st.integers(0, 12), st.data())
def test_the_best_spans_that_do_not_cross_are_kept(sentences, width, most, data):
    starts, ends = (each.numpy() for each in candidates(torch.from_numpy(sentences), width))
    scores = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=len(starts), max_size=len(starts))), dtype=float)
    kept = kept_spans(starts, ends, scores, most).tolist()
    spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
    assert kept == prune(spans, scores.tolist(), most)
    assert not any(crosses(spans[a], spans[b]) for a in kept for b in kept)


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


def test_a_window_may_lie_at_every_place_of_a_document(tmp_path):
    (whole,) = Segmenter(TOKENIZER, 9)(documents(tmp_path, [0], sentences=9))
    windows = [whole.random_window(2, np.random.default_rng(seed)) for seed in range(100)]
    assert {window.start for window in windows} == {whole.window(n, 2).start for n in range(whole.n_segments - 1)}
    assert whole.n_segments > 3 and whole.random_window(whole.n_segments, None) is whole


def test_token_vectors_are_those_of_each_segment_alone(tmp_path):
    torch.manual_seed(0)
    model = BertModel(BertConfig(**OF_ENCODER)).eval()
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
    encode = TokenVectors(BertModel(BertConfig(**OF_ENCODER)).eval(), SpecialTokens.of(TOKENIZER))
    pieces = Segmenter(TOKENIZER, 12)(documents(tmp_path, range(9), sentences=6))
    row = in_one_row(pieces)
    windows = [row.window(first, 4) for first in range(0, row.n_segments, 4)]
    assert row.n_segments == sum(each.n_segments for each in pieces)
    together = torch.cat([encode(window) for window in windows])
    torch.testing.assert_close(together, torch.cat([encode(each) for each in pieces]), atol=1e-5, rtol=1e-4)
    assert [window.start for window in windows[:2]] == [0, len(windows[0])]
