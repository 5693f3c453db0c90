import math

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.results.scores import concatenate, read_scores, tidy, write_scores


def row(**columns):
    return {"metric": "strength", "value": 0.25} | columns


def made(*rows, **keys):
    return tidy(pd.DataFrame(rows), **({"encoder": "tiny", "dataset": "planted"} | keys))


def test_bytes_follow_content_only(tmp_path):
    rows = [row(setting=f"0,{i}", value=1 / (i + 3)) for i in range(9)]
    write_scores(made(*rows), tmp_path / "a.csv")
    write_scores(made(*rows[::-1]), tmp_path / "b.csv")
    write_scores(read_scores(tmp_path / "a.csv"), tmp_path / "c.csv")
    first, second, third = ((tmp_path / f"{name}.csv").read_bytes() for name in "abc")
    assert first == second == third
    assert b",0.3333333333,NaN,NaN,NaN\n" in first


def test_concatenate_sorts_and_refuses_the_same_key_twice():
    one, two = made(row(), encoder="b"), made(row(), encoder="a")
    assert list(concatenate([one, two])["encoder"]) == ["a", "b"]
    with pytest.raises(BiasflowError, match="encoder=b"):
        concatenate([one, two, one])


def test_a_value_outside_its_interval_is_refused():
    """Whatever metric it is of: every score of every run passes here."""
    made(
        row(setting="a", low=0.25, high=0.25),
        row(setting="b", low=0.25 + 1e-12, high=0.3),
        row(setting="c", low=math.nan),
    )
    for low, high in ((0.26, 0.3), (0.1, 0.24)):
        with pytest.raises(BiasflowError, match=r"metric=strength: the value 0\.25 lies outside its interval \[0\."):
            made(row(low=low, high=high))


@pytest.mark.parametrize(
    ("frame", "named"),
    [
        (lambda: made(row(note="x")), "note"),
        (lambda: made({"metric": "strength"}), "value"),
        (lambda: made(row(metric="")), "metric"),
        (lambda: made(row(variant="")), "variant"),
        (lambda: made(row(method=None)), "method"),
        (lambda: made(row(value="much")), "much"),
    ],
)
def test_tables_of_another_shape_are_refused(frame, named):
    with pytest.raises(BiasflowError, match=named):
        frame()


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "damaged.csv"
    for text in ("", "encoder,task\na,b\n"):
        path.write_text(text)
        with pytest.raises(BiasflowError, match="damaged"):
            read_scores(path)
