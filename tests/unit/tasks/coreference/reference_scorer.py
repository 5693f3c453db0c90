"""The coarse-to-fine scorer written plainly: dense attention of spans over all pieces, every input of a network put
together before its first layer, candidates and antecedents by loops. Same weights, same scores; for tests and bench."""

import torch

from biasflow.tasks.coreference.scorer import FAR, CoarseToFine, Scored
from biasflow.tasks.coreference.segments import Pieces


def bucket(distance: int) -> int:
    for number, least in reversed(list(enumerate((0, 1, 2, 3, 4, 5, 8, 16, 32, 64)))):
        if distance >= least:
            return number
    raise AssertionError(distance)


def crosses(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[0] <= a[1] < b[1] or b[0] < a[0] <= b[1] < a[1]


def prune(spans: list[tuple[int, int]], scores: list[float], most: int) -> list[int]:
    kept: list[int] = []
    for number in sorted(range(len(spans)), key=lambda i: (-scores[i], spans[i])):
        if len(kept) < most and not any(crosses(spans[number], spans[other]) for other in kept):
            kept.append(number)
    return sorted(kept, key=lambda i: spans[i])


def plain_score(scorer: CoarseToFine, h: torch.Tensor, document: Pieces, kept: list[int] | None = None) -> Scored:
    """What `scorer` says of a document. kept: the candidates that are kept, where that need not be found again."""
    n, sizes, drop = len(h), scorer.sizes, scorer.dropout
    sentence = document.sentences.tolist()
    spans = [
        (i, j) for i in range(n) for j in range(i, min(n, i + sizes.max_width)) if sentence[i] == sentence[j]
    ]  # fmt: skip
    starts, ends = torch.tensor(spans).T
    inside = (torch.arange(n) >= starts[:, None]) & (torch.arange(n) <= ends[:, None])
    attention = scorer.attention(h).squeeze(1).expand(len(spans), n).masked_fill(~inside, -torch.inf)
    heads = attention.softmax(1) @ h
    g = torch.cat([h[starts], h[ends], drop(scorer.width(ends - starts)), heads], dim=1)
    mentions = scorer.mention(g) + scorer.mention_width(scorer.width_prior.weight)[ends - starts]

    most = max(1, int(min(sizes.most_spans, sizes.span_ratio * n)))
    kept = prune(spans, mentions.tolist(), most) if kept is None else kept
    g, m, k = g[kept], mentions[kept], len(kept)
    speakers, segments = document.speakers[starts[kept]], document.segments[starts[kept]]
    ranks = torch.arange(k)
    apart = ranks[:, None] - ranks
    of_distance = torch.tensor([bucket(distance) for distance in range(k)])[apart.clamp(min=0)]
    priors = scorer.coarse_distance(drop(scorer.distance_prior.weight)).squeeze(1)
    coarse = m[:, None] + m + drop(scorer.coarse(g)) @ drop(g).T + priors[of_distance]
    coarse, antecedents = coarse.masked_fill(apart <= 0, -torch.inf).topk(min(k, sizes.antecedents), dim=1)

    features = torch.cat(
        [
            scorer.same_speaker((speakers[:, None] == speakers[antecedents]).long()),
            scorer.genre(torch.tensor(document.genre)).expand(*antecedents.shape, -1),
            scorer.segment_distance((segments[:, None] - segments[antecedents]).clamp(0, FAR)),
            scorer.distance(torch.gather(of_distance, 1, antecedents)),
        ],
        dim=-1,
    )
    g_i, g_j = g[:, None].expand(-1, antecedents.shape[1], -1), g[antecedents]
    scores = coarse + scorer.pair(torch.cat([g_i, g_j, g_i * g_j, drop(features)], dim=-1))
    every = torch.stack([starts, ends], dim=1)
    return Scored(every[kept], antecedents, scores, every, mentions)
