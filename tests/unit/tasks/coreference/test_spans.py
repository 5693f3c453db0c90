"""Candidates, heads, pruning and buckets against the same by loops."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from biasflow.tasks.coreference.spans import band, candidates, head_weights, kept_spans, padded
from tests.unit.tasks.coreference.reference_scorer import crosses, prune

SENTENCES = st.lists(st.integers(1, 6), min_size=1, max_size=5).map(
    lambda sizes: np.repeat(np.arange(len(sizes)), sizes)
)


@given(SENTENCES, st.integers(1, 8))
def test_candidates_are_the_short_spans_within_sentences(sentences, width):
    starts, ends = candidates(torch.from_numpy(sentences), width)
    n = len(sentences)
    expected = [(i, j) for i in range(n) for j in range(i, min(n, i + width)) if sentences[i] == sentences[j]]
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == expected


def test_heads_are_softmax_sums_over_the_pieces_of_a_span():
    torch.manual_seed(0)
    n, width, d = 9, 4, 5
    attention, values = torch.randn(n, dtype=torch.float64), torch.randn(n, d, dtype=torch.float64)
    heads = head_weights(band(padded(attention, width), width)) @ band(padded(values, width), width)
    for start in range(n):
        for more in range(min(width, n - start)):
            of_span = slice(start, start + more + 1)
            expected = attention[of_span].softmax(0) @ values[of_span]
            torch.testing.assert_close(heads[start, more], expected)


@given(SENTENCES, st.integers(1, 5), st.integers(0, 12), st.data())
def test_the_best_spans_that_do_not_cross_are_kept(sentences, width, most, data):
    starts, ends = (each.numpy() for each in candidates(torch.from_numpy(sentences), width))
    scores = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=len(starts), max_size=len(starts))), dtype=float)
    kept = kept_spans(starts, ends, scores, most).tolist()
    spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
    assert kept == prune(spans, scores.tolist(), most)
    assert not any(crosses(spans[a], spans[b]) for a in kept for b in kept)
