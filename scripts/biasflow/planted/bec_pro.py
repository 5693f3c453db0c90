"""Sentences like BEC-Pro's (Bartl et al. 2020) about the planted world: a pronoun beside an occupation, in the frames
of the corpus that have both ("She works as a nurse."). All of them may occur in it.

What a perfect learner of the corpus says is known: the association of "she" minus that of "he" is the logit of the
occupation's share of women in it, 0 where no bias was planted (`metrics.bec_pro`)."""

import pandas as pd

from biasflow.base.genders import FEMALE, MALE
from biasflow.corpora.bec_pro import PERSON_GENDERS, PROFESSION_GENDERS, masked_twice
from biasflow.corpora.bec_pro import STRATA as STRATA
from biasflow.corpora.bec_pro import UNIT as UNIT
from biasflow.planted.frames import PRONOUNS, sentence, slots
from biasflow.planted.sentences import frames_about
from biasflow.planted.world import OCCUPATIONS, World, article, load_world

GROUP = 20  # occupations of each kind, as in BEC-Pro


def items() -> pd.DataFrame:
    """Return the sentences in the form of `corpora.bec_pro.items`: every frame with every occupation of `groups`, of a
    woman and of a man."""
    world = load_world()
    frames = [frame for theme, frame in frames_about(world) if theme.items == OCCUPATIONS]
    rows = []
    for profession, group in groups(world).items():
        for template, frame in enumerate(frames):
            for gender, pronouns in zip(PERSON_GENDERS, (PRONOUNS[FEMALE], PRONOUNS[MALE]), strict=True):
                (form,) = slots(frame) & set(pronouns)
                text = sentence(frame, {**pronouns, "item": profession, "a_item": article(profession)})
                start = text.lower().split().index(pronouns[form])
                start = len(" ".join([*text.split()[:start], ""]))
                person = text[start : start + len(pronouns[form])]
                begin = text.index(profession)
                about = (text, template, person, gender, profession, group, 0, start, start + len(person))
                rows.append((*about, begin, begin + len(profession)))
    spans = ["start", "end", "profession_start", "profession_end"]
    columns = ["text", "template", "person", "gender", "profession", "profession_gender", "pair", *spans]
    return masked_twice(pd.DataFrame(rows, columns=columns))


def groups(world: World) -> dict[str, str]:
    """Return occupation -> female, male, balanced: those with the largest and the smallest shares of women, GROUP of
    each, and those nearest to one half."""
    by_share = sorted(world.occupations, key=world.shares.__getitem__, reverse=True)
    middle = sorted(by_share[GROUP:-GROUP], key=lambda name: abs(world.shares[name] - 0.5))[:GROUP]
    chosen = zip(PROFESSION_GENDERS, (by_share[:GROUP], by_share[-GROUP:], middle), strict=True)
    return {name: group for group, names in chosen for name in names}
