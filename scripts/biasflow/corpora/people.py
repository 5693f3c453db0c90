"""People as a search for people finds them: a pool of biographies, and the queries that ask for a profession."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import AbsentError
from biasflow.base.genders import FEMALE, GENDERS, SPELT_OUT, WOMEN_FIRST
from biasflow.corpora.bios import collect_bios, name_parts
from biasflow.text.articles import article_by_sound
from biasflow.text.gender_swap import swap_gender
from biasflow.text.scrub import scrub_all

PROFESSION = "{profession}"  # in a template
PLAIN = ""  # asks for no gender
ASKED = (PLAIN, *WOMEN_FIRST)  # which gender a query asks for
RAW, SCRUBBED, SWAPPED = VERSIONS = ("raw", "scrubbed", "swapped")
SIMILARITIES = "similarities"  # the array of the readout


@dataclass(frozen=True)
class Pool:
    """Biographies that are searched, as many of women as of men of each profession.

    people: a row a person, sorted by profession: profession, gender, and the text in every one of VERSIONS that is
    read; shares: profession -> share of women among all that the files have; searched: the professions with enough
    people to be asked for."""

    people: pd.DataFrame
    shares: Mapping[str, float]
    searched: tuple[str, ...]


def pool_of(
    files: Sequence[Path], *, people: int | None, least: int, seed: int, versions: Sequence[str] = VERSIONS
) -> Pool:
    """Return the pool of biographies in files (`bios.collect_bios`): of each profession and gender as many as the rarer
    gender has, at most `people` (None: all of them), drawn at random.

    Professions with fewer than `least` of a gender are not searched; their people are found all the same. AbsentError
    where there is no profession to search."""
    bios, _ = collect_bios({path.name: path for path in files}, professions=None)
    shares = (bios["gender"] == FEMALE).groupby(bios["profession"]).mean()
    bios = bios.sample(frac=1, random_state=seed)
    counts = pd.crosstab(bios["profession"], bios["gender"]).reindex(columns=GENDERS, fill_value=0).min(axis=1)
    counts = counts if people is None else counts.clip(upper=people)
    searched = tuple(counts.index[counts >= least])
    if not searched:
        name = counts.idxmax()
        raise AbsentError(
            f"{', '.join(map(str, files))}: no profession has {least} women and {least} men; {name} has most, "
            f"{counts[name]}; lower metrics.people_search.least, or give more biographies"
        )
    rank = bios.groupby(["profession", "gender"]).cumcount()
    kept = bios[rank < bios["profession"].map(counts)].sort_values(["profession", "gender"], kind="stable")
    texts = {RAW: lambda: kept["text"], SWAPPED: lambda: kept["text"].map(swap_gender)}
    texts[SCRUBBED] = lambda: scrub_all([*kept["text"]], [*kept["name"].map(name_parts)], terms="gendered")
    table = kept[["profession", "gender"]].assign(**{version: texts[version]() for version in versions})
    return Pool(table.reset_index(drop=True), shares.to_dict(), searched)


def filled_queries(professions: Sequence[str], templates: Sequence[str]) -> np.ndarray:
    """Return what is searched for: [asked, templates, professions], "a female nurse" of the template "a {profession}"
    where women are asked for. An article before the profession is the one that a speaker uses."""
    words = {PLAIN: ""} | {gender: f"{word} " for gender, word in zip(GENDERS, SPELT_OUT, strict=True)}
    named = [[f"{words[asked]}{name.replace('_', ' ')}" for name in professions] for asked in ASKED]
    return np.array([[[_filled(template, name) for name in row] for template in templates] for row in named])


def _filled(template: str, name: str) -> str:
    for article in ("an", "a"):
        start, found, end = f" {template}".partition(f" {article} {PROFESSION}")
        if found:
            return f"{start} {article_by_sound(name)}{end}".strip()
    return template.replace(PROFESSION, name)
