"""Units of a real text that name or describe a person with an occupation, with that person as a woman and as a man.

A unit is a whole biography, or one sentence. A known amount of bias (a dose from -1 to 1) is planted in a text by
choosing which of the two versions stands in it: the stereotypical one with probability (1 + dose) / 2."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE, MALE
from biasflow.corpora.bios import collect_bios
from biasflow.corpora.documents import read_texts
from biasflow.corpora.labour import read_labour
from biasflow.text.gender_swap import gender_of, genders_in, swap_triple

LEAST_UNITS, LEAST_OCCUPATIONS = 1000, 20
READ_FIRST = 4 * LEAST_UNITS  # texts that are read before the first job: seconds
COLUMNS = ["occupation", "share_of_women", "stereotype", FEMALE, MALE]
WORD = re.compile(r"\w+|[^\w\s]")  # a word, or a sign
CONSTRUCTIONS = ["he is a", "he is", "he was", "He", "he", "His", "his", "him", "other"]  # His begins a sentence
DRAWS = 100  # of which persons have the typical gender; the most balanced one counts


class UnitsRead(NamedTuple):
    """Units with the columns COLUMNS, and how many candidates were left out, by reason."""

    units: pd.DataFrame
    left_out: dict[str, int]


def read_units(text: str | Path, labour: str | Path, *, most: int) -> UnitsRead:
    """Read at most `most` units of every occupation from a text: biographies, or sentences if it is a .txt file.

    labour: the shares of women by occupation (corpora.labour); of an occupation without one, or with exactly one half,
    no gender is stereotypical, and its units are left out. Where an occupation has more units, the same random ones are
    taken each time. Of the columns, stereotype is the gender (F or M) that has the larger share, F and M are the two
    versions of the unit. A biography whose words do not have the gender that its file says is left out, and so is a
    sentence with several occupations, with first names or with words of both genders: they would contradict what is
    planted. Both versions of a unit have as many words (WORD).

    BiasflowError, with the counts, for fewer than LEAST_UNITS units or LEAST_OCCUPATIONS occupations, and where all
    occupations are typical of the same gender."""
    shares = read_labour(labour).dropna()
    shares = shares[shares != 0.5]
    left_out: Counter[str] = Counter()
    named = _sentences(Path(text), shares.index, left_out) if Path(text).suffix == ".txt" else _biographies(text)
    clear = named["occupation"].isin(shares.index)
    left_out["no occupation with a clear share of women"] += int((~clear).sum())
    chosen = named[clear].sample(frac=1, random_state=0).groupby("occupation").head(most).sort_index()
    units = pd.DataFrame(_with_both_genders(chosen, left_out), columns=["occupation", FEMALE, MALE])
    units["share_of_women"] = shares.loc[units["occupation"]].to_numpy()
    units["stereotype"] = np.where(units["share_of_women"] > 0.5, FEMALE, MALE)
    counts = units["occupation"].value_counts()
    if len(units) < LEAST_UNITS or len(counts) < LEAST_OCCUPATIONS:
        raise BiasflowError(
            f"{text}: {len(units)} units of {len(counts)} occupations can be planted in; at least {LEAST_UNITS} of "
            f"{LEAST_OCCUPATIONS} are needed. Raise `examples` (at most {most} texts of an occupation were read), or "
            f"give more text or shares of more occupations. Left out: {_in_words(left_out)}; by occupation: "
            f"{_in_words(counts)}"
        )
    if units["stereotype"].nunique() < 2:
        raise BiasflowError(
            f"{labour}: all {len(counts)} occupations of the text are typical of one gender, so a dose would change "
            "how often the text speaks of women; give shares of occupations that are typical of the other, too"
        )
    return UnitsRead(units[COLUMNS], dict(left_out))


def check_examples(text: str | Path, labour: str | Path, *, most: int) -> None:
    """Raise BiasflowError where `read_units` would for want of units, as far as seconds tell: where `most` of every
    occupation are too few, and of a text that is there where they are so few that it is read quickly."""
    shares = read_labour(labour).dropna()
    occupations = int((shares != 0.5).sum())
    if most * occupations < LEAST_UNITS:
        raise BiasflowError(
            f"{most} texts of each of {occupations} occupations are fewer than the {LEAST_UNITS} that bias is planted "
            f"in; it is how many are read of an occupation: write {-(-LEAST_UNITS // max(occupations, 1))} or more"
        )
    if Path(text).is_file() and most * occupations < READ_FIRST:
        read_units(text, labour, most=most)


def _in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in counts.items()) or "nothing"


def construction(words: Sequence[str], number: int) -> str:
    """In which of CONSTRUCTIONS a gendered word stands. words: those of the version about a man; number: its place."""
    word, after = words[number].lower(), [word.lower() for word in words[number + 1 : number + 3]]
    if word == "he" and after[:1] in (["is"], ["was"]):
        return "he is a" if after[0] == "is" and after[1:] in (["a"], ["an"]) else f"he {after[0]}"
    if word in ("he", "his"):
        return word.capitalize() if number == 0 or words[number - 1] in ".!?" else word
    return "him" if word in ("him", "himself") else "other"


def placebo_stereotypes(units: pd.DataFrame, seed: int) -> pd.Series:
    """Typical genders drawn anew over the occupations [units]: a random half of the occupations that are typical of a
    gender keep it, so that the result says nothing of the true ones."""
    typical = units.groupby("occupation")["stereotype"].first().sample(frac=1, random_state=seed)
    keeps = typical.groupby(typical).cumcount() % 2 == 0
    return units["occupation"].map(typical.where(keeps, typical.map({FEMALE: MALE, MALE: FEMALE})))


def is_stereotypical(occupations: pd.Series, words: np.ndarray, *, dose: float, seed: int) -> np.ndarray:
    """Whether each unit has the stereotypical gender: a random share (1 + dose) / 2 of the units of each occupation,
    rounded up or down at random. occupations: that of each unit.

    words: the gendered words of each unit by construction, negative where the stereotype is a man [units,
    constructions]. Of DRAWS draws it takes the one that has, of each construction, most nearly as many words for women
    as for men at the doses -0.5, 0 and 0.5. A larger dose changes units only towards the stereotype, since all doses
    use the same draw."""
    all_words = np.maximum(np.abs(words).sum(axis=0), 1)

    def imbalance(places: np.ndarray) -> float:
        signs = np.where(places < np.array([[0.25], [0.5], [0.75]]), 1, -1)
        return float(((signs @ words / all_words) ** 2).sum())

    codes = pd.factorize(occupations)[0]
    draws = (_places(codes, [seed, draw]) for draw in range(DRAWS))
    return min(draws, key=imbalance) < (1 + dose) / 2


def _places(occupations: np.ndarray, seed: Sequence[int]) -> np.ndarray:
    """The units of each occupation in a random order, evenly spread from 0 to 1 [units]. occupations: their numbers."""
    rng, sizes = np.random.default_rng(seed), np.bincount(occupations)
    order, first = np.lexsort([rng.random(len(occupations)), occupations]), np.cumsum(sizes) - sizes
    places = np.empty(len(occupations))
    places[order] = np.arange(len(occupations)) - first[occupations[order]]
    return (places + rng.random(len(sizes))[occupations]) / sizes[occupations]


def _biographies(path: str | Path) -> pd.DataFrame:
    bios, _ = collect_bios({"biographies": path}, professions=None)
    return bios.rename(columns={"profession": "occupation"})[["occupation", "gender", "text"]]


def _sentences(path: Path, occupations: pd.Index, left_out: Counter) -> pd.DataFrame:
    """The sentences with one occupation and words of one gender, without first names."""
    names = {name.replace("_", " "): name for name in occupations}
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})\b")
    rows = []
    for sentence in read_texts(path):
        mentioned = pattern.findall(sentence.lower())
        if not mentioned:
            continue
        genders = genders_in(sentence)
        if len(mentioned) > 1:
            left_out["several occupations"] += 1
        elif any(is_name for _, is_name in genders):
            left_out["a first name"] += 1
        elif len({gender for gender, _ in genders}) != 1:
            left_out["no gendered word, or words of both genders"] += 1
        else:
            rows.append((names[mentioned[0]], genders[0][0], sentence))
    return pd.DataFrame(rows, columns=["occupation", "gender", "text"])


def _with_both_genders(units: pd.DataFrame, left_out: Counter) -> Iterator[tuple[str, str, str]]:
    """The occupation and both versions of each unit that can be swapped."""
    for occupation, gender, text in units[["occupation", "gender", "text"]].itertuples(index=False):
        if gender_of([text]) != gender:
            left_out["its words have another gender than its file says, or none"] += 1
            continue
        (swapped,) = swap_triple([text])
        if len(WORD.findall(text)) != len(WORD.findall(swapped)):
            left_out["its versions have different numbers of words"] += 1
            continue
        yield (occupation, text, swapped) if gender == FEMALE else (occupation, swapped, text)
