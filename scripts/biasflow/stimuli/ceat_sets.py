"""The word sets of CEAT by the names that the configuration gives them, and the vectors of their words.

C6, C7 and C8 are the sets 6, 7 and 8 of WEAT (Caliskan et al. 2017). In all of them X and Y are concepts (career and
family, math or science and arts) and A and B gendered words, as Orgad et al. (2022, sections 2.1.2 and A.4.3) describe
C6; WEAT, and the code released with CEAT (Guo and Caliskan 2021), have the names of C6 as targets, which is the other
order of `metrics.combined_effect`. "planted" is the test in the language of the planted corpus."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from biasflow.base.errors import AbsentError
from biasflow.base.shipped import shipped
from biasflow.corpora.seat import ROLES, AssociationTest
from biasflow.corpora.word_sets import COLUMNS, LEAST, test_of, word_table
from biasflow.planted.association import PLANTED, planted_test

WORDS = shipped("data/ceat_words.csv")


def read_ceat_sets(path: str | Path = WORDS) -> dict[str, AssociationTest]:
    """The tests of a CSV file with the columns test, role (X, Y, A, B), set_name and word, a word a row: name -> test.

    The words keep the file's order. Errors as `word_table`, of single words, and `test_of`."""
    table = word_table(path, ("test", *COLUMNS), single=True)
    return {name: test_of(path, name, rows) for name, rows in table.groupby("test", sort=False)}


def known_tests(path: str | Path = WORDS) -> dict[str, AssociationTest]:
    """All tests: those of a file of word sets, and that of the planted corpus."""
    return read_ceat_sets(path) | {PLANTED: planted_test()}


def ceat_tests(names: Sequence[str], path: str | Path = WORDS) -> dict[str, AssociationTest]:
    """The tests of these names, from the file of word sets or, for "planted", from the planted corpus's world.

    Errors as `read_ceat_sets`."""
    known = known_tests(path)
    return {name: known[name] for name in names}


def words_of(tests: Iterable[AssociationTest]) -> list[str]:
    """Return the distinct words of the tests, in the order of their first occurrence."""
    return list(dict.fromkeys(word for test in tests for role in ROLES for word in getattr(test, role).examples))


def sets_of_vectors(
    test: AssociationTest, vectors: Mapping[str, np.ndarray], *, missing: str = "error"
) -> dict[str, list[np.ndarray]]:
    """The vectors of a test's words by role, X, Y, A and B, as `readouts.cosines.drawn_cosines` takes them.

    vectors: word -> [occurrences, d]. A word that has none is an error, or left out with missing="drop"; BiasflowError
    if a set then has fewer than two words (naming test, set and words)."""
    sets = {}
    for role in ROLES:
        words = getattr(test, role).examples
        lacking = [word for word in words if word not in vectors or not len(vectors[word])]
        left = len(words) - len(lacking)
        if lacking and (missing == "error" or left < LEAST):
            drop = ", or leave such words out (metrics.ceat.missing: drop)" if left >= LEAST else ""
            raise AbsentError(
                f"CEAT: test {test.name}, set {role} ({getattr(test, role).category}): no occurrence of "
                f"{', '.join(lacking)}; {left} of {len(words)} words are left: give more text (metrics.ceat.text){drop}"
            )
        sets[role] = [vectors[word] for word in words if word not in lacking]
    return sets
