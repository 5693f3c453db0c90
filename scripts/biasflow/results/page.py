"""What the pages of a run share: the frame of every page but its overview (title, style, and the way back to it),
captions, and what the entries of the registry mean. Imports no pandas: the workflow is planned with it."""

import re
from collections.abc import Mapping
from functools import cache

import jinja2
import yaml

from biasflow.base.files import read_text
from biasflow.base.shipped import shipped
from biasflow.registry import ERASERS, METRICS

ASSETS = shipped("results/assets")  # style and scripts, which pages include
PAGES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(ASSETS), autoescape=True, trim_blocks=True, lstrip_blocks=True
)


def first_sentence(caption: str) -> tuple[str, str]:
    """The first sentence of a caption, with its full stop, and what follows. "et al. " ends no sentence."""
    first, *rest = re.split(r"(?<!\bet al)\. ", caption, maxsplit=1)
    return first.removesuffix(".") + "." if first else "", "".join(rest)


def shown_in_report(name: str, caption: str) -> dict[str, str]:
    """What the list of a report says of a table or figure: its name, and the first sentence of its caption."""
    return {"name": name, "shows": first_sentence(caption)[0]}


@cache
def meanings(kind: str) -> Mapping[str, str]:
    """Name -> meaning, in words that follow the name and a colon. kind: "measures" or "erasers" of the registry, or a
    part of data/meanings.yaml, such as "places"."""
    if kind == "erasers":
        return {name: entry.meaning for name, entry in ERASERS.items()}
    if kind == "measures":
        return {name: measure.meaning for entry in METRICS.values() for name, measure in entry.measures.items()}
    return yaml.safe_load(read_text(shipped("data/meanings.yaml")))[kind]
