"""The fast scorer is the plain one; what it says becomes a loss and clusters."""

from dataclasses import replace

import pytest
import torch

from biasflow.tasks.coreference import scorer as module
from biasflow.tasks.coreference.decisions import antecedent_loss, clusters_of, mention_loss
from biasflow.tasks.coreference.scorer import CoarseToFine, Scored, Sizes
from biasflow.tasks.coreference.segments import Pieces
from tests.unit.tasks.coreference.reference_scorer import plain_loss, plain_score

SIZES = Sizes(max_width=5, ffnn=24, antecedents=7, span_ratio=0.4, most_spans=3900, feature=6, dropout=0.0)
HIDDEN = 16


def made_up(n: int, sentence: int = 9, **changes) -> Pieces:
    places = torch.arange(n)
    mentions = torch.tensor([[0, 0], [min(2, n - 1), min(3, n - 1)], [n // 2, n // 2], [n - 1, n - 1]]).unique(dim=0)
    found = Pieces(
        ids=places, words=places, sentences=places // sentence, speakers=places // sentence % 3, segments=places // 20,
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
    torch.testing.assert_close(plain_loss(found, document).squeeze(), expected)


def test_clusters_are_chains_of_the_best_antecedents():
    spans = [[0, 0], [1, 1], [2, 3], [4, 4], [5, 5], [6, 6]]
    antecedents = [[0, 0]] * 2 + [[1, 0], [2, 1], [0, 1], [3, 4]]
    scores = [[-INF, -INF], [0.0, -INF], [1.0, 0.5], [0.2, 0.1], [0.3, 0.3], [-1.0, -0.5]]
    #         none           tie with none     1         2            tie: the nearer  none
    assert clusters_of(scored(spans, antecedents, scores)) == [[(1, 1), (2, 3), (4, 4), (5, 5)]]
    tie = scored([[0, 0], [1, 1], [2, 2]], [[0, 0], [0, 0], [0, 1]], [[-INF] * 2, [-1.0, -INF], [0.3, 0.3]])
    assert clusters_of(tie) == [[(1, 1), (2, 2)]]
    assert clusters_of(scored([[0, 0]], [[0]], [[-INF]])) == []
