import re
import shutil
import subprocess

import pandas as pd
import pytest
from hypothesis import strategies as st

from biasflow.results.latex import latex_table


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


def test_blank_columns_are_left_out_and_named():
    tex = latex({"encoder": ["a", "b"], "p_published": ["", ""], "p": ["", "1"]}, caption="Tests.")
    assert panels(tex) == [[["encoder", "p"], ["a", ""], ["b", "1"]]]
    assert r"\caption{Tests. Left out, as blank in every row: p published.}" in tex


NAMES = st.lists(st.from_regex(r"[a-d]{1,2}(_[a-d]{1,9}){0,3}", fullmatch=True), min_size=1, max_size=30, unique=True)


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


def test_long_texts_are_no_keys_and_keys_take_half_the_page():
    columns, numeric = wide(4, statement=["a statement in many words, of more than forty characters"] * 2)
    first, second = panels(latex(columns, numeric=numeric))
    assert first[0][:3] == ["encoder", "level", "statement"] and "statement" not in second[0]
    texts = {f"t{i}": ["a" * 28] for i in range(12)}
    assert [len(panel[0]) for panel in panels(latex(texts))] == [6, 6, 6]
