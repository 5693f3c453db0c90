"""Which words still reveal the gender of a biography after scrubbing (paper C, appendix C, tables 9 and 10).

A logistic regression predicts gender from the bag of words. The words with the largest weights for either gender are
scrubbed as well, and it is fitted again, and so on. The paper prints the most relevant words of 5 seeds with 10 words
per gender and iteration, and neither the number of iterations nor in which one a word was found: in
papers/orgad2022/words.csv, where the printed words stand, `iteration` is 0 for that reason. There `rank` is
the order in print; which column of table 9 `gender`, `listed`, `md`, `known` and `theory` belong to was inferred from
the widths of the columns, since the text that was at hand had lost them.

`gender_accuracy` says how much such a classifier tells at all, by profession."""

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.genders import FEMALE, WOMEN_FIRST
from biasflow.base.progress import progress
from biasflow.base.tabular import read_parquet, write_csv
from biasflow.strategies.balance import balance
from biasflow.tasks.classification.versions import examples, versions

log = logging.getLogger(__name__)

ALL = "all"  # professions
COLUMNS = ["seed", "iteration", "gender", "rank", "word", "weight", "accuracy", "majority_share", "converged"]
ACCURACY_COLUMNS = ["seed", "part", "n", "accuracy", "majority_share", "converged"]
# Newton's steps: 9 to 11 are enough from 1,000 to 128,000 biographies, where L-BFGS needs more with every doubling.
STEPS, TOLERANCE = 100, 1e-6
TEST_SHARE = 0.25


def prepare(
    sources: Mapping[str, Sequence[Path]],
    outputs: Mapping[str, Path],
    *,
    seeds: Sequence[int],
    iterations: int,
    words: int,
    least: int,
    profession: str,
) -> dict[str, object]:
    """Write the words of all biographies and of a profession: `words` per gender and iteration, in `least` texts.

    Also how well gender is told under every scrubbing (`gender_accuracy` by `version`, no row where all professions are
    too small), and biographies to look at (tasks.classification.versions.examples)."""
    biographies = read_parquet(sources["texts"][0])
    parts = {name: of_profession(biographies, name) for name in (ALL, profession)}
    options = {"seeds": seeds, "iterations": iterations, "n": words, "min_texts": least}
    tables = [
        top_words(part["scrubbed"].tolist(), part["gender"].tolist(), **options).assign(part=name)
        for name, part in parts.items()
    ]
    write_csv(pd.concat(tables, ignore_index=True), outputs["top_words"])
    told = [_told(texts, biographies, seeds, least).assign(version=name) for name, texts in versions(biographies)]
    write_csv(pd.concat(told, ignore_index=True), outputs["gender_accuracy"])
    write_csv(examples(biographies), outputs["scrubbed_examples"])
    return {}


def _told(texts: pd.Series, biographies: pd.DataFrame, seeds: Sequence[int], least: int) -> pd.DataFrame:
    """`gender_accuracy`, without rows where all professions are too small."""
    genders, professions = (biographies[name].tolist() for name in ("gender", "label"))
    try:
        return gender_accuracy(texts.tolist(), genders, professions, seeds=seeds, min_texts=least)
    except AbsentError as error:
        log.warning("%s", error)
        return pd.DataFrame(columns=ACCURACY_COLUMNS)


def of_profession(biographies: pd.DataFrame, profession: str) -> pd.DataFrame:
    """The biographies of one profession, or of "all"; BiasflowError if there are none."""
    chosen = biographies if profession == ALL else biographies[biographies["label"] == profession]
    if chosen.empty:
        known = ", ".join(sorted(biographies["label"].unique()))
        raise BiasflowError(f"top words: no biographies of profession '{profession}'; choose one of {known}")
    return chosen


def top_words(
    texts: Sequence[str],
    gender: Sequence[str],
    *,
    seeds: Sequence[int],
    iterations: int = 5,
    n: int = 10,
    min_texts: int = 1,
) -> pd.DataFrame:
    """The n words with the largest weights for each gender, in each iteration of extra scrubbing, for each seed.

    texts: scrubbed biographies; gender: "F" or "M" of each. A seed splits the texts, stratified by gender, into
    TEST_SHARE for the accuracy and the rest for the fit. Features are the counts of the words (two or more letters,
    lower-cased); words in fewer than `min_texts` of all texts are no features. The regression minimises |w|^2 / 2 + the
    sum of log losses, the intercept free.

    Scrubbing a word replaces it by "_", which is no word of the bag: its own count becomes 0 in every text and no
    other count changes, and a feature that is always 0 gets the weight 0. So the word's column is left out instead, and
    the texts are made into counts once for all seeds and iterations.

    Returns rows (seed, iteration, gender, rank, word, weight, accuracy, majority_share): iterations and ranks from 1;
    weight > 0 speaks for the row's gender (log odds per occurrence; a word of the other sign is not listed, so fewer
    than n where there are no more); equal weights in the order of the alphabet; accuracy on the test texts before the
    words of this row are scrubbed, and majority_share, what naming the commoner gender reaches there; converged: False
    where the fit did not end within STEPS steps, so that its weights are not those of the least loss (logged, too).
    BiasflowError: no word left (naming seed and iteration)."""
    women = np.asarray(gender) == FEMALE
    counts, words = _count(texts, min_texts)
    rows = []
    for seed in progress(seeds, total=len(seeds), description="words that tell gender"):
        rows += _rows_of_seed(counts, women, words, seed, iterations, n)
    return pd.DataFrame(rows, columns=COLUMNS)


def gender_accuracy(
    texts: Sequence[str],
    gender: Sequence[str],
    professions: Sequence[str],
    *,
    seeds: Sequence[int],
    least: int = 20,
    min_texts: int = 1,
) -> pd.DataFrame:
    """Return how often a bag of words predicts gender correctly, overall and by profession, in [0, 1]; chance is 1/2.

    A seed draws as many women as men of every profession (by leaving some out), so that the profession tells nothing,
    and splits them, stratified by profession and gender, into TEST_SHARE and the rest, to which the regression of
    `top_words` is fitted once, on all professions. Professions with fewer than `least` biographies of a gender are left
    out.

    Returns rows (seed, part, n, accuracy, majority_share, converged): part is "all" or a profession; n, the test
    biographies; accuracy, the share of them whose gender is told; majority_share as in `top_words`, near 1/2.
    BiasflowError as in `top_words`; AbsentError where no profession has enough of both genders."""
    table = pd.DataFrame({"profession": list(professions), "gender": list(gender)}, dtype="str")
    sizes = (
        table.value_counts(["profession", "gender"]).unstack(fill_value=0).reindex(columns=WOMEN_FIRST, fill_value=0)
    )
    enough = set(sizes.index[sizes.min(axis=1) >= max(least, 2)])
    if not enough:
        raise AbsentError(
            f"gender classifier: no profession has {least} biographies of each gender; give more biographies."
        )
    candidates = np.flatnonzero(table["profession"].isin(enough))
    counts, _ = _count(texts, min_texts)
    women, rows = (table["gender"] == FEMALE).to_numpy(), []
    for seed in progress(seeds, total=len(seeds), description="gender classifier"):
        rng = np.random.RandomState(seed)
        drawn = balance(table["profession"], table["gender"], candidates, how="subsampling", rng=rng)
        strata = table.loc[drawn, "profession"] + "/" + table.loc[drawn, "gender"]
        train, test = train_test_split(drawn, test_size=TEST_SHARE, random_state=seed, stratify=strata)
        model, converged = _fit(counts[train], women[train], f"seed {seed}")
        right = model.predict(counts[test]) == women[test]
        for part in (ALL, *sorted(enough)):
            of_part = np.full(len(test), True) if part == ALL else (table.loc[test, "profession"] == part).to_numpy()
            share = women[test][of_part].mean()
            rows.append((seed, part, of_part.sum(), right[of_part].mean(), max(share, 1 - share), converged))
    return pd.DataFrame(rows, columns=ACCURACY_COLUMNS)


def _rows_of_seed(
    counts: csr_matrix, women: np.ndarray, words: np.ndarray, seed: int, iterations: int, n: int
) -> Iterator[tuple]:
    """The rows of `top_words` for one seed."""
    train, test = train_test_split(np.arange(len(women)), test_size=TEST_SHARE, random_state=seed, stratify=women)
    train_counts, test_counts = counts[train].tocsc(), counts[test].tocsc()
    majority_share = max(women[test].mean(), 1 - women[test].mean())
    left = np.arange(len(words))
    for iteration in range(1, iterations + 1):
        place = f"seed {seed}, iteration {iteration}"
        model, converged = _fit(train_counts[:, left].tocsr(), women[train], place)
        accuracy = model.score(test_counts[:, left].tocsr(), women[test])
        top: list[int] = []
        for gender, weights in zip(WOMEN_FIRST, (model.coef_[0], -model.coef_[0]), strict=True):
            # `left` is in the order of the alphabet, which a stable sort keeps for equal weights.
            largest = [i for i in np.argsort(-weights, kind="stable")[:n] if weights[i] > 0]
            top += largest
            for rank, i in enumerate(largest, start=1):
                yield seed, iteration, gender, rank, words[left[i]], weights[i], accuracy, majority_share, converged
        left = np.delete(left, top)
        if not len(left) and iteration < iterations:
            raise BiasflowError(
                f"gender classifier: seed {seed}: no word is left after iteration {iteration}; ask for fewer."
            )


def _count(texts: Sequence[str], min_texts: int) -> tuple[csr_matrix, np.ndarray]:
    """The counts of the words [texts, words], and the words."""
    vectorizer = CountVectorizer(min_df=min_texts, dtype=np.float64)
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise BiasflowError(
            f"gender classifier: no word occurs in {min_texts} or more of the {len(texts)} texts; give more texts."
        ) from error
    return counts, vectorizer.get_feature_names_out()


def _fit(counts: csr_matrix, women: np.ndarray, place: str) -> tuple[LogisticRegression, bool]:
    """The regression, and whether its fit ended within STEPS steps."""
    model = LogisticRegression(solver="newton-cg", tol=TOLERANCE, max_iter=STEPS)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model.fit(counts, women)
    for warning in warned:  # too few steps, or a line search that failed
        log.warning("gender classifier: %s: the fit did not converge: %s", place, warning.message)
    return model, not warned
