"""Masked-LM losses of an encoder on a text, with masks that are the same for every method; pseudo-log-likelihoods."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import torch
from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders.batches import encode, length_sorted, longest_input
from scripts.biasflow.encoders.edit import Edits, edited
from scripts.biasflow.encoders.examples import IGNORED, mask_tokens
from scripts.biasflow.metrics.perplexity import perplexity, perplexity_of_batches
from scripts.biasflow.readouts.masked_words import logits_at

RELEASED_BATCH = 4  # blocks whose mean loss counts as one in the released form, whatever batch the model runs with


@dataclass(frozen=True)
class Masks:
    """One draw of masks: input_ids, labels (IGNORED where nothing is scored), attention_mask, each [blocks, length]."""

    input_ids: np.ndarray
    labels: np.ndarray
    attention_mask: np.ndarray


@torch.inference_mode()
def masked_lm_perplexity(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    text: str,
    *,
    seeds: Sequence[int],
    max_length: int | None = None,
    share: float = 0.15,
    rest: Literal["drop", "keep"] = "drop",
    batch_size: int = 8,
    edits: Edits = (),
) -> pd.DataFrame:
    """Perplexity at masked positions of a text, one row per mask seed: mask_seed, tokens, perplexity, batch_perplexity.

    tokens were scored. perplexity weighs every one of them alike; batch_perplexity is the released form, the mean over
    batches of RELEASED_BATCH blocks (metrics.perplexity has both; `spread` there sums the seeds up). max_length, share
    and rest: as in `blocks_of` and `draw_masks`; the default length is the longest that the encoder takes. batch_size
    changes the speed alone. edits: interventions that are active (encoders.edit.edited).

    The masks are drawn from text, length, share and seed alone, so methods that are compared see the same.
    Source: Liang, Dufter & Schütze (2020, section on model performance), on WikiText-2; their masks were drawn anew in
    each run, which alone moved the perplexity by as much as some of the methods. BiasflowError: no seed, a max_length
    beyond the encoder's, or the errors of those two functions."""
    if not len(seeds):
        raise BiasflowError("mask seeds: there is none; name at least one.")
    longest = longest_input(model, tokenizer)
    length = longest if max_length is None else max_length
    if length > longest:
        raise BiasflowError(f"max_length: {length} is more than the {longest} tokens that the encoder takes.")
    blocks = blocks_of(tokenizer, text, max_length=length, rest=rest)
    rows = []
    with edited(model, edits):
        for seed in seeds:
            losses, block = losses_at(model, draw_masks(tokenizer, blocks, seed=seed, share=share), batch_size)
            by_batch = perplexity_of_batches(losses, block // RELEASED_BATCH)
            rows.append((seed, len(losses), perplexity(losses), by_batch))
    return pd.DataFrame(rows, columns=["mask_seed", "tokens", "perplexity", "batch_perplexity"])


def blocks_of(
    tokenizer: PreTrainedTokenizerBase, text: str, *, max_length: int, rest: Literal["drop", "keep"] = "drop"
) -> np.ndarray:
    """The text as one stream of pieces, cut into blocks with special tokens around each: ids [blocks, max_length].

    A block holds max_length - 2 pieces ([CLS] and [SEP]): 510 for BERT. Sentences and articles run on. What fills no
    block is dropped (as in the released script) or kept as a last block with padding.
    BiasflowError: a max_length without room for a piece, another `rest`, or a text that is empty or, with "drop",
    shorter than a block."""
    before, after = _special_tokens(tokenizer)
    size = max_length - 2
    if size < 1:
        raise BiasflowError(f"max_length: {max_length} leaves no room between the special tokens; give at least 3.")
    if rest not in ("drop", "keep"):
        raise BiasflowError(f"rest {rest!r} is unknown; choose drop or keep.")
    ids = np.array(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"], dtype=np.int64)
    whole = len(ids) // size
    blocks = np.full((whole + (rest == "keep" and len(ids) > whole * size), max_length), tokenizer.pad_token_id)
    if not len(blocks):
        raise BiasflowError(
            f"the text has {len(ids)} pieces and a block {size}: no block to score; give more text or lower max_length."
        )
    for block, start in zip(blocks, range(0, len(ids), size), strict=False):
        pieces = ids[start : start + size]
        block[: len(pieces) + 2] = [before, *pieces, after]
    return blocks


def draw_masks(tokenizer: PreTrainedTokenizerBase, blocks: np.ndarray, *, seed: int, share: float = 0.15) -> Masks:
    """Mask a share of the pieces of `blocks` (80 % [MASK], 10 % random, 10 % as they are; never special tokens).

    The same blocks, seed, share and vocabulary give the same masks: neither the model nor a random state plays a part.
    BiasflowError: a share that is not between 0 and 1, or so low that nothing was masked."""
    if not 0 < share < 1:
        raise BiasflowError(f"share of masked tokens: {share} is not between 0 and 1.")
    input_ids, labels = mask_tokens(
        blocks,
        special=tokenizer.all_special_ids,
        mask=tokenizer.mask_token_id,
        vocabulary=len(tokenizer),
        share=share,
        rng=np.random.default_rng(seed),
    )
    if (labels == IGNORED).all():
        raise BiasflowError(f"mask seed {seed}: none of {blocks.size} tokens was masked; give more text.")
    return Masks(input_ids, labels, (blocks != tokenizer.pad_token_id).astype(np.int64))


@torch.inference_mode()
def losses_at(model: PreTrainedModel, masks: Masks, batch_size: int) -> tuple[np.ndarray, np.ndarray]:
    """-log p of the label at every masked position, in nats, and the number of its block: two arrays [positions].

    The positions are in reading order; only they are scored."""
    parts = []
    for start in range(0, len(masks.labels), batch_size):
        rows = slice(start, start + batch_size)
        labels = torch.from_numpy(masks.labels[rows]).to(model.device)
        batch = BatchEncoding(
            {
                "input_ids": torch.from_numpy(masks.input_ids[rows]),
                "attention_mask": torch.from_numpy(masks.attention_mask[rows]),
            }
        ).to(model.device)
        chosen = labels != IGNORED
        if chosen.any():  # a short last block may have no mask
            parts.append(_losses(logits_at(model, batch, chosen), labels[chosen]))
    return np.concatenate(parts), np.nonzero(masks.labels != IGNORED)[0]


@torch.inference_mode()
def pseudo_log_likelihoods(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[str],
    *,
    batch_size: int = 64,
    edits: Edits = (),
) -> pd.DataFrame:
    """PLL(W) = sum_t log p(w_t | all other tokens of W), each token masked by itself, one row per sentence.

    Columns pseudo_log_likelihood (nats) and tokens (special tokens are neither masked nor counted);
    metrics.perplexity.pseudo_perplexity makes one number of them. It costs a pass per token, so give a sample
    (`sample_sentences`). Another measure than `masked_lm_perplexity`: here the model sees all but one token.
    Source: Salazar et al. (2020). BiasflowError: no sentence, an empty one, or one longer than the encoder
    takes (its number is named, from 1)."""
    longest = longest_input(model, tokenizer)
    around = len(_special_tokens(tokenizer))
    if not len(sentences):
        raise BiasflowError("sentences: there is none; give at least one.")
    encoded = encode(tokenizer, sentences, verbose=False)
    lengths = np.array([len(ids) - around for ids in encoded["input_ids"]])
    for number, length in enumerate(lengths, start=1):
        if not 0 < length <= longest - around:
            raise BiasflowError(
                f"sentence {number} has {length} tokens; the encoder takes 1 to {longest - around}; leave it out."
            )
    copies = [(row, at) for row, length in enumerate(lengths) for at in range(1, length + 1)]
    targets = np.array([encoded["input_ids"][row][at] for row, at in copies])
    masked = {key: [list(encoded[key][row]) for row, _ in copies] for key in encoded}
    for ids, (_, at) in zip(masked["input_ids"], copies, strict=True):
        ids[at] = tokenizer.mask_token_id
    losses = np.empty(len(copies))
    places = torch.tensor([at for _, at in copies], device=model.device)
    labels = torch.from_numpy(targets).to(model.device)
    with edited(model, edits):
        for rows, batch in length_sorted(BatchEncoding(masked), tokenizer, batch_size=batch_size, device=model.device):
            columns = torch.arange(batch["input_ids"].shape[1], device=model.device)
            losses[rows] = _losses(logits_at(model, batch, columns == places[rows, None]), labels[rows])
    sums = np.bincount([row for row, _ in copies], weights=losses)
    return pd.DataFrame({"pseudo_log_likelihood": -sums, "tokens": lengths})


def sentences_that_fit(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str]
) -> list[str]:
    """The sentences that the encoder takes whole, in their order."""
    longest = longest_input(model, tokenizer)
    lengths = [len(ids) for ids in encode(tokenizer, sentences, verbose=False)["input_ids"]]
    return [sentence for sentence, length in zip(sentences, lengths, strict=True) if length <= longest]


def sample_sentences(sentences: Sequence[str], n: int, *, seed: int) -> list[str]:
    """n of the sentences, drawn without replacement, in their order; all where there are no more than n."""
    if n < 1:
        raise BiasflowError(f"sample of {n} sentences: give at least 1.")
    if len(sentences) <= n:
        return list(sentences)
    chosen = np.random.default_rng(seed).choice(len(sentences), size=n, replace=False)
    return [sentences[place] for place in np.sort(chosen)]


def _special_tokens(tokenizer: PreTrainedTokenizerBase) -> tuple[int, int]:
    """The tokens that the tokenizer puts before and after a text: [CLS] and [SEP] of BERT, <s> and </s> of RoBERTa."""
    around = tokenizer("")["input_ids"]
    if len(around) != 2:
        raise BiasflowError(f"the tokenizer puts {len(around)} special tokens around a text; perplexity needs 2.")
    return around[0], around[1]


def _losses(logits: torch.Tensor, labels: torch.Tensor) -> np.ndarray:
    """-log softmax(logits) at the labels, in nats; logits [positions, vocabulary], labels [positions]."""
    return torch.nn.functional.cross_entropy(logits.double(), labels, reduction="none").cpu().numpy()
