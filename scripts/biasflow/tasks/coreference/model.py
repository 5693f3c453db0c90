"""An encoder with a coreference scorer: fine-tuned, saved, loaded, and used to predict clusters."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, pad
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from biasflow.base.tensors import open_tensors, save_tensors
from biasflow.corpora.conll import Clusters, Document, without_singletons
from biasflow.encoders.batches import ignores_padding, longest_input
from biasflow.encoders.device import half
from biasflow.encoders.load import load_encoder
from biasflow.encoders.taps import last_state
from biasflow.tasks.coreference.f1 import conll_f1
from biasflow.tasks.coreference.scorer import CoarseToFine, Scored, Scorer, Sizes
from biasflow.tasks.coreference.segments import Pieces, Segmenter, SpecialTokens

SCORER = "scorer.safetensors"  # beside the encoder's files
SEGMENTS = 32  # that are encoded at once

Vectors = Callable[[Pieces], torch.Tensor]  # a document's token vectors [n, d]


@dataclass(frozen=True)
class Reading:
    """How documents become pieces; see `segments.Segmenter`. Lengths are limited to the longest input of the
    encoder."""

    segment_length: int
    word_prefix_space: bool

    def segmenter(self, model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> Segmenter:
        """Return the segmenter that reads documents in this way for a model."""
        length = min(self.segment_length, longest_input(model, tokenizer))
        return Segmenter(tokenizer, length, self.word_prefix_space)


@dataclass(frozen=True)
class Recipe:
    """How to train. The encoder: AdamW with `weight_decay` on matrices, its rate rising from 0 to `encoder_rate` over
    the share `warmup` of the steps, then falling to 0 in a straight line. The scorer: Adam, from `task_rate` to 0.
    `clip`: the largest norm of the gradient, of each of the two.

    scorer, reading  see `scorer.Sizes` and `Reading`
    most_segments  a longer document is trained on in windows of so many, drawn anew in every epoch
    mention_loss   weight of the loss of mentions (function `mention_loss`), beside that of the antecedents
    keep           the epoch with the best development F1 ("best", the first of equal ones), or the "last"
    checkpoint_steps  a checkpoint is also written after so many steps within an epoch"""

    epochs: int
    encoder_rate: float
    task_rate: float
    warmup: float
    weight_decay: float
    adam_epsilon: float
    clip: float
    most_segments: int
    mention_loss: float
    keep: str
    checkpoint_steps: int
    scorer: Sizes
    reading: Reading

    @classmethod
    def of(cls, options: Mapping[str, object]) -> "Recipe":
        """Make a recipe from the options of a configuration, in which `scorer` and `reading` are mappings
        themselves."""
        return cls(**{**options, "scorer": Sizes(**options["scorer"]), "reading": Reading(**options["reading"])})


@dataclass(frozen=True)
class Examples:
    """Documents to predict: as they were read, and in pieces."""

    documents: Sequence[Document]
    pieces: Sequence[Pieces]


class TokenVectors:
    """The last layer's states of a document's pieces, with every segment encoded separately: Pieces -> [n, d] in
    float32. An encoder that may read padding as if it were text has one segment at a time."""

    def __init__(self, encoder: nn.Module, special: SpecialTokens):
        self.encoder, self.special = encoder, special

    def __call__(self, document: Pieces) -> torch.Tensor:
        if document.n_segments > 1 and not ignores_padding(self.encoder):
            return torch.cat([self(document.window(number, 1)) for number in range(document.n_segments)])
        *batch, inside = self.special.batch(document)
        device = next(self.encoder.parameters()).device
        states = []
        for ids, mask in zip(*(tokens.split(SEGMENTS) for tokens in batch), strict=True):
            with half(device):
                states.append(
                    last_state(self.encoder, input_ids=ids.to(device), attention_mask=mask.to(device)).float()
                )
        return torch.cat(states)[inside.to(device)]


class CoreferenceModel(nn.Module):
    """An encoder and a scorer on its token vectors. `reading`: how it was trained to read documents."""

    def __init__(self, encoder: PreTrainedModel, scorer: CoarseToFine, reading: Reading):
        super().__init__()
        self.base_model, self.scorer, self.reading = encoder, scorer, reading
        self.config = encoder.config

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def forward(self, *inputs, **named):
        """The encoder's forward pass."""
        return self.base_model(*inputs, **named)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the encoder as transformers does, and the scorer beside it."""
        self.base_model.save_pretrained(folder)
        save_scorer(self.scorer, self.reading, Path(folder) / SCORER)


def save_scorer(scorer: CoarseToFine, reading: Reading, path: str | Path) -> None:
    """Write a scorer's weights, its sizes and how documents are read for it as one safetensors file."""
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in scorer.state_dict().items()}
    save_tensors(weights, path, {"scorer": json.dumps(scorer_facts(scorer, reading))})


def scorer_facts(scorer: CoarseToFine, reading: Reading) -> dict[str, object]:
    """Return the facts that are needed to load a scorer, besides its weights."""
    return {"hidden": scorer.hidden, "sizes": asdict(scorer.sizes), "reading": asdict(reading)}


def load_scorer(path: str | Path) -> tuple[CoarseToFine, Reading]:
    """Load the scorer that `save_scorer` wrote, in evaluation mode; BiasflowError names a file of another kind."""
    with open_tensors(path, "scorer", framework="pt", advice="train the model again") as file:
        facts = json.loads(file.metadata()["scorer"])
        scorer = CoarseToFine(facts["hidden"], Sizes(**facts["sizes"]))
        scorer.load_state_dict({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118 - no mapping
    return scorer.eval(), Reading(**facts["reading"])


def new_scorer(hidden: int, sizes: Sizes, seed: int) -> CoarseToFine:
    """Make a scorer on the CPU whose weights depend on the seed alone."""
    torch.manual_seed(seed)
    return CoarseToFine(hidden, sizes)


def load_coreference(
    folder: str | Path, *, device: torch.device | str = "cpu"
) -> tuple[CoreferenceModel, PreTrainedTokenizerBase]:
    """Load the model that a training saved in `folder`, in evaluation mode, and its tokenizer."""
    scorer, reading = load_scorer(Path(folder) / SCORER)
    encoder, tokenizer = load_encoder(folder, head="none", device=device)
    return CoreferenceModel(encoder, scorer.to(device), reading).eval(), tokenizer


def predict(
    model: CoreferenceModel, tokenizer: PreTrainedTokenizerBase, documents: Sequence[Document]
) -> list[Clusters]:
    """The clusters of every document, in spans of words, as the model is (in evaluation mode, with the edits that are
    active around the call). Nothing is cut; a document without words has no clusters."""
    pieces = model.reading.segmenter(model, tokenizer)(documents)
    return predicted_clusters(model.scorer, TokenVectors(model.base_model, SpecialTokens.of(tokenizer)), pieces)


@torch.inference_mode()
def predicted_clusters(scorer: Scorer, vectors: Vectors, documents: Sequence[Pieces]) -> list[Clusters]:
    """The clusters of every document, in spans of words, by its token vectors."""
    return [word_clusters(score(scorer, vectors, document), document) for document in documents]


@torch.inference_mode()
def evaluate(scorer: Scorer, vectors: Vectors, examples: Examples) -> tuple[float, float]:
    """How well the scorer finds the clusters of two or more mentions in whole documents: the CoNLL F1 in [0, 1], and
    the share of the gold mentions among the kept spans."""
    gold = [without_singletons(document.clusters) for document in examples.documents]
    predicted, kept, mentions = [], 0, 0
    for pieces in examples.pieces:
        scored = score(scorer, vectors, pieces)
        predicted.append(word_clusters(scored, pieces))
        kept += int((gold_clusters(scored.spans, pieces) != NONE).sum()) if scored else 0
        mentions += len(pieces.mentions)
    return conll_f1(gold, predicted).average, kept / max(1, mentions)


def score(scorer: Scorer, vectors: Vectors, document: Pieces) -> Scored | None:
    """Score a document; None for a document without pieces."""
    return scorer(vectors(document), document) if len(document) else None


def word_clusters(scored: Scored | None, document: Pieces) -> Clusters:
    """Return the predicted clusters in spans of words."""
    return document.word_clusters(clusters_of(scored)) if scored is not None else ()


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
