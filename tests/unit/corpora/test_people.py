"""The pool of a search for people is balanced, and queries are what a user would type."""

import pandas as pd
import pytest

from biasflow.base.errors import AbsentError
from biasflow.corpora.people import filled_queries, pool_of

COUNTS = {("nurse", "F"): 9, ("nurse", "M"): 4, ("yoga_teacher", "F"): 2, ("yoga_teacher", "M"): 3, ("dj", "M"): 5}


@pytest.fixture
def file(tmp_path):
    rows = [
        {"text": f" {'She' if gender == 'F' else 'He'} is person {number}.", "profession": profession, "gender": gender}
        for (profession, gender), count in COUNTS.items()
        for number in range(count)
    ]
    path = tmp_path / "bios.csv"
    pd.DataFrame(rows).assign(text=lambda table: table["text"] + table["profession"]).to_csv(path, index=False)
    return path


def test_as_many_women_as_men_of_each_profession_and_the_shares_of_all(file):
    pool = pool_of([file], people=3, least=3, seed=0)
    counts = pool.people.groupby(["profession", "gender"]).size().to_dict()
    assert counts == {("nurse", "F"): 3, ("nurse", "M"): 3, ("yoga_teacher", "F"): 2, ("yoga_teacher", "M"): 2}
    assert pool.searched == ("nurse",) and pool.shares["nurse"] == pytest.approx(9 / 13)
    assert pool.people["profession"].is_monotonic_increasing
    swapped = pool.people["swapped"].str.startswith(" He")
    assert (swapped == (pool.people["gender"] == "F")).all() and pool.people["scrubbed"].str.startswith(" _ is").all()
    others = pool_of([file], people=3, least=3, seed=1).people
    assert set(others["raw"]) != set(pool.people["raw"])
    smaller = pool_of([file], people=2, least=2, seed=0).people
    assert set(smaller["raw"]) <= set(pool.people["raw"])


def test_no_profession_with_enough_people_is_said_in_one_line(file):
    with pytest.raises(AbsentError, match=r"no profession has 20 women and 20 men; nurse has most, 4; lower metrics\."):
        pool_of([file], people=None, least=20, seed=0)


def test_queries_have_the_article_of_the_word_behind_it():
    found = filled_queries(
        ["architect", "yoga_teacher"], ["a {profession}", "find an {profession} near me", "{profession} cv"]
    )
    assert found[0].tolist() == [
        ["an architect", "a yoga teacher"],
        ["find an architect near me", "find a yoga teacher near me"],
        ["architect cv", "yoga teacher cv"],
    ]
    assert found[1, 0].tolist() == ["a female architect", "a female yoga teacher"]
    assert found[2, 2].tolist() == ["male architect cv", "male yoga teacher cv"]
