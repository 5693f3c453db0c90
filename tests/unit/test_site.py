"""The documentation site: built without a warning, complete, and read without a network."""

import os
import re
import subprocess
import sys
from html import escape
from pathlib import Path
from urllib.parse import unquote

import pytest

from biasflow.plan import choices
from biasflow.registry import ERASERS, METRICS, STRATEGIES

ROOT = Path(__file__).parents[2]
RESOURCE = re.compile(
    r"<(?:script|link|img|iframe|source|video)\b[^>]*?\b(?:src|href)=[\"']?((?:https?:)?//[^\"'\s>]+)"
)
AS_ABOVE = ("tasks.<name>.(nli) selections.", "papers.planted.encoder.", "papers.planted.tasks.")  # are shown once
pytest.importorskip("mkdocs", reason="mkdocs is not installed; `make docs` installs it")
pytest.importorskip("material", reason="mkdocs-material is not installed; `make docs` installs it")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    ran = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


def outside(html: str) -> list[str]:
    """The resources that a browser would load from elsewhere; links that a reader may follow are not among them."""
    return RESOURCE.findall(html)


def test_pages_load_nothing_from_a_network(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 15
    assert {page.name: found for page in pages if (found := outside(page.read_text(encoding="utf-8")))} == {}
    styles = [page.read_text(encoding="utf-8") for page in site.rglob("*.css")]
    assert [
        found for style in styles for found in re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^)\"']+)", style)
    ] == []


def test_a_resource_of_a_network_is_seen():
    assert outside('<link rel="stylesheet" href="https://fonts.example/css">') == ["https://fonts.example/css"]
    assert outside('<a href="https://example.org/">read</a><img src="picture.svg">') == []


def test_every_link_of_the_site_leads_to_a_page_and_a_place_in_it(site):
    pages = {
        page.resolve(): page.read_text(encoding="utf-8") for page in site.rglob("*.html") if page.name != "404.html"
    }
    broken = []
    for page, html in pages.items():
        for target, anchor in re.findall(r'<a\b[^>]*? href="?([^":#>\s]*)(#[^">\s]+)?["\s>]', html):
            to = (page.parent / target).resolve() if target else page
            if not to.exists() or (anchor and f'id="{unquote(anchor[1:])}"' not in pages[to]):
                broken.append((page.name, target + anchor))
    assert len(pages) > 15 and broken == []


def test_links_to_the_code_lead_to_the_generated_pages(site):
    html = {name: (site / name).read_text(encoding="utf-8") for name in ("howto/encoder.html", "concepts/words.html")}
    assert 'href="../reference/keys.html#encoders"' in html["howto/encoder.html"]
    assert [
        name for name in ("measures", "methods") if f"../reference/{name}.html" not in html["concepts/words.html"]
    ] == []


def test_words_are_linked_to_their_definitions(site):
    defined = re.findall(r'id="(word-[\w-]+)"', (site / "concepts/words.html").read_text(encoding="utf-8"))
    assert {"word-encoder", "word-score", "word-confidence-interval"} <= set(defined)
    linked = re.findall(
        r'class="word" href="concepts/words.html#([\w-]+)"', (site / "index.html").read_text(encoding="utf-8")
    )
    assert set(linked) <= set(defined) and len(linked) == len(set(linked)) > 5


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("measures", [name for entry in METRICS.values() for name in entry.measures]),
        ("methods", [*ERASERS, *STRATEGIES]),
        ("keys", [escape(name) for name, _ in choices.keys(None) if not name.startswith(AS_ABOVE)]),
        ("commands", ["biasflow list", "biasflow check", "biasflow export"]),
        ("functions", ["biasflow.fit", "biasflow.edit"]),
    ],
)
def test_the_reference_has_every_name(site, page, names):
    html = (site / f"reference/{page}.html").read_text(encoding="utf-8")
    assert [name for name in names if f"<code>{name}</code>" not in html] == []
