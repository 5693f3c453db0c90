"""StereoSet's words in a blank: shares by item and by term, ICAT, and what a word's score is of its pieces."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.metrics.intrasentence import LABELS, icat, score, shares, summary

SCORES = st.lists(st.tuples(*[st.floats(-9, 0)] * 3), min_size=1, max_size=20)
FILLINGS = ("left-to-right", "together", "one-mask")


def test_known_answer_by_item_and_by_term():
    scores = [[3, 2, 1], [3, 2, 1], [1, 2, 3], [2, 2, 1]]
    assert shares(scores) == (2 / 4, 6 / 8)  # a tie does not count
    assert shares(scores, ["a", "a", "a", "b"]) == pytest.approx(((2 / 3 + 0) / 2, (4 / 6 + 2 / 2) / 2))


@given(SCORES)
def test_scales_and_exchanges(scores):
    scores = np.array(scores)
    ss, lms = shares(scores)
    assert shares(4 * scores) == (ss, lms) and shares(scores, ["term"] * len(scores)) == pytest.approx((ss, lms))
    other, same = shares(scores[:, [1, 0, 2]])
    assert same == pytest.approx(lms) and ss + other == pytest.approx(np.mean(scores[:, 0] != scores[:, 1]))
    assert 0 <= icat(ss, lms) <= lms


def readout(path, log_p):
    """log_p: (item, target, label, filling) -> those of the pieces of the word."""
    rows = [("none", "-", *key, piece, value) for key, values in log_p.items() for piece, value in enumerate(values)]
    columns = ["method", "setting", "item", "target", "label", "filling", "piece", "log_p"]
    pd.DataFrame(rows, columns=columns).to_parquet(path)
    return path


def test_a_word_has_the_mean_of_its_pieces_log_p_and_as_released_that_of_their_p(tmp_path):
    # The stereotype has two pieces: by mean log p it is below the anti-stereotype, by mean p above.
    pieces = {"stereotype": [-0.1, -6.0], "anti-stereotype": [-2.0], "unrelated": [-4.0]}
    log_p = {("i", "term", label, filling): pieces[label] for filling in FILLINGS for label in LABELS}
    found = score(readout(tmp_path / "p.parquet", log_p)).set_index(["metric", "variant"])["value"]
    assert found["intrasentence_stereotype_score", "left-to-right-items"] == 0
    assert found["intrasentence_stereotype_score", "together-terms"] == 0
    assert found["intrasentence_stereotype_score", "released"] == 1
    assert found["intrasentence_language_model_score", "left-to-right-terms"] == 1
    assert found["intrasentence_icat", "released"] == 0


@pytest.mark.parametrize("scores", [[], [[1, 2]], [[1, 2, np.nan]]])
def test_what_has_no_shares_is_refused(scores):
    with pytest.raises(BiasflowError):
        shares(scores)


def items(scores):
    """scores [items, 3] -> one piece for each word, in all fillings; the items come in another order than they went."""
    rows = [
        (f"i{k}", f"t{k % 3}", label, filling, value)
        for filling in FILLINGS
        for k, values in reversed(list(enumerate(scores)))
        for label, value in zip(LABELS, values, strict=True)
    ]
    return pd.DataFrame(rows, columns=["item", "target", "label", "filling", "log_p"])


@pytest.mark.parametrize(("targets", "other"), [(20, "items"), (19, "targets"), (5, "")])
def test_targets_are_drawn_where_there_are_twenty(targets, other):
    """Half of the targets are always stereotyped: which targets there are matters more than which items."""
    table = items([[3, 2, 1] if k % targets < targets // 2 else [2, 3, 1] for k in range(10 * targets)])
    table["target"] = [f"t{int(name[1:]) % targets}" for name in table["item"]]
    found = summary(table)
    found = found[found["metric"] == "intrasentence_stereotype_score"].assign(width=found["high"] - found["low"])
    for _, rows in found.groupby("variant"):
        rows = rows.set_index("part")
        assert set(rows.index) == {"-", other} - {""} and rows["value"].nunique() == 1
        assert rows.loc["-", "n"] == 10 * targets
        if other:
            units = {other: rows.loc[other], ("targets" if other == "items" else "items"): rows.loc["-"]}
            assert units["targets"]["width"] > 2 * units["items"]["width"]
            assert other != "targets" or units["targets"]["n"] == targets
