"""Fine-tuning."""

from collections.abc import Callable, Iterator

import numpy as np
import torch

from scripts.bench.encoders import small_bert
from scripts.bench.timing import row, seconds
from scripts.biasflow.corpora.nli import LABELS
from scripts.biasflow.encoders.batches import grouped_by_length


def bench_finetuning() -> Iterator[dict]:
    """Training steps with batches of similar length against all pairs padded to 128 tokens."""
    model, batch_size, n = small_bert(len(LABELS)).train(), 32, 640
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
    note = (
        f"{n} pairs of {lengths.mean():.0f} tokens on average, batches of {batch_size}, random BERT of 12 layers x 384"
    )
    yield row("fine-tuning: batches of similar length against padding to 128", ours, padded, note)
