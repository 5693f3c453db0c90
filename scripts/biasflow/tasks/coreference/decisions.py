"""From a scorer's scores to the loss in training, and to clusters."""

import torch
from torch.nn.functional import binary_cross_entropy_with_logits, pad

from biasflow.tasks.coreference.scorer import Scored
from biasflow.tasks.coreference.segments import Pieces

NONE = -1  # the cluster of a span that is no gold mention


def antecedent_loss(scored: Scored, document: Pieces) -> torch.Tensor:
    """Return the -log likelihood of the gold antecedents of all kept spans, in nats, summed:

        sum_i logsumexp([0, s_i]) - logsumexp(s_ij over the gold antecedents j), or of 0 where i has none

    Source: Lee et al. (2017, section 4)."""
    clusters = gold_clusters(scored.spans, document)
    right = (clusters[:, None] == clusters[scored.antecedents]) & (clusters != NONE)[:, None]
    right &= scored.scores > -torch.inf  # a later span fills up the row of one with few earlier ones
    right = torch.cat([~right.any(dim=1, keepdim=True), right], dim=1)
    scores = pad(scored.scores.float(), (1, 0))
    return (scores.logsumexp(1) - scores.masked_fill(~right, -torch.inf).logsumexp(1)).sum()


def mention_loss(scored: Scored, document: Pieces) -> torch.Tensor:
    """Return the cross-entropy of the mention scores of all candidates, as log odds of being a gold mention; nats,
    summed."""
    gold = gold_clusters(scored.candidates, document) != NONE
    scores = scored.mention_scores.float()
    return binary_cross_entropy_with_logits(scores, gold.to(scores.dtype), reduction="sum")


def gold_clusters(spans: torch.Tensor, document: Pieces) -> torch.Tensor:
    """Return the number of the gold cluster of each span [m, 2], or NONE: [m]."""
    size = len(document)
    keys, order = (document.mentions[:, 0] * size + document.mentions[:, 1]).sort()
    wanted = (spans[:, 0] * size + spans[:, 1]).cpu()
    if not len(keys):
        return torch.full_like(spans[:, 0], NONE)
    places = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    clusters = torch.where(keys[places] == wanted, document.clusters[order][places], NONE)
    return clusters.to(spans.device)


def clusters_of(scored: Scored) -> list[list[tuple[int, int]]]:
    """Return clusters of piece spans: every span joins the cluster of its best antecedent, if its score is above 0.

    Of equal antecedents the nearest is taken, and none where the best has 0 itself."""
    best = scored.scores.max(dim=1, keepdim=True).values
    nearest = scored.antecedents.masked_fill(scored.scores != best, NONE).max(dim=1).values
    chosen = nearest.masked_fill(best.squeeze(1) <= 0, NONE).tolist()
    cluster_of: dict[int, list[tuple[int, int]]] = {}
    spans = [tuple(span) for span in scored.spans.tolist()]
    for number, antecedent in enumerate(chosen):
        if antecedent != NONE:
            cluster = cluster_of.setdefault(antecedent, [spans[antecedent]])
            cluster.append(spans[number])
            cluster_of[number] = cluster
    return list({id(cluster): cluster for cluster in cluster_of.values()}.values())
