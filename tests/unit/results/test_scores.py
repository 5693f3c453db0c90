"""Tables of scores, of holes and of measures that somebody gives."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import read_text_csv, write_csv
from biasflow.papers.frames import Run
from biasflow.results.given import read_given, run_given
from biasflow.results.scores import CELL, HOLES, concatenate, read_plan, read_scores, tidy, with_silent, write_scores
from biasflow.studies.judge import given_values


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
        (lambda: made(row(variant="-"), row(variant="")), "row 2: column variant"),
        (lambda: made(row(method="none"), row(method=None)), "row 2: column method"),
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


CELLS = [
    ("bert", "-", "-", "-", method, metric, dataset)
    for method in ("none", "densray")
    for metric, dataset in (("weat", "C6"), ("weat", "C7"), ("strength", "planted"))
]


@pytest.mark.parametrize("holes", [[], [CELLS[0]], [CELLS[1], CELLS[4]]])
def test_a_reason_reaches_its_own_cell(tmp_path, holes):
    plan = pd.DataFrame(CELLS, columns=CELL).assign(block="inside", status="run", reason="")
    plan.loc[5, ["status", "reason"]] = "not run", "the plan knew"
    write_csv(plan, tmp_path / "plan.csv")
    found = pd.DataFrame(holes, columns=CELL).assign(reason=[f"no word {n}" for n in range(len(holes))])
    write_csv(found[HOLES], tmp_path / "reasons.csv")
    read = read_plan(tmp_path / "plan.csv", read_text_csv(tmp_path / "reasons.csv"))
    expected = plan["reason"].copy()
    for number, hole in enumerate(holes):
        expected[CELLS.index(hole)] = f"no word {number}"
    assert list(read["reason"]) == list(expected)
    assert list(read["status"]) == ["not run" if reason else "run" for reason in expected]


def ran(tmp_path: Path, code: str, command: str = "{python} {script} {encoder} {output}") -> pd.DataFrame:
    script, output = tmp_path / "a script.py", tmp_path / "output.csv"
    script.write_text(f"import sys\nfrom pathlib import Path\nencoder, output = map(Path, sys.argv[1:])\n{code}")
    folder = tmp_path / "an encoder"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    run_given("coin", command, encoder="mine", folder=folder, output=output, script=script)
    return read_given("coin", "mine", output)


def test_a_table_of_items_whatever_blanks_paths_have(tmp_path):
    code = 'assert (encoder / "config.json").is_file()\noutput.write_text("item,value\\na,1\\nb,-0.5\\n")'
    found = ran(tmp_path, code)
    assert found["item"].tolist() == ["a", "b"] and found["value"].tolist() == [1, -0.5]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("sys.exit('no such model')", "ended with status 1: no such model"),
        ("pass", "wrote no file"),
        ("output.write_text('')", "the columns are none"),
        ("output.write_bytes('item,value\\na,1\\n'.encode('utf-16'))", "UTF-16"),
        ("output.write_text('item,value\\n')", "no row"),
        ("output.write_text('item,score\\na,1\\n')", "the columns are 'item', 'score'; they must be item and value"),
        ("output.write_text('inf')", "'inf' is not a finite number"),
        ("output.write_text('item,value\\na,1\\nb,\\n')", "line 3: column value: '' is not a finite number"),
        (
            "output.write_text('item;value\\na;0,5\\n')",
            "line 2: column value: '0,5' is not a finite number (a number with a",
        ),
        ("output.write_text('item,value\\na,1\\na,2\\n')", "line 3: column item: 'a' appears twice"),
        ("output.write_text('item,value\\na,b,1\\n')", "line 2: more fields"),
        ("output.write_text('item,value\\na,1\\n,2\\n')", "line 3: column item: '' names no item"),
    ],
)
def test_one_line_that_names_measure_and_encoder(tmp_path, code, said):
    with pytest.raises(BiasflowError) as refused:
        ran(tmp_path, code)
    text = str(refused.value)
    assert text.startswith("given.coin, encoder mine: ") and said in text and "\n" not in text


def test_the_value_of_an_encoder_is_the_mean_of_its_items_which_leave_their_variance(tmp_path):
    for encoder, values in (("a", [1, 2, 6]), ("b", [4])):
        items = pd.DataFrame({"item": range(len(values)), "value": values})
        items.to_csv(tmp_path / f"{encoder}.csv", index=False)
    files = {"given": {f"coin/{encoder}": tmp_path / f"{encoder}.csv" for encoder in "ab"}}
    empty = pd.DataFrame()
    for direction, sign in (("up", 1), ("down", -1)):
        options = {"given": {"coin": direction}}
        found = given_values(Run(empty, empty, empty, empty, files, options), {"a": (0, 1), "b": (0.5, 1)})
        assert found["measure"].tolist() == ["coin (given)"] * 2 and set(found["sign"]) == {sign}
        assert found["value"].tolist() == [3, 4] and found["bias"].tolist() == [0, 0.5]
        assert found["error"].iloc[0] == pytest.approx(7 / 3) and np.isnan(found["error"].iloc[1])
    assert given_values(Run(empty, empty, empty), {"a": (0, 1)}).empty


def test_a_method_without_a_score_has_a_reason():
    """A metric that leaves one out must not leave a hole of which nobody knows."""
    reasons = with_silent({"inlp": "no such subspace"}, ["none", "hard", "inlp"], ["none", "none", "sweep"])
    assert reasons == {"inlp": "no such subspace", "hard": "no score came of it"}
