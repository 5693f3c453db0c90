"""Spans of pieces: all candidates, the words that represent a span, and the selection of the best spans.

Shapes: n pieces, W the most pieces of a span, d the size of a vector."""

import numpy as np
import torch
from torch.nn.functional import pad

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
