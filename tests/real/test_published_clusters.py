"""WinoBias from the clusters that a published system predicts: the numbers that its authors print."""

import pytest

from tests.real.files import needs_data
from tests.real.published_clusters import SIDES, read_and_scored

pytestmark = needs_data


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    """(metric, part, variant) -> value, of the development part alone."""
    facts, rows = read_and_scored(tmp_path_factory.mktemp("published"))
    assert facts == {"documents": dict.fromkeys(SIDES, 792), "repeated": dict.fromkeys(SIDES, 0)}
    return rows.set_index(["metric", "part", "variant"])["value"]


def test_f1_of_the_four_files(values):
    printed = {("anti", "type1"): 0.5248, ("pro", "type1"): 0.8007, ("anti", "type2"): 0.7634, ("pro", "type2"): 0.8883}
    assert {key: round(values["conll_f1", *key], 4) for key in printed} == printed


def test_the_difference_over_both_types_is_pooled_and_not_their_mean(values):
    difference = values["f1_difference"].droplevel("variant")
    assert round(difference["all"], 3) == 20.319
    assert round((difference["type1"] + difference["type2"]) / 2, 3) == 20.043


def test_what_the_authors_notebook_prints(values):
    printed = {("anti", "type1"): 53.06, ("pro", "type1"): 86.21, ("anti", "type2"): 81.44, ("pro", "type2"): 93.41}
    assert {key: round(100 * values["first_mention_f1", *key], 2) for key in printed} == printed
