"""A BERT trained from scratch: WordPiece vocabulary, masked-LM and next-sentence heads, transformers' training loop."""

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import (
    BertConfig,
    BertForPreTraining,
    BertTokenizer,
    PreTrainedTokenizerBase,
    set_seed,
)
from transformers.masking_utils import create_bidirectional_mask

from biasflow.base.errors import BiasflowError
from biasflow.base.files import write_json
from biasflow.base.records import digest_of, digest_of_each
from biasflow.corpora.documents import check_documents
from biasflow.encoders.device import full, half, on_gpu, resolve_device, trained_in
from biasflow.encoders.examples import IGNORED, Pairs, Sentences, by_length, draw_pairs, masked_batch, pack
from biasflow.training import FACTS
from biasflow.training.checkpoints import DivergedError, checkpoints, computed_by
from biasflow.training.loop import Loop, held_out_means
from biasflow.training.vocabulary import new_tokenizer

HELD_OUT_SHARE, HELD_OUT_MOST = 0.05, 2000  # documents kept for the final metrics
HELD_OUT_PAIRS = 2000
PARTS = 2  # of a batch, computed side by side, or after one another where there is one thread: the bytes are the same
BETAS = (0.9, 0.98)  # as RoBERTa (Liu et al. 2019): a short memory suits a short run and rare words
WARM_UP = 0.1  # share of the steps until the one-cycle schedule reaches its top
NAME, RATES = "pre-training", "learning_rate"
MASK_SHARE = 0.15  # of the tokens
INITIALIZER_RANGE = 0.05  # with BERT's own 0.02 an encoder this narrow stays on the unigram plateau


def pretrain(
    documents: Sequence[Sequence[str]],
    folder: str | Path,
    *,
    seed: int,
    vocab_size: int,
    layers: int,
    hidden: int,
    heads: int,
    intermediate: int,
    max_length: int,
    steps: int,
    batch_size: int,
    learning_rate: float = 1.0e-3,
    vocabulary: str | Path | None = None,
    device: str = "cpu",
    threads: int | None = None,
    work: str | Path | None = None,
) -> dict[str, float | int]:
    """Train a BERT on `documents` (lists of sentences) and fill `folder` with it; returns the final metrics.

    Loss = masked-LM cross-entropy + next-sentence cross-entropy (Devlin et al. 2019), in nats; AdamW with a one-cycle
    schedule. The vocabulary is a lower-cased WordPiece of up to `vocab_size` pieces trained on the same documents, or
    the vocab.txt that `vocabulary` names (vocab_size is then not used). 5 % of the documents (at most 2,000) are held
    out; on pairs from them: `masked_lm_loss` and `next_sentence_accuracy`. `folder` gets model.safetensors,
    config.json, the tokenizer's files and training.json (these metrics, steps, seed). The same arguments give the same
    bytes on the same machine, with one thread or two. `threads`: None takes torch's own number. On a GPU training is in
    bf16, as training.json says (`trained_in`), and the metrics are those of the encoder in float32, as it is read.

    `work` is a folder for checkpoints, of which a long training writes one now and then (`loop.Watch`), left where a
    killed run stopped; the next call with the same arguments goes on from there, ends with the same bytes, and
    removes it at the end. None: there are none.

    BiasflowError: too few documents, an unusable vocabulary, a loss that is not finite (nothing is saved then), or
    checkpoints of another training."""
    check_documents(documents, "pre-training corpus")
    rng = np.random.default_rng(seed)
    train, held_out = _split(documents, rng)
    tokenizer = new_tokenizer(train, vocabulary, vocab_size, max_length)
    config = BertConfig(
        vocab_size=len(tokenizer),
        pad_token_id=tokenizer.pad_token_id,
        hidden_dropout_prob=0.0,  # which of two threads draws first is chance
        attention_probs_dropout_prob=0.0,
        num_hidden_layers=layers,
        hidden_size=hidden,
        num_attention_heads=heads,
        intermediate_size=intermediate,
        max_position_embeddings=max_length,
        initializer_range=INITIALIZER_RANGE,
    )
    with _shared_out(threads or torch.get_num_threads()) as pool:
        set_seed(seed)
        model = BertForPreTraining(config).to(resolve_device(device))
        sentences = Sentences.of(tokenizer, train)
        pairs = draw_pairs(sentences, n=steps * batch_size, max_length=max_length, rng=rng)
        pairs = by_length(pairs, batch_size=batch_size, rng=rng)
        collator = Collator(sentences, pairs, tokenizer, np.random.default_rng([seed, 1]))
        course = {"seed": seed, "steps": steps, "batch_size": batch_size, "learning_rate": learning_rate}
        decided = course | {"mask_share": MASK_SHARE, "documents": digest_of_each(documents)}
        decided |= {"config": config.to_dict(), "vocabulary": digest_of(tokenizer.get_vocab())}
        decided |= computed_by(model.device, [__file__])
        with checkpoints(work, decided) as work:
            PreTraining(model, collator, pool, work=work, **course).run()
            held_out = Sentences.of(tokenizer, held_out)
            metrics = _evaluate(model, held_out, tokenizer, batch_size, max_length)
            if not all(map(math.isfinite, metrics.values())):
                raise DivergedError(NAME, metrics["masked_lm_loss"], steps, RATES)
            metrics |= {"steps": steps, "seed": seed, "vocabulary": len(tokenizer)}
            metrics |= {"parameters": model.num_parameters(), **trained_in(model.device)}
            _save(model, tokenizer, metrics, Path(folder))
    return metrics


@contextmanager
def _shared_out(threads: int) -> Iterator[Executor]:
    """Yield what computes the parts of a batch side by side, and share out the threads between them: torch takes as
    many within each part."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, threads // PARTS))
    try:
        with ThreadPoolExecutor(min(threads, PARTS)) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Collator:
    """Numbers of pairs -> one batch, masked afresh (dynamic masking, Liu et al. 2019) from its own generator."""

    sentences: Sentences
    pairs: Pairs
    tokenizer: PreTrainedTokenizerBase
    rng: np.random.Generator

    def __call__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        arrays = pack(self.sentences, self.pairs, np.asarray(numbers), self.tokenizer)
        return masked_batch(arrays, self.tokenizer, share=MASK_SHARE, rng=self.rng)


def losses(
    model: BertForPreTraining, batch: dict[str, torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Masked-LM loss, next-sentence loss and next-sentence logits of a batch.

    The same numbers as the model's own forward pass, but behind the attention of the last layer for the tokens that are
    scored only: the first one for the next sentence, the masked ones (about one in seven) for the vocabulary."""
    masked, bert = batch["labels"] != IGNORED, model.bert
    hidden = bert.embeddings(batch["input_ids"], batch["token_type_ids"])
    seen = create_bidirectional_mask(model.config, hidden, batch["attention_mask"])
    *lower, last = bert.encoder.layer
    for layer in lower:
        hidden = layer(hidden, seen)
    hidden, _ = last.attention(hidden, seen)
    scored = last.feed_forward_chunk(torch.cat([hidden[:, 0], hidden[masked]]))
    first, others = scored[: len(masked)], scored[len(masked) :]
    scores = full(model.cls.predictions(others))
    relation = full(model.cls.seq_relationship(bert.pooler(first[:, None])))
    return (
        # a small batch of short sentences may have no mask at all
        cross_entropy(scores, batch["labels"][masked]) if masked.any() else scores.sum(),
        cross_entropy(relation, batch["next_sentence_label"]),
        relation,
    )


def gradients(
    model: BertForPreTraining, batch: dict[str, torch.Tensor], *, parts: int, pool: Executor
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The loss of a batch and its gradient, a tensor for each of the model's parameters, in `parts` parts of its rows.

    The matrix products of a narrow encoder are too small to be shared out between threads; rows are not. A part counts
    by its share of the masked tokens and of the pairs, so that the sum over parts is the loss of the whole."""
    parameters = list(model.parameters())
    masked, pairs = (batch["labels"] != IGNORED).sum().clamp(min=1), len(batch["labels"])

    def of_part(rows: torch.Tensor) -> tuple[torch.Tensor, Sequence[torch.Tensor]]:
        part = {key: value[rows] for key, value in batch.items()}
        with half(model.device):  # of the thread: each has its own
            masked_lm, next_sentence, _ = losses(model, part)
        loss = masked_lm * (part["labels"] != IGNORED).sum() / masked + next_sentence * len(rows) / pairs
        return loss.detach(), torch.autograd.grad(loss, parameters)

    part_losses, by_part = zip(*pool.map(of_part, torch.arange(pairs).chunk(parts)), strict=True)
    return sum(part_losses), [sum(of_one) for of_one in zip(*by_part, strict=True)]


class PreTraining(Loop):
    """The loop with the loss and the gradients above, AdamW and a one-cycle schedule."""

    def __init__(
        self,
        model: BertForPreTraining,
        collator: Collator,
        pool: Executor,
        *,
        steps: int,
        batch_size: int,
        learning_rate: float,
        **options,
    ):
        optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=BETAS, weight_decay=0.01, fused=True)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=learning_rate, total_steps=steps, pct_start=WARM_UP, cycle_momentum=False
        )
        super().__init__(
            model,
            range(len(collator.pairs)),
            collator,
            name=NAME,
            rates=RATES,
            steps=steps,
            batch_size=batch_size,
            optimizers=(optimizer, schedule),
            train_sampling_strategy="sequential",  # the pairs were shuffled when they were drawn
            **options,
        )
        self.pool = pool
        if self.begun:  # the masks are drawn batch by batch: those of the batches that are done come first
            done = int(self.begun.rpartition("-")[2])
            for start in range(0, done * batch_size, batch_size):
                collator(range(start, start + batch_size))

    def training_step(self, model, inputs, num_items_in_batch=None) -> torch.Tensor:
        """The loss of a batch (nats), with its gradient left in the parameters: what the Trainer's own step does."""
        model.train()
        parts = 1 if on_gpu(model.device) else PARTS  # a GPU has no threads that a part would keep busy
        loss, new_gradients = gradients(model, self._prepare_inputs(inputs), parts=parts, pool=self.pool)
        for parameter, gradient in zip(model.parameters(), new_gradients, strict=True):
            parameter.grad = gradient
        return loss


def _split(documents: Sequence[Sequence[str]], rng: np.random.Generator) -> tuple[list, list]:
    """Training and held-out documents, of those with two sentences or more; at least two in each."""
    usable = [document for document in documents if len(document) >= 2]
    if len(usable) < 4:
        raise BiasflowError(
            f"pre-training corpus: {len(usable)} documents have two sentences or more; 4 are needed "
            "(2 are held out). Give more text."
        )
    n = max(2, min(HELD_OUT_MOST, int(HELD_OUT_SHARE * len(usable))))
    order = rng.permutation(len(usable))
    return [usable[k] for k in np.sort(order[n:])], [usable[k] for k in np.sort(order[:n])]


def _evaluate(
    model: BertForPreTraining,
    sentences: Sentences,
    tokenizer: PreTrainedTokenizerBase,
    batch_size: int,
    max_length: int,
) -> dict[str, float]:
    """Metrics on held-out pairs, drawn and masked with a generator of their own: the same for every training seed."""
    rng = np.random.default_rng(0)
    pairs = draw_pairs(sentences, n=HELD_OUT_PAIRS, max_length=max_length, rng=rng)
    collator = Collator(sentences, pairs, tokenizer, rng)

    def sums(batch: dict[str, torch.Tensor]) -> dict[str, tuple[float, int]]:
        masked_lm, _, relation = losses(model, batch)
        masked, right = (batch["labels"] != IGNORED).sum(), relation.argmax(-1) == batch["next_sentence_label"]
        return {
            "masked_lm_loss": (int(masked) * masked_lm.item(), int(masked)),
            "next_sentence_accuracy": (int(right.sum()), len(right)),
        }

    starts = range(0, len(pairs), batch_size)
    return held_out_means(
        model, (collator(range(start, min(start + batch_size, len(pairs)))) for start in starts), sums
    )


def _save(model: BertForPreTraining, tokenizer: BertTokenizer, metrics: dict, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    model.to("cpu").save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_json(folder / FACTS, metrics, sort_keys=True)
