"""Measures of others: their command is run, and what it writes is read or refused in one line."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.papers.frames import Run
from biasflow.papers.judge import given_values
from biasflow.results.given import read_given, run_given


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
        ("sys.exit(3)", "ended with status 3: it printed nothing"),
        ("pass", "wrote no file"),
        ("output.write_text('')", "the columns are none"),
        ("output.write_bytes('item,value\\na,1\\n'.encode('utf-16'))", "UTF-16"),
        ("output.write_text('item,value\\n')", "no row"),
        ("output.write_text('item,score\\na,1\\n')", "the columns are 'item', 'score'; they must be item and value"),
        ("output.write_text('item,value,n\\na,1,2\\n')", "the columns are 'item', 'value', 'n'"),
        ("output.write_text('word')", "the columns are 'word'"),
        ("output.write_text('nan')", "'nan' is not a finite number"),
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
        found = given_values(Run(empty, empty, empty, empty, files, options), ["a", "b"])
        assert found["measure"].tolist() == ["coin (given)"] * 2 and set(found["sign"]) == {sign}
        assert found["value"].tolist() == [3, 4]
        assert found["error"].iloc[0] == pytest.approx(7 / 3) and np.isnan(found["error"].iloc[1])
    assert given_values(Run(empty, empty, empty), ["a"]).empty
