"""The overview of a run as one self-contained page and as ten lines for the terminal."""

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jinja2

from biasflow.base.files import whole_file
from biasflow.base.shipped import shipped
from biasflow.overview.about import About
from biasflow.overview.answers import LISTED
from biasflow.overview.contents import Contents
from biasflow.overview.glossary import Glossary
from biasflow.overview.tradeoff import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from biasflow.results.page import ASSETS

PAGE = shipped("overview/page")
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader([PAGE, ASSETS]),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)


@dataclass(frozen=True)
class PaperLinks:
    """A paper of the run: title, citation, and (caption, file beside the page) of its tables, figures and pages; of
    figures that have nothing to draw: name -> why."""

    title: str
    citation: str
    files: Sequence[tuple[str, str]]
    not_drawn: Mapping[str, str] = field(default_factory=dict)


def write_page(
    contents: Contents,
    path: str | Path,
    *,
    about: Mapping[str, About],
    glossary: Glossary,
    run: str,
    commit: str,
    papers: Sequence[PaperLinks],
    tables: Mapping[str, str],
    files: str,
    ledger: Sequence[Mapping[str, str]],
) -> None:
    """Write the page, whole or not at all; nothing in it is fetched from elsewhere.

    about: what is known of each encoder; glossary: the words that the page explains; tables: name -> file beside the
    page of the run's own tables; files: a sentence on the external files, or ""; ledger: a row per paper of its summary
    (papers.ledger.summary), as texts, none without a paper that prints numbers; commit: of the code, or "" where it is
    not known."""
    text = _TEMPLATES.get_template("page.html").render(
        contents=contents,
        about=about,
        glossary=glossary,
        run=run,
        commit=commit,
        date=datetime.date.today().isoformat(),
        papers=papers,
        tables=tables,
        files=files,
        data=re.sub(r" \(sha256 [^)]*\)", "", files),  # in one line on top; which copies these are stands below
        ledger=ledger,
        listed=LISTED,
        drawing={"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM},
    )
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_summary(contents: Contents, path: str | Path, *, run: str, page: str) -> None:
    """Write the lines that the run ends with: what differs from neutral, the best viable method, and where to look."""
    lines = [f"run {run}", *contents.summary, f"overview: {page}"]
    with whole_file(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
