"""Fine-tuning, and training for coreference."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from transformers import BertConfig, BertModel

from benchmarks.encoders import small_bert
from benchmarks.timing import one_thread, peak_gib, row, seconds
from biasflow.base.errors import BiasflowError
from biasflow.corpora.nli import LABELS
from biasflow.encoders.batches import grouped_by_length
from biasflow.encoders.device import flushed_denormals
from biasflow.tasks.coreference.model import TokenVectors, antecedent_loss
from biasflow.tasks.coreference.scorer import CoarseToFine, Scored, Sizes
from biasflow.tasks.coreference.segments import Pieces, SpecialTokens
from tests.unit.tasks.coreference.reference_scorer import plain_score


def bench_finetuning(*, n: int = 640, batch_size: int = 32, layers: int = 12, hidden: int = 384) -> Iterator[dict]:
    """Training steps with batches of similar length against all pairs padded to 128 tokens."""
    model = small_bert(len(LABELS), layers=layers, hidden=hidden).train()
    rng = np.random.default_rng(0)
    # As long as SNLI's pairs: 14 and 8 words on average (Bowman et al. 2015, table 3), and three special tokens.
    lengths = np.clip(rng.gamma(6, 14.1 / 6, n) + rng.gamma(6, 8.3 / 6, n) + 3, 8, 128).astype(int)
    order = grouped_by_length(lengths, batch_size=batch_size, rng=rng)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def train(width: Callable[[np.ndarray], int]) -> None:
        for start in range(0, n, batch_size):
            rows = lengths[order[start : start + batch_size]]
            ids = torch.randint(1000, 30000, (len(rows), width(rows)))
            mask = (torch.arange(ids.shape[1])[None] < torch.from_numpy(rows)[:, None]).long()
            loss = model(input_ids=ids, attention_mask=mask, labels=torch.zeros(len(rows), dtype=torch.long)).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    ours, padded = seconds(lambda: train(np.max)), seconds(lambda: train(lambda rows: 128))
    about = f"{n} pairs of {lengths.mean():.0f} tokens on average, batches of {batch_size}"
    note = f"{about}, random BERT of {layers} layers x {hidden}"
    yield row("fine-tuning: batches of similar length against padding to 128", ours, padded, note)


SMALL = Sizes(max_width=20, ffnn=150, antecedents=25, span_ratio=0.4, most_spans=3900, feature=20, dropout=0.0)
PAPER = Sizes(max_width=30, ffnn=3000, antecedents=35, span_ratio=0.4, most_spans=3900, feature=20, dropout=0.0)


STEPS = ((4, 192, SMALL, 1386), (12, 768, PAPER, 150))  # layers, hidden, sizes of the scorer, pieces


def bench_coreference(*, steps: Sequence[tuple[int, int, Sizes, int]] = STEPS) -> Iterator[dict]:
    """A training step (encoder and scorer, forward and backward) against one with dense attention of spans over all
    pieces and first layers that are not split; same loss, without dropout. What is kept is given to the other."""
    with one_thread(), flushed_denormals():
        for step in steps:
            yield _coreference_step(*step)


def _coreference_step(layers: int, hidden: int, sizes: Sizes, n: int) -> dict:
    torch.manual_seed(0)
    width = {"hidden_size": hidden, "num_attention_heads": hidden // 48, "intermediate_size": 4 * hidden}
    without_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    encoder = BertModel(BertConfig(num_hidden_layers=layers, **width, **without_dropout))
    scorer, document = CoarseToFine(hidden, sizes), _document(n)
    vectors = TokenVectors(encoder, SpecialTokens(before=1, after=2, padding=0))
    with torch.no_grad():
        scored = scorer(vectors(document), document)
    number = {tuple(span): place for place, span in enumerate(scored.candidates.tolist())}
    kept = [number[tuple(span)] for span in scored.spans.tolist()]
    losses, peaks = [], [peak_gib()]

    def step(score: Callable[[torch.Tensor, Pieces], Scored]) -> None:
        loss = antecedent_loss(score(vectors(document), document), document)
        loss.backward()
        losses.append(loss.item())
        peaks.append(peak_gib())

    ours = seconds(lambda: step(scorer))
    plain = seconds(lambda: step(lambda h, document: plain_score(scorer, h, document, kept)))
    if abs(losses[0] - losses[1]) > 1e-4 * losses[1]:
        raise BiasflowError(f"bench: the two scorers have the losses {losses}; they should be equal.")
    note = (
        f"{n} pieces, random BERT of {layers} layers x {hidden}, {sizes.ffnn} hidden units, one thread; at most "
        f"{peaks[1] - peaks[0]:.2f} GiB more than before, the other {peaks[2] - peaks[0]:.2f}"
    )
    return row(f"coreference: a training step at {hidden} against dense attention, whole layers", ours, plain, note)


def _document(n: int) -> Pieces:
    """n pieces in sentences of 20, with a mention every 10 pieces."""
    places = torch.arange(n)
    starts = torch.arange(0, n - 2, 10)
    return Pieces(
        ids=torch.randint(1000, 30000, (n,)),
        words=places,
        sentences=places // 20,
        speakers=places // 100 % 2,
        segments=places // 120,
        genre=0,
        mentions=torch.stack([starts, starts + torch.arange(len(starts)) % 3], dim=1),
        clusters=torch.arange(len(starts)) % 12,
        start=0,
    )
