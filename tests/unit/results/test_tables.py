import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd

from biasflow.base.shipped import ROOT
from biasflow.results.tables import with_bound, write_table

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


class Cells(HTMLParser):
    """Collects tags and the texts of the cells, and fails on tags that do not close."""

    def __init__(self, page):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "link"):
            self.open.append(tag)
        if tag in ("td", "th"):
            self.texts.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.texts[-1] += data


def test_csv_has_six_digits_and_plain_text(tmp_path):
    csv, _, _ = write(FRAME, tmp_path)
    assert csv.splitlines()[1:] == ["a_b & 5 %,0.123457,0.99998,-0.25,3,True", "<b>{x}</b>,,0.5,1e-06,40,False"]


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
    assert Cells(page).texts == ["p", "< 1/20", "0.250", ""]
    assert r"\textless{} 1/20" in tex and "Bound" not in tex


def test_a_page_leaves_out_what_says_nothing_and_names_it(tmp_path):
    frame = pd.DataFrame({"a": ["x", "y"], "encoder": ["bert", "bert"], "gone": [np.nan, np.nan]})
    csv, _, page = write(frame, tmp_path)
    assert Cells(page).texts == ["a", "x", "y"]
    assert "Encoder: bert." in page and "These columns are empty and are not shown: Gone." in page
    assert csv.startswith("a,encoder,gone")
    assert len(Cells(write(frame.head(1), tmp_path)[2]).texts) == 6  # of one row all is shown
    assert len(Cells(write(frame[["encoder", "gone"]], tmp_path)[2]).texts) == 6  # something must be left


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
