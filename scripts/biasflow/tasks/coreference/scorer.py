"""Coreference scorers: their interface, and the coarse-to-fine one of Lee et al. (2018) as Orgad et al. (2022) use it.

A scorer is a torch module that takes the token vectors [n, d] of a document (or window) of n > 0 pieces, and the
document, and returns `Scored`. Nothing else here knows how it does so: a second one is a second module.

Shapes: n pieces, C candidates, W the most pieces of a span, k kept spans, A antecedents of each, g = 3d + feature."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import nn
from torch.nn.functional import linear, pad

from biasflow.tasks.coreference.segments import GENRES, Pieces

DEVIATION = 0.02  # of all new weights and embeddings
FAR = 10  # a distance in segments from which on all are alike
STARTS, SPANS = 256, 128  # pieces whose spans are scored at once; spans whose pairs are: they bound the memory alone


@dataclass(frozen=True)
class Scored:
    """The scores of a document.

    spans        first and last piece of the k kept spans, [k, 2], in the order of start and end
    antecedents  numbers of earlier kept spans, [k, A]
    scores       of each being the antecedent, [k, A], where none has 0; -inf where there is no such span
    candidates   the spans that could have been kept, [C, 2]
    mention_scores  theirs, [C]"""

    spans: torch.Tensor
    antecedents: torch.Tensor
    scores: torch.Tensor
    candidates: torch.Tensor
    mention_scores: torch.Tensor


Scorer = Callable[[torch.Tensor, Pieces], Scored]  # from the vectors [n, d] of a document, and the document


@dataclass(frozen=True)
class Sizes:
    """max_width W; ffnn: hidden units; antecedents: the most of a span; span_ratio, most_spans: k is the smaller of
    span_ratio n and most_spans; feature: size of the embeddings of features; dropout: of features, hidden units and
    the two sides of the coarse score."""

    max_width: int
    ffnn: int
    antecedents: int
    span_ratio: float
    most_spans: int
    feature: int
    dropout: float


class FeedForward(nn.Module):
    """Linear, ReLU, dropout, Linear to one number."""

    def __init__(self, inputs: int, hidden: int, dropout: float):
        super().__init__()
        self.first, self.dropout, self.last = nn.Linear(inputs, hidden), nn.Dropout(dropout), nn.Linear(hidden, 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.finish(self.first(inputs))

    def finish(self, hidden: torch.Tensor) -> torch.Tensor:
        """From the first layer's sums [..., hidden], which are overwritten, to the outputs [...]."""
        return self.last(self.dropout(hidden.relu_())).squeeze(-1)


class CoarseToFine(nn.Module):
    """Spans from their ends, width and head; mention scores; pruning; coarse scores of all pairs; fine ones of some.

        g_i  = [h_start; h_end; drop(width); sum of softmax(a)_t h_t over its pieces t]
        m_i  = FFNN(g_i) + FFNN(width)
        c_ij = m_i + m_j + drop(W g_i) . drop(g_j) + distance, j < i
        s_ij = c_ij + FFNN([g_i; g_j; g_i * g_j; drop(same speaker; genre; distance in segments; distance)])

    The first layer of a FFNN is linear in the parts of its input: the products with what belongs to a piece, or to a
    span, are computed once for each and added up for each candidate, or pair. All sums are those of the formulas."""

    def __init__(self, hidden: int, sizes: Sizes):
        super().__init__()
        self.sizes, self.hidden = sizes, hidden
        feature, dropout = sizes.feature, sizes.dropout
        self.span_size = 3 * hidden + feature
        self.dropout = nn.Dropout(dropout)
        self.attention = nn.Linear(hidden, 1)
        self.width = nn.Embedding(sizes.max_width, feature)
        self.width_prior = nn.Embedding(sizes.max_width, feature)
        self.distance_prior = nn.Embedding(BUCKETS, feature)
        self.mention = FeedForward(self.span_size, sizes.ffnn, dropout)
        self.mention_width = FeedForward(feature, sizes.ffnn, dropout)
        self.coarse = nn.Linear(self.span_size, self.span_size)
        self.coarse_distance = nn.Linear(feature, 1)
        self.same_speaker = nn.Embedding(2, feature)
        self.genre = nn.Embedding(len(GENRES) + 1, feature)
        self.segment_distance = nn.Embedding(FAR + 1, feature)
        self.distance = nn.Embedding(BUCKETS, feature)
        self.pair = FeedForward(3 * self.span_size + 4 * feature, sizes.ffnn, dropout)
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            else:
                nn.init.normal_(parameter, std=DEVIATION)

    def forward(self, vectors: torch.Tensor, document: Pieces) -> Scored:
        """See `Scored`; vectors [n, d] of the document's n > 0 pieces, in float32."""
        device = vectors.device
        starts, ends = (bounds.to(device) for bounds in candidates(document.sentences, self.sizes.max_width))
        widths = self.dropout(self.width(ends - starts))
        attention = padded(self.attention(vectors).squeeze(-1), self.sizes.max_width)
        mentions = self._mention_scores(vectors, attention, starts, ends, widths)

        on_cpu = (values.detach().cpu().numpy() for values in (starts, ends, mentions))
        kept = torch.from_numpy(kept_spans(*on_cpu, self._most_spans(len(vectors)))).to(device)
        spans = torch.stack([starts, ends], dim=1)
        g = self._span_vectors(vectors, attention, spans[kept], widths[kept])

        antecedents, coarse = self._coarse(g, mentions[kept])
        scores = coarse + self._fine(g, antecedents, self._features(document, spans[kept], antecedents))
        return Scored(spans[kept], antecedents, scores, spans, mentions)

    def _most_spans(self, n: int) -> int:
        return max(1, math.floor(min(self.sizes.most_spans, self.sizes.span_ratio * n)))

    def _mention_scores(
        self, h: torch.Tensor, attention: torch.Tensor, starts: torch.Tensor, ends: torch.Tensor, widths: torch.Tensor
    ) -> torch.Tensor:
        """m [C]. The product with a head is the head of the products with its pieces: it, too, is made for each piece,
        and summed along the band."""
        width, first = self.sizes.max_width, self.mention.first
        of_start, of_end, of_width, of_head = first.weight.split([self.hidden] * 2 + [widths.shape[1], self.hidden], 1)
        start_part, end_part = linear(h, of_start, first.bias), linear(h, of_end)
        head_part = padded(linear(h, of_head), width)
        priors = self.mention_width(self.width_prior.weight)
        bounds = torch.searchsorted(starts, torch.arange(0, len(h) + STARTS, STARTS, device=h.device)).tolist()
        scores = []
        for number, (begin, end) in enumerate(pairwise(bounds)):
            from_, to, piece = starts[begin:end], ends[begin:end], number * STARTS
            pieces = slice(piece, min(piece + STARTS, len(h)) + width - 1)
            heads = head_weights(band(attention[pieces], width)) @ band(head_part[pieces], width)
            hidden = heads.flatten(0, 1).index_select(0, (from_ - piece) * width + to - from_)
            hidden = hidden + start_part.index_select(0, from_)
            hidden += end_part.index_select(0, to)
            hidden += linear(widths[begin:end], of_width)
            scores.append(self.mention.finish(hidden) + priors[to - from_])
        return torch.cat(scores)

    def _span_vectors(
        self, h: torch.Tensor, attention: torch.Tensor, spans: torch.Tensor, widths: torch.Tensor
    ) -> torch.Tensor:
        """g [k, g] of these spans."""
        starts, ends = spans.unbind(1)
        behind = torch.arange(self.sizes.max_width, device=h.device) > (ends - starts)[:, None]
        inside = starts[:, None] + torch.arange(self.sizes.max_width, device=h.device)
        weights = attention[inside].masked_fill(behind, -torch.inf).softmax(-1)
        heads = torch.cat(
            [
                (weights[rows, None] @ _rows(h, inside[rows].clamp(max=len(h) - 1))).squeeze(1)
                for rows in _blocks(len(spans), SPANS)
            ]
        )
        return torch.cat([h.index_select(0, starts), h.index_select(0, ends), widths, heads], dim=1)

    def _coarse(self, g: torch.Tensor, mentions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The best earlier spans of each by coarse score, [k, A], and the scores, -inf where there is none."""
        k = len(g)
        ranks = torch.arange(k, device=g.device)
        distances = ranks[:, None] - ranks
        priors = self.coarse_distance(self.dropout(self.distance_prior.weight)).squeeze(-1)
        scores = self.dropout(self.coarse(g)) @ self.dropout(g).T
        scores = scores + mentions[:, None] + mentions + _rows(priors, distance_buckets(distances.clamp(min=0)))
        scores, antecedents = scores.masked_fill(distances <= 0, -torch.inf).topk(min(k, self.sizes.antecedents))
        return antecedents, scores

    def _features(self, document: Pieces, spans: torch.Tensor, antecedents: torch.Tensor) -> torch.Tensor:
        """[k, A, 4 feature], after dropout."""
        first = spans[:, 0].cpu()
        speakers, segments = (numbers[first].to(spans.device) for numbers in (document.speakers, document.segments))
        genre = self.genre.weight[document.genre].expand(*antecedents.shape, -1)
        same_speaker = (speakers[:, None] == speakers[antecedents]).long()
        apart = (segments[:, None] - segments[antecedents]).clamp(0, FAR)
        ranks = torch.arange(len(spans), device=spans.device)
        distance = distance_buckets((ranks[:, None] - antecedents).clamp(min=0))
        parts = [self.same_speaker(same_speaker), genre, self.segment_distance(apart), self.distance(distance)]
        return self.dropout(torch.cat(parts, dim=-1))

    def _fine(self, g: torch.Tensor, antecedents: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        """The scores of the pairs' FFNN, which are added to the coarse ones: [k, A]."""
        first, size = self.pair.first, self.span_size
        of_span, of_antecedent, of_product, of_features = first.weight.split([size] * 3 + [features.shape[-1]], 1)
        span_part, antecedent_part = linear(g, of_span, first.bias), linear(g, of_antecedent)
        scores = []
        for rows in _blocks(len(g), SPANS):
            hidden = linear(g[rows, None] * _rows(g, antecedents[rows]), of_product)
            hidden = hidden + span_part[rows, None]
            hidden += _rows(antecedent_part, antecedents[rows])
            hidden += linear(features[rows], of_features)
            scores.append(self.pair.finish(hidden))
        return torch.cat(scores)


def _rows(values: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """values[numbers] for whole numbers of any shape; its gradient is summed faster than that of an index."""
    return values.index_select(0, numbers.flatten()).unflatten(0, numbers.shape)


def _blocks(n: int, size: int) -> Iterator[slice]:
    return (slice(begin, begin + size) for begin in range(0, n, size))


BUCKETS = 10  # of the distance between two spans, counted in spans
_LAST_SINGLE = 4  # distances up to this one have buckets of their own; from then on buckets grow in powers of two


def candidates(sentences: torch.Tensor, max_width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the first and the last piece of all spans of 1 to max_width pieces within a sentence, [C] each, in order.

    sentences [n]: the sentence of every piece."""
    n = len(sentences)
    starts = torch.arange(n)[:, None].expand(n, max_width)
    ends = starts + torch.arange(max_width)
    inside = (ends < n) & (sentences[ends.clamp(max=n - 1)] == sentences[:, None])
    return starts[inside], ends[inside]


def band(values: torch.Tensor, width: int) -> torch.Tensor:
    """values[i], ..., values[i + width - 1] for every i that has them, as a view: [m, ...] -> [m - width + 1, width,
    ...]."""
    return values.unfold(0, width, 1).movedim(-1, 1)


def padded(values: torch.Tensor, width: int) -> torch.Tensor:
    """values [n, ...] with width - 1 rows of zeros at the end, so that its `band` has n rows."""
    return pad(values, (0, 0) * (values.dim() - 1) + (0, width - 1))


def head_weights(attention: torch.Tensor) -> torch.Tensor:
    """Return the weight of each piece in the head of a span, given a `band` of the pieces' attention [m, W]: [m, W, W].

    Row w of start i is the span of pieces i to i + w: softmax of their attention, and 0 for what lies behind."""
    width = attention.shape[1]
    behind = torch.ones(width, width, dtype=torch.bool, device=attention.device).triu(1)
    return attention[:, None].masked_fill(behind, -torch.inf).softmax(-1)


def kept_spans(starts: np.ndarray, ends: np.ndarray, scores: np.ndarray, most: int) -> np.ndarray:
    """Return the numbers of the best spans, at most `most`, no two of which cross; in the order of start and end.

    By score, the first of equal ones in the order of start and end. Two spans cross where one starts before the other
    and ends inside it; one inside the other is allowed. Fewer are kept where no more fit."""
    last_from = [-1] * (int(ends.max(initial=-1)) + 1)  # the last piece of the longest kept span from here
    first_to = [len(last_from)] * len(last_from)  # the first piece of the longest kept span to here
    kept = []
    for number in np.lexsort((ends, starts, -scores)).tolist():
        if len(kept) == most:
            break
        start, end = int(starts[number]), int(ends[number])
        if max(last_from[start + 1 : end + 1], default=-1) > end:
            continue
        if min(first_to[start:end], default=start) < start:
            continue
        last_from[start] = max(last_from[start], end)
        first_to[end] = min(first_to[end], start)
        kept.append(number)
    kept = np.array(kept, dtype=np.int64)
    return kept[np.lexsort((ends[kept], starts[kept]))]


def distance_buckets(distances: torch.Tensor) -> torch.Tensor:
    """0, 1, 2, 3, 4, 5-7, 8-15, 16-31, 32-63, 64 and more: the number of each whole distance's bucket."""
    powers = distances.clamp(min=1).double().log2().floor().long() + 3
    return torch.where(distances <= _LAST_SINGLE, distances, powers).clamp(max=BUCKETS - 1)
