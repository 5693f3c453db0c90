"""The page of figure 2: biographies with what is scrubbed marked."""

import html
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.papers.orgad2022.words import figure2, marked
from biasflow.text.scrub import TERMS, scrub
from tests.unit.papers.orgad2022.made_up import run, scores

WORDS = ["HE", "she", "Miss", "Ann", "wife", "paints", "Annual", "_", "1", "<b>"]
RAW = "Ann & her wife met HE <b>."


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.sampled_from(TERMS))
def test_what_is_marked_and_what_is_not_are_the_text_and_the_scrubbed_text(words, terms):
    raw = " ".join(words)
    parts = list(marked(raw, scrub(raw, ["Ann"], terms=terms)))
    assert "".join(text for text, _ in parts) == raw
    assert "".join("_" if out else text for text, out in parts) == scrub(raw, ["Ann"], terms=terms)


def test_the_page_shows_every_scrubbing_and_escapes(tmp_path):
    texts = {"raw": RAW} | {terms: scrub(RAW, ["Ann"], terms=terms) for terms in TERMS}
    rows = [("F", "yoga_teacher", version, text) for version, text in texts.items()]
    path = tmp_path / "examples.csv"
    pd.DataFrame(rows, columns=["gender", "profession", "version", "text"]).to_csv(path, index=False)
    tiny = scores(parts=["training"])
    page = figure2(run(tiny, files={"scrubbed_examples": {"bios": path}}), "Marked <words>.")
    assert "Marked &lt;words&gt;." in page and "a woman, yoga teacher" in page
    cells = [re.findall(r"<del>(.*?)</del>", html.unescape(cell)) for cell in re.findall(r"<td>(.*)</td>", page)]
    gendered = ["Ann", "her", "wife", "HE"]
    assert cells == [[], gendered[:2], ["Ann", "her", "HE"], gendered]
    with pytest.raises(BiasflowError, match="scrubbed_examples"):
        figure2(run(tiny), "")
