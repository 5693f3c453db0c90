"""Tables of separated text: what was written is read, and no row of another length is."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.corpora.separated import separated

cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1, max_size=8)
rows = st.lists(st.lists(cells, min_size=3, max_size=3), max_size=5)


def written(rows, **dialect):
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n", **dialect).writerows([["a", "b", "c"], *rows])
    return stream.getvalue()


@given(rows)
def test_what_was_written_is_read(rows):
    table = separated("f", written(rows))
    assert table.to_numpy().tolist() == rows and list(table) == ["a", "b", "c"]
    assert table.index.tolist() == list(range(1, len(rows) + 1)) and table.index.name == "row"


@given(rows, st.integers(0, 4), st.sampled_from([2, 4]))
def test_a_row_of_another_length_is_named(rows, place, length):
    place = min(place, len(rows))
    with pytest.raises(BiasflowError, match=f"f: row {place + 1} has"):
        separated("f", written([*rows[:place], ["x"] * length, *rows[place:]]))


def test_tabs_quotes_and_empty_lines():
    table = separated("f", 'a\tb\n"x, y\tno "z"\n\n"\t\n')
    assert table.to_numpy().tolist() == [['"x, y', 'no "z"'], ['"', ""]]
    assert separated("f", 'a,b\n\n"x, ""y""",\n').to_numpy().tolist() == [['x, "y"', ""]]


@pytest.mark.parametrize(
    ("text", "named"), [('a,b\nx,"y', "row 1"), ('a,b\nx,y\n"x"y,z', "row 2"), ("a,b,a\n", "column 'a'")]
)
def test_broken_tables_are_named(text, named):
    with pytest.raises(BiasflowError, match=f"f: .*{named}"):
        separated("f", text)


@pytest.mark.parametrize("text", ["", "\n \n", "a,b\n"])
def test_no_row(text):
    assert separated("f", text).empty
