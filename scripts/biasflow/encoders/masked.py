"""What a masked-LM head expects at [MASK]: log-probabilities of words, and he against she by occupation."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from scripts.biasflow.encoders.batches import encode, length_sorted
from scripts.biasflow.errors import BiasflowError

MASK = "[MASK]"
TEMPLATE = "The {occupation} said that [MASK] was late."


@torch.inference_mode()
def word_log_probabilities(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[str],
    words: Sequence[str],
    *,
    batch_size: int = 64,
) -> np.ndarray:
    """log p(word | sentence) at the one [MASK] of each sentence, in nats: [sentences, words].

    [MASK] stands for the tokenizer's own mask token. BiasflowError: a word that is not one piece of the vocabulary, or
    a sentence without exactly one [MASK]."""
    pieces = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
    for word, ids in zip(words, pieces, strict=True):
        if len(ids) != 1 or ids[0] == tokenizer.unk_token_id:
            raise BiasflowError(f"{word!r} is not a single piece of the encoder's vocabulary; choose another word.")
    for sentence in sentences:
        if sentence.count(MASK) != 1:
            raise BiasflowError(f"{sentence!r}: exactly one {MASK} is needed.")
    columns = [ids[0] for ids in pieces]
    encoded = encode(tokenizer, [sentence.replace(MASK, tokenizer.mask_token) for sentence in sentences])
    found = np.empty((len(sentences), len(words)))
    for rows, batch in length_sorted(encoded, tokenizer, batch_size=batch_size, device=model.device):
        output = model(**batch)
        logits = output.prediction_logits if "prediction_logits" in output else output.logits
        at_mask = logits[batch["input_ids"] == tokenizer.mask_token_id]
        found[rows] = at_mask.double().log_softmax(-1)[:, columns].cpu().numpy()
    return found


def she_he_log_odds(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    occupations: Sequence[str],
    *,
    template: str = TEMPLATE,
) -> pd.DataFrame:
    """log p(she) - log p(he) at [MASK] for each occupation: columns occupation, log_odds (in nats)."""
    sentences = [template.format(occupation=occupation) for occupation in occupations]
    she, he = word_log_probabilities(model, tokenizer, sentences, ["she", "he"]).T
    return pd.DataFrame({"occupation": list(occupations), "log_odds": she - he})
