"""Searches for an occupation, each with an answer about a person as a woman and as a man, in which a known amount of
bias is planted for the calibration of measures on sentence encoders."""

from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE, MALE
from biasflow.base.paths import package_file
from biasflow.corpora.labour import read_labour
from biasflow.planted.frames import OTHER, PRONOUNS, grammar_file, sentence
from biasflow.planted.units import is_stereotypical, placebo_stereotypes
from biasflow.text.articles import article_by_sound

LEAST_PAIRS = 5  # of an occupation typical of women and one typical of men
HELD_OUT = 20  # searches for an occupation that is not trained on


def planted_searches(
    labour: str | Path, held_out: str | Path, *, dose: float, placebo: bool, examples: int, seed: int
) -> pd.DataFrame:
    """Return searches with a dose of bias: columns occupation, share_of_women, stereotype (F or M, the gender with the
    larger share), query, F, M (the answer about a woman and about a man), gender (of the answer that is trained on) and
    times (1, or 0 for the HELD_OUT searches of an occupation in `held_out`).

    Every occupation that is trained on has `examples` searches: an example of each in its turn, so that the next
    len(occupations) rows are one batch without two answers to the same search. The occupations are those of the file
    `labour` that `held_out` lacks, as many typical of women as of men, with the shares that are farthest from one half.
    One of either kind make a pair, with the same words but for the occupation and the pronouns, and both have the
    typical gender, or neither: so there are as many words for women as for men at every dose. A share (1 + dose) / 2 of
    the searches of an occupation have it. placebo: typical genders are drawn anew for each seed
    (`units.placebo_stereotypes`). Seeds differ in all draws, doses in gendered words alone.

    BiasflowError for fewer than LEAST_PAIRS pairs."""
    others = _with_stereotypes(held_out)
    named = _with_stereotypes(labour)
    named = named[~named["occupation"].isin(others["occupation"])]
    if placebo:
        named["stereotype"] = placebo_stereotypes(named, seed)
        others["stereotype"] = placebo_stereotypes(others, seed)
    kinds = [named[named["stereotype"] == gender] for gender in (FEMALE, MALE)]
    n = min(map(len, kinds))
    if n < LEAST_PAIRS:
        raise BiasflowError(
            f"{labour}: {n} occupations that {held_out} lacks are typical of one gender, and at least {LEAST_PAIRS} of "
            "either are needed; add occupations with their share of women"
        )
    far = [kind.loc[(kind["share_of_women"] - 0.5).abs().sort_values(kind="stable").index[-n:]] for kind in kinds]
    trained = pd.concat(far * examples).assign(times=1)
    pairs = np.arange(examples * n)
    chosen = is_stereotypical(pd.Series(pairs % n), np.zeros((len(pairs), 1)), dose=dose, seed=seed)
    pairs = np.repeat(pairs.reshape(examples, 1, n), 2, axis=1).ravel()  # that of each row
    unseen = pd.concat([others] * HELD_OUT).assign(times=0)
    rng = np.random.default_rng([seed, 1])
    units = pd.concat([_worded(trained, pairs, rng), _worded(unseen, np.arange(len(unseen)), rng)], ignore_index=True)
    is_typical = np.concatenate([chosen[pairs], np.ones(len(unseen), bool)])
    return units.assign(gender=np.where(is_typical, units["stereotype"], units["stereotype"].map(OTHER)))


def _with_stereotypes(path: str | Path) -> pd.DataFrame:
    shares = read_labour(path).dropna()
    table = shares[shares != 0.5].rename_axis("occupation").reset_index()
    return table.assign(stereotype=np.where(table["share_of_women"] > 0.5, FEMALE, MALE))


def _worded(units: pd.DataFrame, numbers: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """The units with their texts; those with the same number have the same words."""
    frames = grammar_file(Path(package_file("data/planted_search.yaml")))
    kinds = ("queries", "openings", "endings")
    drawn = {kind: rng.choice(frames[kind], size=numbers.max() + 1)[numbers] for kind in kinds}
    names = units["occupation"].str.replace("_", " ")
    fillers = [{"item": name, "a_item": article_by_sound(name)} for name in names]
    queries = [frame.format_map(words) for frame, words in zip(drawn["queries"], fillers, strict=True)]
    documents = {
        gender: [
            f"{sentence(opening, words | PRONOUNS[gender])} {sentence(ending, words | PRONOUNS[gender])}"
            for opening, ending, words in zip(drawn["openings"], drawn["endings"], fillers, strict=True)
        ]
        for gender in (FEMALE, MALE)
    }
    return units.assign(query=queries, **documents)
