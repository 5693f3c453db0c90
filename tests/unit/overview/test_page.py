"""The page as a file: whole, self-contained, with everything in it that needs no script."""

import itertools
import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from biasflow.overview.about import Copy, copies

_VOID = {"meta", "link", "br", "input", "path", "line"}


class Elements(HTMLParser):
    """All elements (tag, attributes) in order; an error where tags do not match."""

    def __init__(self):
        super().__init__()
        self.found, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def elements(page):
    parser = Elements()
    parser.feed(page.read_text("utf-8"))
    assert not parser.open
    return parser.found


def test_nothing_is_fetched(page, elements):
    addresses = [value for _, about in elements for key, value in about.items() if key in ("src", "href")]
    assert addresses and not [each for each in addresses if re.match(r"(https?:)?//", each)]
    assert not [tag for tag, about in elements if tag == "script" and "src" in about]
    assert "@import" not in page.read_text("utf-8") and page.stat().st_size < 1_000_000


def test_names_and_reasons_are_text(page):
    text = page.read_text("utf-8")
    assert "&lt;small&gt;" in text and "no &lt;data&gt; &amp; such" in text


def test_headings_tables_and_pictures_can_be_read_aloud(elements):
    levels = [int(tag[1]) for tag, _ in elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert all(about.get("scope") for tag, about in elements if tag == "th")
    assert all(about.get("aria-label") for tag, about in elements if about.get("role") == "img")
    regions = [about for tag, about in elements if "scroll" in about.get("class", "").split()]
    assert regions and all(about.get("tabindex") == "0" and about.get("aria-label") for about in regions)
    identities = [about["id"] for _, about in elements if "id" in about]
    assert len(identities) == len(set(identities))
    inner = [about["href"][1:] for tag, about in elements if tag == "a" and about["href"].startswith("#")]
    assert inner and set(inner) <= set(identities)


def test_summary_has_at_most_twelve_lines_and_ends_with_the_place(page):
    lines = (page.parent / "summary.txt").read_text("utf-8").splitlines()
    assert len(lines) <= 12 and lines[0] == "run small" and lines[-1].endswith("results/small/index.html")


def test_a_copy_takes_methods_of_the_last_layer_and_changes_what_there_is():
    rows = [
        ("hard", "places", "all"),
        ("leace", "places", "last"),
        ("both", "places", "last"),
        ("both", "places", "all"),
    ]
    names = pd.DataFrame(rows, columns=["name", "attribute", "value"]).assign(kind="method")
    parts = {"none": ("no", "ours", ""), "head": ("yes", "no", ""), "sentence": ("no", "no", "mean pooling")}
    encoders = pd.DataFrame(parts, ["masked_lm_head", "next_sentence_head", "sentence_vector"]).T
    found = copies(names, encoders.rename_axis("encoder").reset_index())
    expected = {"none": "", "head": "heads", "sentence": "sentence vectors"}
    assert found == {name: Copy({"leace"}, part) for name, part in expected.items()}
