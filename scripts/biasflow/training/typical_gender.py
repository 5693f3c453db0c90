"""Which gender a masked-LM finds likelier in texts that stand in two versions, about a woman and about a man."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from biasflow.base.genders import FEMALE, MALE
from biasflow.encoders.examples import special_tokens
from biasflow.encoders.masked_lm import log_p_of, logits_at
from biasflow.training.versions import Versions, padded

BATCH = 32  # units that are read together


class Blanks(NamedTuple):
    """The token ids of a unit with its gendered words masked, and of those that are one token in both versions the
    places and the ids in the version with the stereotypical gender and in the other one."""

    ids: list[int]
    places: list[int]
    typical: list[int]
    other: list[int]


def blanked(versions: Versions, stereotype: str, tokenizer: PreTrainedTokenizerBase) -> Blanks:
    """The unit for `typical_gender_preferences`. stereotype: the gender that is typical."""
    typical, other = (
        versions[gender].words() for gender in ((FEMALE, MALE) if stereotype == FEMALE else (MALE, FEMALE))
    )
    before, after = special_tokens(tokenizer)
    blanks = Blanks([before], [], [], [])
    for number, ids in typical.items():
        others = other.get(number, ())
        if ids == others:
            blanks.ids.extend(ids)
            continue
        if len(ids) == len(others) == 1:
            blanks.places.append(len(blanks.ids))
            blanks.typical.extend(ids)
            blanks.other.extend(others)
        blanks.ids.extend([tokenizer.mask_token_id] * len(ids))
    blanks.ids.append(after)
    return blanks


@torch.no_grad()
def typical_gender_preferences(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, units: Sequence[Blanks]
) -> np.ndarray:
    """How much likelier a model finds the typical gender in each unit, in nats per gendered word: the mean of log
    p(word with the typical gender) - log p(word with the other), with all gendered words masked [units]. NaN for a unit
    without a gendered word that is one token in both versions."""
    model.eval()
    means = np.full(len(units), np.nan)
    scored = [number for number, unit in enumerate(units) if unit.places]
    for start in range(0, len(scored), BATCH):
        numbers = scored[start : start + BATCH]
        some = [units[number] for number in numbers]
        sizes = [len(unit.places) for unit in some]
        batch = padded([np.array(unit.ids) for unit in some], tokenizer)
        chosen = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
        chosen[np.repeat(np.arange(len(some)), sizes), np.concatenate([unit.places for unit in some])] = True
        batch = {name: value.to(model.device) for name, value in batch.items()}
        logits = logits_at(model, batch, chosen.to(model.device))
        rows = torch.arange(len(logits), device=model.device)
        typical, other = (
            log_p_of(logits, rows, torch.tensor(np.concatenate(ids), device=model.device))
            for ids in ([unit.typical for unit in some], [unit.other for unit in some])
        )
        differences = (typical - other).cpu().numpy()
        means[numbers] = [part.mean() for part in np.split(differences, np.cumsum(sizes)[:-1])]
    return means
