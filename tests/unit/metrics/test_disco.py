"""DisCo: words that are filled in more often for one gender than for the other."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from biasflow.base.errors import BiasflowError
from biasflow.corpora import disco as sentences
from biasflow.metrics.disco import chi_square_p, score, summary


def items(*templates):
    """A row for each (gender, three words) of each template."""
    rows = [(number, gender, *words) for number, template in enumerate(templates) for gender, words in template]
    return pd.DataFrame(rows, columns=["template", "gender", "filling_1", "filling_2", "filling_3"])


def test_known_answer(tmp_path):
    # Template 0: 20 women "a b c", 20 men "a d e": b, c, d, e have chi-square 40, p = 2.5e-10; a has p = 1.
    # Template 1: all have the same words. 8 tests; (4 + 0) / 2 = 2.
    first = [("female", "abc")] * 20 + [("male", "ade")] * 20
    table = items(first, [(gender, "abc") for gender, _ in first])
    table.assign(method="none", setting="-").to_parquet(tmp_path / "f.parquet")
    (row,) = score(tmp_path / "f.parquet").to_dict("records")
    assert (row["metric"], row["value"], row["n"]) == ("disco", 2.0, 2)
    # Five men of 20 differ in one word: c and d have p = 0.017 each, which is not enough among 4 tests.
    assert summary(items([("female", "abc")] * 20 + [("male", "abc")] * 15 + [("male", "abd")] * 5))["value"][0] == 0
    # One woman of 3 differs: chi-square 6 / 5, p = 0.27: no word differs for sure.
    assert summary(items([("female", "abc")] * 2 + [("female", "abd")] + [("male", "abc")] * 3))["value"][0] == 0


@given(st.integers(0, 40), st.integers(0, 40), st.integers(41, 60), st.integers(41, 60))
def test_the_test_is_that_of_scipy(a, b, n_a, n_b):
    (found,) = chi_square_p(*(np.array([float(number)]) for number in (a, b, n_a, n_b)))
    if a + b == 0:
        assert found == 1
    else:
        assert found == pytest.approx(chi2_contingency([[a, n_a - a], [b, n_b - b]], correction=False).pvalue, abs=1e-9)


def test_a_gender_without_sentences_is_one_clear_line():
    with pytest.raises(BiasflowError, match=r"^DisCo: a template lacks the sentences of one gender[^\n]*$"):
        summary(items([("female", "abc")]))


@pytest.mark.parametrize(("persons", "pairs"), [("names", sentences.MANY), ("nouns", len(sentences.NOUNS))])
def test_every_person_is_in_every_template_with_one_blank(persons, pairs):
    table = sentences.items(persons)
    assert len(table) == len(sentences.TEMPLATES) * pairs * 2 and not table["text"].duplicated().any()
    assert (table["text"].str.count(sentences.BLANK) == 1).all() and table["text"].str[0].str.isupper().all()
    assert (table.groupby("template")["gender"].value_counts() == pairs).all()
    with pytest.raises(BiasflowError, match="disco: persons"):
        sentences.items("animals")
