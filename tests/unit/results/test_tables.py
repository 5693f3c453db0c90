"""Tables for people to read, their LaTeX, and figures."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from html import unescape

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font

from biasflow.base.errors import BiasflowError
from biasflow.base.shipped import ROOT
from biasflow.plan.compiled import PICTURES
from biasflow.results.figures import save_figure, style
from biasflow.results.latex import latex_table
from biasflow.results.tables import merge_published, with_bound, write_table

FRAME = pd.DataFrame(
    {
        "name": ["a_b & 5 %", "<b>{x}</b>"],
        "value": [0.123456789, np.nan],
        "value_published": [0.99998, 0.5],
        "value_difference": [-0.25, 0.000001],
        "n": [3, 40],
        "holds": [True, False],
    }
)


def write(frame, folder, **options):
    paths = [folder / f"table.{kind}" for kind in ("csv", "tex", "html")]
    write_table(frame, *paths, caption="Numbers_of <us> & 10 %", **options)
    return [path.read_text() for path in paths]


def cells(page):
    """The texts of the cells of a page."""
    found = re.findall(r"<t[dh]\b[^>]*>(.*?)</t[dh]>", page, re.DOTALL)
    return [unescape(re.sub("<[^>]+>", "", cell)).strip() for cell in found]


def test_csv_has_six_digits_and_plain_text(tmp_path):
    csv, _, _ = write(FRAME, tmp_path)
    assert csv.splitlines()[1:] == ["a_b & 5 %,0.123457,0.99998,-0.25,3,True", "<b>{x}</b>,,0.5,1e-06,40,False"]


def test_a_page_links_the_overview_only_where_its_picture_is(tmp_path):
    assert f'src="../{PICTURES[0]}"' in write(FRAME, tmp_path)[2]


def test_a_difference_is_ours_minus_what_is_printed():
    ours = pd.DataFrame({"name": ["a", "b"], "value": [0.75, 0.5]})
    printed = pd.DataFrame({"name": ["a", "c"], "value": [1.0, 0.25]})
    table = merge_published(ours, printed, on=["name"], values=["value"], printed_only=True)
    assert list(table) == ["name", "value", "value_published", "value_difference"]
    assert table["name"].tolist() == ["a", "b", "c"]
    assert table["value_published"].tolist() == pytest.approx([1, np.nan, 0.25], nan_ok=True)
    assert table["value_difference"].tolist() == pytest.approx([-0.25, np.nan, np.nan], nan_ok=True)


def test_latex_escapes_text_header_and_caption(tmp_path):
    _, tex, _ = write(FRAME, tmp_path)
    assert r"a\_b \& 5 \%" in tex and r"\textless{}b\textgreater{}\{x\}" in tex
    assert r"\caption{Numbers\_of \textless{}us\textgreater{} \& 10 \%}" in tex
    assert r"\toprule" in tex and r"\begin{tabular}{lrrrrl}" in tex and "longtable}" not in tex
    assert "$-0.2500$" in tex and "$+1.0e-06$" in tex
    assert r"\shortstack{Value\\(published)}" in tex


def test_an_exact_p_of_0_is_printed_as_its_bound(tmp_path):
    table = with_bound(pd.DataFrame({"p": [0.0, 0.25, np.nan]}), "p", pd.Series([20, 20, 0]))
    assert list(table) == ["p", "p_bound"] and table["p"].tolist()[:2] == [0.05, 0.25]
    assert table["p_bound"].tolist() == ["<", "", ""]
    csv, tex, page = write(table, tmp_path)
    assert csv == "p,p_bound\n0.05,<\n0.25,\n,\n"
    assert cells(page) == ["p", "< 1/20", "0.250", ""]
    assert r"\textless{} 1/20" in tex and "Bound" not in tex


def test_a_page_leaves_out_what_says_nothing_and_names_it(tmp_path):
    frame = pd.DataFrame({"a": ["x", "y"], "encoder": ["bert", "bert"], "gone": [np.nan, np.nan]})
    csv, _, page = write(frame, tmp_path)
    assert cells(page) == ["a", "x", "y"]
    assert "Encoder: bert." in page and "These columns are empty and are not shown: Gone." in page
    assert csv.startswith("a,encoder,gone")
    assert len(cells(write(frame.head(1), tmp_path)[2])) == 6  # of one row all is shown
    assert len(cells(write(frame[["encoder", "gone"]], tmp_path)[2])) == 6  # something must be left


def test_whatever_is_put_into_a_page_is_escaped():
    """Every environment of templates escapes by itself, and what is declared safe is written in the template, or a
    picture, whose texts are escaped where it is drawn."""
    sources = [path for path in (ROOT / "scripts").rglob("*") if path.suffix in (".py", ".html", ".jinja")]
    texts = {path: path.read_text(encoding="utf-8") for path in sources}
    environments = [text for text in texts.values() if "jinja2.Environment(" in text]
    assert len(environments) >= 2 and all("autoescape=True" in text for text in environments)
    for path, text in texts.items():
        assert "Markup(" not in text, path
        for found in re.finditer(r"\|\s*safe\b", text):
            assert re.search(r'("[^"{}]*"|\b(left|right))\s*$', text[: found.start()]), path


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


def wide(values, rows):
    """Two keys, then so many values of 22 characters, with what is printed of each."""
    columns = {"encoder": [f"bert-{row}" for row in range(rows)], "level": ["sent"] * rows}
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


def drawn():
    with style():
        figure = Figure(figsize=(2, 1))
        figure.subplots().plot([0, 1], [1, 0], label="a line")
    return figure


def test_files_are_the_same_again_and_hold_no_date(tmp_path):
    for name in ("a", "b"):
        save_figure(drawn(), tmp_path / f"{name}.svg", tmp_path / f"{name}.pdf")
    for kind in ("svg", "pdf"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag.endswith("svg")
    assert (
        b"CreationDate" not in (tmp_path / "a.pdf").read_bytes()
        and b"<dc:date>" not in (tmp_path / "a.svg").read_bytes()
    )


def test_a_folder_that_cannot_be_written_leaves_no_part(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises((BiasflowError, OSError)):
        save_figure(drawn(), tmp_path / "file" / "a.svg", tmp_path / "a.pdf")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_somebodys_name_in_a_figure_is_only_text(tmp_path):
    """No formula of TeX, which would fail or be set, and no tag in the SVG."""
    name = r"$\evil{$ --> <script>alert(1)</script> & $x_1$"
    with style():
        figure = Figure(figsize=(2, 1))
        axes = figure.subplots()
        axes.plot([0, 1], [1, 0], label=name)
        axes.set_title(name)
        axes.legend()
        figure.text(0.5, 0.5, name)
        save_figure(figure, tmp_path / "a.svg", tmp_path / "a.pdf")
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert not [element for element in root.iter() if "script" in str(element.tag)]


ARTICLE = {"footnotesize": (8, 345), "scriptsize": (7, 550)}  # size of the letters, and points across the page
STORED = sorted((ROOT / "tests/golden/tables").glob("*.csv"))
PACKAGES = r"\documentclass{article}\usepackage{array,booktabs,longtable,pdflscape}"


def as_latex(path, folder) -> str:
    """A stored table of a paper, written into the folder as t.tex."""
    write_table(pd.read_csv(path), folder / "t.csv", folder / "t.tex", folder / "t.html", caption="Its caption.")
    return (folder / "t.tex").read_text()


def widest_row(tex: str) -> tuple[float, float]:
    """The points that the widest row takes in Computer Modern, and those of the page."""
    size, page = ARTICLE[re.search(r"\\(footnotesize|scriptsize)", tex)[1]]
    font = FT2Font(f"{matplotlib.get_data_path()}/fonts/ttf/cmr10.ttf")
    font.set_size(size, 72)

    def width(cell: str) -> float:
        lines = re.split(r"\\\\", re.sub(r"\\shortstack|[{}$]|\\(?=[&%#_])", "", cell))
        font.set_text(
            max((" ".join(line.split()) for line in lines), key=len).replace("\\textless", "<").replace("\\pm", "+")
        )
        return font.get_width_height()[0] / 64

    widest = 0.0
    for form, body in re.findall(r"\\begin\{(?:tabular|longtable)\}\{(.*?)\}\n(.*?)\\end\{", tex, re.DOTALL):
        columns = re.findall(r"p\{([\d.]+)em\}|[lr]", re.sub(r">\{.*?arraybackslash\}", "", form))
        rows = [line for line in re.split(r"\\\\ *\n", body) if line.count(" & ") == len(columns) - 1]
        cells = [[width(cell) for cell in re.split(" & ", row.split("rule\n")[-1])] for row in rows]
        natural = np.max(cells, axis=0)
        fixed = [float(em) * size if em else own for em, own in zip(columns, natural, strict=True)]
        widest = max(widest, sum(fixed) + 4 * len(columns))
    return widest, page


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_table_of_a_paper_is_no_wider_than_a_page_of_article(path, tmp_path):
    widest, page = widest_row(as_latex(path, tmp_path))
    assert 0 < widest <= page


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="there is no pdflatex here")
@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_latex_sets_a_table_of_a_paper_on_its_page(path, tmp_path):
    as_latex(path, tmp_path)
    (tmp_path / "d.tex").write_text(PACKAGES + r"\begin{document}\input{t}\end{document}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "d.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull \\hbox" not in (tmp_path / "d.log").read_text(errors="replace")
