import re
import shutil
import subprocess

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.results.latex import escape_latex, latex_table


def latex(columns, *, numeric=(), caption="Some numbers."):
    shown = pd.DataFrame(columns, dtype=str)
    headers = {c: c.replace("_", " ") for c in shown}
    return latex_table(shown, headers=headers, numeric=set(numeric), caption=caption, label="tab:x")


def panels(tex):
    """Every panel as its rows of texts, the header first."""
    found = re.findall(r"\\begin\{(?:tabular|longtable)\}.*?\\end\{(?:tabular|longtable)\}", tex, re.DOTALL)
    rows = []
    for panel in found:
        lines = re.sub(r"\\shortstack\{(.*?)\}(?= [&\\])", lambda m: m[1].replace(r"\\", " "), panel).splitlines()
        body = [line.removesuffix(r" \\").split(" & ") for line in lines if line[:1] != "\\"]
        # A longtable has its header once more, for the pages that follow.
        rows.append(body[:1] + [row for row in body[1:] if row != body[0]])
    return rows


def wide(values, rows=2, **more):
    """Two keys, then so many values of 22 characters, with what is printed of each."""
    columns = {"encoder": [f"bert-{row}" for row in range(rows)], "level": ["sent"] * rows} | more
    for value in range(values):
        columns |= {f"m{value}{suffix}": ["0" * 22] * rows for suffix in ("", "_published", "_difference")}
    return columns, [column for column in columns if column.startswith("m")]


def test_backslashes_are_escaped_once():
    assert escape_latex("\\{_}") == r"\textbackslash{}\{\_\}"


def test_a_bracket_at_the_start_of_a_row_is_text():
    assert escape_latex("[CLS]") == "{[}CLS]"


@pytest.mark.parametrize(("rows", "long"), [(40, False), (41, True)])
def test_long_tables_may_break_over_pages(rows, long):
    tex = latex({"x": ["1"] * rows})
    assert (r"\begin{longtable}" in tex) == long
    assert tex.count(r"\begin{") == tex.count(r"\end{")
    assert tex.count("{") == tex.count("}")
    assert tex.count("Some numbers.") == tex.count(r"\label{tab:x}") == 1


def test_long_texts_make_a_table_long():
    assert r"\begin{longtable}" in latex({"words": ["some words " * 90] * 4})
    assert r"\begin{longtable}" not in latex({"words": ["some words " * 9] * 4})


@pytest.mark.parametrize(("columns", "turned"), [(10, False), (12, True)])
def test_wide_tables_turn_the_page(columns, turned):
    tex = latex({f"x{i}": ["123456789"] for i in range(columns)})
    assert (r"\begin{landscape}" in tex) == tex.endswith("\\end{landscape}\n") == turned
    assert len(panels(tex)) == 1


@pytest.mark.parametrize("rows", [2, 50])
def test_wider_tables_are_set_in_panels_that_repeat_the_keys(rows):
    columns, numeric = wide(4, rows)
    tex = latex(columns, numeric=numeric)
    found = panels(tex)
    assert len(found) == 2 and (r"\begin{longtable}" in tex) == (rows == 50)
    for panel in found:
        assert panel[0][:2] == ["encoder", "level"]
        assert [row[:2] for row in panel[1:]] == [[f"bert-{row}", "sent"] for row in range(rows)]
    assert [panel[0][2:] for panel in found] == [
        [f"m{value}{suffix}" for value in pair for suffix in ("", " published", " difference")]
        for pair in ((0, 1), (2, 3))
    ]
    assert tex.count("Some numbers.") == tex.count(r"\label{tab:x}") == 1


def test_a_broken_table_in_panels_has_one_number():
    columns, numeric = wide(8, 50)
    tex = latex(columns, numeric=numeric)
    assert tex.count(r"\begin{longtable}") == 4 and tex.count(r"\addtocounter{table}{-1}") == 3
    assert tex.count(r"\caption{") == 1


def test_a_published_value_further_on_joins_its_value():
    columns, numeric = wide(3)
    late = columns.pop("m0_published")
    header = [panel[0] for panel in panels(latex(columns | {"m0_published": late}, numeric=numeric))]
    assert header[0][2:5] == ["m0", "m0 difference", "m0 published"]


def test_long_texts_are_no_keys_and_keys_take_half_the_page():
    columns, numeric = wide(4, statement=["a statement in many words, of more than forty characters"] * 2)
    first, second = panels(latex(columns, numeric=numeric))
    assert first[0][:3] == ["encoder", "level", "statement"] and "statement" not in second[0]
    texts = {f"t{i}": ["a" * 28] for i in range(12)}
    assert [len(panel[0]) for panel in panels(latex(texts))] == [6, 6, 6]


def test_blank_columns_are_left_out_and_named():
    tex = latex({"encoder": ["a", "b"], "p_published": ["", ""], "p": ["", "1"]}, caption="Tests.")
    assert panels(tex) == [[["encoder", "p"], ["a", ""], ["b", "1"]]]
    assert r"\caption{Tests. Left out, as blank in every row: p published.}" in tex


def test_a_table_without_rows_keeps_its_columns():
    tex = latex({"encoder": [], "p": []})
    assert panels(tex) == [[["encoder", "p"]]] and r"\caption{Some numbers.}" in tex


def test_a_column_holds_its_longest_word():
    tex = latex({"id": ["7de163d70711fb583793fcc0d99cdaf4"]})
    assert float(re.search(r"p\{([\d.]+)em\}", tex)[1]) > 32 / 2


NAMES = st.lists(st.from_regex(r"[a-d]{1,2}(_[a-d]{1,9}){0,3}", fullmatch=True), min_size=1, max_size=30, unique=True)


@given(NAMES, st.integers(1, 60), st.data())
@settings(max_examples=60, deadline=None)
def test_every_column_is_shown_and_no_panel_is_too_wide(names, rows, data):
    sizes = data.draw(st.lists(st.integers(1, 30), min_size=len(names), max_size=len(names)))
    numeric = data.draw(st.sets(st.sampled_from(names)))
    tex = latex({name: ["1" * size] * rows for name, size in zip(names, sizes, strict=True)}, numeric=numeric)
    found = panels(tex)
    headers = [name.replace("_", " ") for name in names]
    assert {header for panel in found for header in panel[0]} == set(headers)
    width = {header: max(size, *map(len, header.split())) for header, size in zip(headers, sizes, strict=True)}
    for panel in found:
        assert len(panel) == rows + 1
        assert len(set(panel[0])) == len(panel[0])
        assert sum(width[header] + 1 for header in panel[0]) <= 190


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("rows", [3, 45])
def test_the_page_holds_the_table(tmp_path, rows):
    columns, numeric = wide(5, rows, text=["[a_b] & c < d, in many words of small letters"] * rows)
    (tmp_path / "x.tex").write_text(
        r"\documentclass[a4paper]{article}\usepackage[T1]{fontenc}\usepackage[margin=2cm]{geometry}"
        r"\usepackage{array,booktabs,longtable,pdflscape}\begin{document}"
        + "\n"
        + latex(columns, numeric=numeric)
        + r"\end{document}"
    )
    for _ in range(2):
        subprocess.run(["pdflatex", "-halt-on-error", "x.tex"], cwd=tmp_path, check=True, capture_output=True)
    log = (tmp_path / "x.log").read_text(errors="replace")
    assert "Overfull" not in log and "too large" not in log
