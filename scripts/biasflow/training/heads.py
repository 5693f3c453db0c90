"""New language-model heads for encoders that come without: first the heads alone are trained, then all together."""

import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_text
from biasflow.corpora.documents import NEEDED, read_documents, read_texts
from biasflow.encoders.described import ABOUT
from biasflow.encoders.device import on_gpu
from biasflow.encoders.examples import IGNORED, Sentences, blocks_of, draw_pairs, masked_batch, pack
from biasflow.encoders.masked_lm import outputs_at
from biasflow.encoders.recipes import NewHeads
from biasflow.training.checkpoints import DivergedError
from biasflow.training.loop import Loop, held_out_means

HELD_OUT_SHARE, HELD_OUT_MOST = 0.05, 200  # of blocks, or of documents and their pairs; they are not trained on
EVALUATIONS = 10  # how often the held-out loss is measured while heads and encoder are trained together


Arrays = Callable[[np.ndarray], dict[str, np.ndarray]]  # of some examples of a text by their numbers
# The arrays of a text, how many examples it has, and how many of them, the last ones, are not trained on.
Parts = tuple[Arrays, int, int]


@dataclass(frozen=True)
class Examples:
    """Blocks or pairs of a text, by their numbers. Called with some numbers it returns a batch of tensors, whose masks
    follow from the numbers and the seed alone: a training that goes on from a checkpoint sees the same ones."""

    arrays: Arrays
    tokenizer: PreTrainedTokenizerBase
    share: float
    seed: int

    def __call__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        rng = np.random.default_rng([self.seed, *numbers])
        return masked_batch(self.arrays(np.asarray(numbers)), self.tokenizer, share=self.share, rng=rng)


def losses(model: PreTrainedModel, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The cross-entropy (nats) of the masked tokens and, of pairs, of whether the second part follows the first."""
    inputs = {key: value for key, value in batch.items() if key not in ("labels", "next_sentence_label")}
    chosen = batch["labels"] != IGNORED
    output, logits = outputs_at(model, inputs, chosen)
    loss_by_head = {"masked_lm": cross_entropy(logits.float(), batch["labels"][chosen])}
    if "next_sentence_label" in batch:
        relation = output.seq_relationship_logits.float()
        loss_by_head["next_sentence"] = cross_entropy(relation, batch["next_sentence_label"])
    return loss_by_head


class HeadsTraining(Loop):
    """The loop with the sum of `losses`."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return sum(losses(model, inputs).values())


class HeadsFirst(TrainerCallback):
    """Keeps all but the new parameters as they are for the first steps, and notes the held-out losses in the state."""

    def __init__(
        self, model: PreTrainedModel, new: Collection[str], alone: int, steps: int, held_out: Sequence[Mapping]
    ):
        self.encoder = [parameter for name, parameter in model.named_parameters() if name not in new]
        self.model, self.alone, self.held_out = model, alone, held_out
        self.at = {alone + steps, *range(alone, alone + steps, max(1, steps // EVALUATIONS))} - {0}

    def on_train_begin(self, args, state, control, **kwargs):
        if state.global_step == 0:
            self._note(state)

    def on_step_begin(self, args, state, control, **kwargs):
        for parameter in self.encoder:
            parameter.requires_grad_(state.global_step >= self.alone)

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step in self.at:
            self._note(state)

    def _note(self, state) -> None:
        noted = mean_losses(self.model, self.held_out)
        state.log_history.append({"step": state.global_step, "held_out": noted})
        told = ", ".join(f"{name} {value:.3f}" for name, value in noted.items())
        logging.getLogger("biasflow").info("step %d of %d, held-out loss: %s", state.global_step, state.max_steps, told)


def train_heads(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    new: Collection[str],
    text: str | Path,
    *,
    next_sentence: bool,
    how: NewHeads,
    steps: int | None,
    seed: int,
    work: str | Path,
) -> dict:
    """Train a model, in place, whose parameters `new` are untrained ones of heads: these alone for how.head_steps steps
    (none where nothing is new), then all for `steps` steps (None: one pass over the text). Returns what happened.

    The text is read in blocks of how.max_length tokens; with `next_sentence` as pairs of segments of its documents (one
    sentence a line, an empty line between documents). The end of the text is held out: `held_out_loss` (nats, by step
    and head) is measured on it at the start, after the heads alone, and on to the end, always on the same masks. The
    configuration of the model says which heads are ours, for `described`. `work`: a folder for checkpoints, from which
    a killed training goes on. BiasflowError: a text that is too short, a loss that is not finite."""
    arrays, n, n_held_out = (_pairs if next_sentence else _blocks)(tokenizer, text, how, steps, seed)
    examples, n_train = Examples(arrays, tokenizer, how.share, seed), n - n_held_out
    alone, steps = how.head_steps if new else 0, steps or math.ceil(n_train / how.batch_size)
    options = {"how": how, "alone": alone, "steps": steps, "seed": seed, "work": work}
    noted = train_on(model, new, examples, n, n_held_out, **options)
    first, last = noted[min(noted)], noted[max(noted)]
    ours = [head for head in first if any(_is_of(name, head) for name in new)]
    if ours:
        setattr(model.config, ABOUT, {"heads": ours, "loss_before": first, "loss_after": last})
    counts = {"examples": n_train, "held_out": n_held_out, "head_steps": alone, "steps": alone + steps}
    return {"new_heads": ours, **counts, "held_out_loss": {str(step): values for step, values in noted.items()}}


def train_on(
    model: PreTrainedModel,
    new: Collection[str],
    examples: Callable[[Sequence[int]], dict[str, torch.Tensor]],
    n: int,
    n_held_out: int,
    *,
    how: NewHeads,
    alone: int,
    steps: int,
    **loop,
) -> dict[int, dict[str, float]]:
    """Train a model on n examples, by their numbers, of which the last n_held_out are held out: its parameters `new`
    for `alone` steps, then all for `steps` steps; loop: seed and work of `Loop`. Returns the held-out losses (nats) by
    step and head.

    BiasflowError for a loss that is not finite."""
    n_train = n - n_held_out
    held_out = [examples(range(k, min(k + how.batch_size, n))) for k in range(n_train, n, how.batch_size)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=how.learning_rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: how.rate_at(step - alone, steps))
    state = HeadsTraining(
        model,
        range(n_train),
        examples,
        name="training of heads",
        steps=alone + steps,
        batch_size=how.batch_size,
        bf16=on_gpu(model.device),  # device.HALF
        optimizers=(optimizer, schedule),
        callbacks=[HeadsFirst(model, new, alone, steps, held_out)],
        remove_unused_columns=False,
        **loop,
    ).run()
    noted = {entry["step"]: entry["held_out"] for entry in state.log_history if "held_out" in entry}
    for loss in noted[max(noted)].values():
        if not math.isfinite(loss):
            raise DivergedError("training of heads", loss, max(noted), "learning_rate")
    return noted


def _is_of(parameter: str, head: str) -> bool:
    """Whether a new parameter is that of a head; a pooler that an encoder lacks is new with its next-sentence head."""
    return ("seq_relationship" in parameter or "pooler" in parameter) == (head == "next_sentence")


def running(text: str | Path) -> str:
    """A text as one string: a .txt file as it is, of other files the texts in their order, each in a line."""
    return read_text(text) if Path(text).suffix == ".txt" else "\n".join(read_texts(text))


def _blocks(tokenizer: PreTrainedTokenizerBase, text: str | Path, how: NewHeads, steps: int | None, seed: int) -> Parts:
    blocks = blocks_of(tokenizer, running(text), max_length=how.max_length)
    n_held_out = max(1, min(HELD_OUT_MOST, int(HELD_OUT_SHARE * len(blocks))))
    if len(blocks) <= n_held_out:
        raise BiasflowError(f"{text}: {len(blocks)} blocks of {how.max_length} tokens; give more text")
    return lambda chosen: {"input_ids": blocks[chosen]}, len(blocks), n_held_out


def _pairs(tokenizer: PreTrainedTokenizerBase, text: str | Path, how: NewHeads, steps: int | None, seed: int) -> Parts:
    """Pairs as in pre-training; the last documents are held out, and no pair has parts of both kinds of documents."""
    if None in (tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id):
        raise BiasflowError(
            f"{tokenizer.name_or_path}: the tokenizer has no cls_token, sep_token or pad_token, with which pairs of "
            "segments are made; leave next_sentence out"
        )
    documents = read_documents(text)
    n_held_out = max(2, min(HELD_OUT_MOST, int(HELD_OUT_SHARE * len(documents))))
    if len(documents) < n_held_out + 2:
        raise BiasflowError(
            f"{text}: {len(documents)} documents, but a next-sentence head needs {NEEDED} (2 are held out); give more "
            "text"
        )
    train, held_out = (Sentences.of(tokenizer, part) for part in (documents[:-n_held_out], documents[-n_held_out:]))
    steps = steps or math.ceil(len(train.ids) / (how.max_length * how.batch_size))
    n = (how.head_steps + steps) * how.batch_size
    drawn = [
        (sentences, draw_pairs(sentences, n=wanted, max_length=how.max_length, rng=np.random.default_rng([seed, part])))
        for part, (sentences, wanted) in enumerate(((train, n), (held_out, HELD_OUT_MOST)))
    ]

    def arrays(chosen: np.ndarray) -> dict[str, np.ndarray]:
        is_held_out = int(chosen[0] >= n)  # a batch is of one part
        (sentences, pairs), rows = drawn[is_held_out], chosen - n * is_held_out
        return pack(sentences, pairs, rows, tokenizer)

    return arrays, n + HELD_OUT_MOST, HELD_OUT_MOST


def mean_losses(model: PreTrainedModel, batches: Iterable[Mapping[str, torch.Tensor]]) -> dict[str, float]:
    """Return `losses` over batches, in nats: the mean of all masked tokens, and that of all pairs."""

    def sums(batch: Mapping[str, torch.Tensor]) -> dict[str, tuple[float, int]]:
        n = {"masked_lm": int((batch["labels"] != IGNORED).sum()), "next_sentence": len(batch["labels"])}
        return {name: (n[name] * value.item(), n[name]) for name, value in losses(model, batch).items()}

    return held_out_means(model, batches, sums)
