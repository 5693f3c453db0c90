"""Sentences like Winogender's (Rudinger et al. 2018) about the planted world: an occupation, a friend as the other
participant, and a pronoun of one of them, as the grammar of the sentence says ("The nurse hurt herself when a friend
left.", "The nurse said that a friend hurt herself.").

No sentence occurs in the corpus. What a perfect learner of the corpus says is known: of the occupation's pronoun the
she-he log-odds are the logit of its share of women, of the friend's they are 0. In the corpus a
pronoun never stands for a friend, so a learner cannot know that it may: no verdict uses the friend's pronouns."""

import pandas as pd

from biasflow.base.genders import FEMALE, MALE, SPELT_OUT
from biasflow.base.shipped import shipped
from biasflow.corpora.winogender import PARTS, SHARES, STRATA
from biasflow.planted.frames import PRONOUNS, grammar_file, sentence, slots
from biasflow.planted.world import load_world

__all__ = ["STRATA", "items"]
PARTICIPANT = "friend"
FRAMES = shipped("data/planted_winogender.yaml")


def items() -> pd.DataFrame:
    """Return the sentences in the form of `corpora.winogender.items`: every frame with every occupation, of a woman and
    of a man. Both columns of shares (bls, bergsma) have the planted share of women, at full bias."""
    world, frames = load_world(), grammar_file(FRAMES)
    rows = []
    for occupation in world.occupations:
        for refers_to in PARTS:
            for number, frame in enumerate(frames[refers_to]):
                name = f"{occupation}.{PARTICIPANT}.{refers_to}-{number}"
                for gender, of in zip(SPELT_OUT, (MALE, FEMALE), strict=True):
                    words = PRONOUNS[of]
                    (slot,) = slots(frame) & set(words)
                    before = frame.partition(f"{{{slot}}}")[0].format(item=occupation)
                    text = sentence(frame, {**words, "item": occupation})
                    about = (name, occupation, PARTICIPANT, refers_to, gender, text)
                    rows.append((*about, len(before), len(before) + len(words[slot]), *[world.shares[occupation]] * 2))
    columns = ["item", "occupation", "participant", "refers_to", "gender", "text", "start", "end", *SHARES]
    return pd.DataFrame(rows, columns=columns).assign(also_start=-1, also_end=-1, filling="together")
