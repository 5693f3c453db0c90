"""How a swap of genders is measured where nobody has swapped a text: what was swapped twice must be what it was.

The swapper was tuned on the authors' development file and on half of StereoSet's other sentences: `is_held_out` tells
the other half, of which no sentence was looked at. Figures of tuned and of untuned text belong side by side."""

import hashlib

from biasflow.text.gender_lexicon import WORD
from biasflow.text.gender_swap import swap_gender

PRONOUNS = ("him", "his")


def is_held_out(id):
    """Is the StereoSet item `id` of the half that was not looked at when the swapper was made (an odd SHA-256)?"""
    return hashlib.sha256(id.encode()).digest()[-1] % 2 == 1


def round_trips(sentences):
    """How many sentences come back when they are swapped twice.

    Returns counts: n, the sentences; n_swapped, those in which anything is swapped; n_back, of these, the ones that
    are what they were; n_pronouns, every him and his in sentences without she, her and hers; n_pronouns_back, of
    these, the ones that are what they were: him is her and his is her, so that each tells whether her was read right.
    """
    counts = dict.fromkeys(("n", "n_swapped", "n_back", "n_pronouns", "n_pronouns_back"), 0)
    for sentence in sentences:
        swapped = swap_gender(sentence)
        back = swap_gender(swapped)
        words, again = WORD.findall(sentence.lower()), WORD.findall(back.lower())
        counts["n"] += 1
        counts["n_swapped"] += swapped != sentence
        counts["n_back"] += swapped != sentence == back
        if not {"she", "her", "hers"} & {*words}:
            before, after = ([word for word in found if word in PRONOUNS] for found in (words, again))
            counts["n_pronouns"] += len(before)
            counts["n_pronouns_back"] += sum(a == b for a, b in zip(before, after, strict=False))
    return counts
