"""The overview of a run as one self-contained page, as ten lines for the terminal, and as two pictures."""

import datetime
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import jinja2
from matplotlib.figure import Figure

from biasflow.base.files import write_text
from biasflow.base.shipped import shipped
from biasflow.overview.about import About
from biasflow.overview.beside import trained, verdicts
from biasflow.overview.calibrated import moved_in_words, stored
from biasflow.overview.contents import Contents, Model
from biasflow.overview.glossary import Glossary
from biasflow.overview.judgements import WEAK, brief, percent, printed
from biasflow.overview.maps import GROUPS, weak_head
from biasflow.overview.measured import counted
from biasflow.overview.pictures import beside_picture, bias_picture, inline, methods_picture, save_picture
from biasflow.results.figures import empty_figure
from biasflow.results.matrix import criticisms
from biasflow.results.page import ASSETS, meanings

PAGE = shipped("overview/page")
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader([PAGE, ASSETS]),
    autoescape=True,  # also in what a page imports, whatever its name ends in
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)
_TEMPLATES.filters |= {function.__name__: function for function in (brief, percent, printed, counted, weak_head)}
_TEMPLATES.filters["criticisms"] = criticisms
_TEMPLATES.filters["source"] = lambda measure: meanings("sources").get(measure, "")
_TEMPLATES.globals |= {"isnan": math.isnan, "groups": GROUPS, "moved": moved_in_words, "weak": WEAK}


def plain_text(template: str, **values: object) -> str:
    """A template of this folder that is no HTML, filled in."""
    return _TEMPLATES.overlay(autoescape=False).get_template(template).render(**values)


def write_page(
    contents: Contents,
    path: str | Path,
    *,
    about: Mapping[str, About],
    glossary: Glossary,
    run: str,
    commit: str,
    papers: Sequence[Mapping[str, object]],
    tables: Mapping[str, str],
    files: str,
    differing: Mapping[str, str] = MappingProxyType({}),
    ledger: Sequence[Mapping[str, str]],
    bases: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write the page, whole or not at all; nothing in it is fetched from elsewhere.

    about: what is known of each encoder; glossary: the words that the page explains; tables: name -> file beside the
    page of the run's own tables; files: a sentence on the external files, or ""; differing: those that are not as their
    publishers offer them, and what is said of the copy (`verified.differing`); papers: what the page says of each
    (`PaperText.on_page`); ledger: a row per paper of its summary
    (papers.ledger.summary), as texts, none without a paper that prints numbers; commit: of the code, or "" where it is
    not known; bases: encoder -> the one that it was trained from."""
    named = _named(contents, about, run)
    names = dict(zip(contents.encoders, named.encoders, strict=True))
    text = _TEMPLATES.get_template("page.html").render(
        contents=named,
        about={names.get(name, name): of for name, of in about.items()},
        names=names,
        glossary=glossary,
        run=run,
        commit=commit,
        date=datetime.date.today().isoformat(),
        papers=papers,
        tables=tables,
        files=files,
        differing=differing,
        ledger=ledger,
        picture=_inline,
        apart=_apart(named),
        trained=trained(named.beside, bases),
        of_all=inline(beside_picture(named.beside, [*named.encoders]), "How biased is each encoder?", "all-")
        if named.beside
        else "",
        agree=any((contents.agreement, contents.conflicts, contents.ranks)),
        calibrated_on=" and ".join(stored("calibration")["encoder"].unique()),
    )
    write_text(path, text)


def _inline(model: Model, kind: str, label: str, prefix: str) -> str:
    """A picture of a model ("biases", "methods") for the page; "" where there is nothing to draw."""
    figure = _picture(model, kind)
    return "" if figure is None else inline(figure, label, prefix)


def _named(contents: Contents, about: Mapping[str, About], run: str) -> Contents:
    """The contents with the name of its encoder's folder, or of the run, for its encoder, if it has one alone."""
    if len(contents.encoders) != 1:
        return contents
    name = about[next(iter(contents.encoders))].name or run
    models, sections = (
        [replace(one, title=one.title.replace(one.encoder, name, 1), encoder=name) for one in listed]
        for listed in (contents.models, contents.sections)
    )
    decided = [replace(one, encoder=name) for one in contents.decisions]
    return replace(contents, models=models, sections=sections, decisions=decided)


def _apart(named: Contents) -> list[tuple[str, str]]:
    """The verdicts on several encoders; none of one, or where no more were measured as they were pre-trained."""
    if named.beside:
        return verdicts(named.beside, [*named.encoders])
    measured = {model.encoder for model in named.models if model.pretrained and model.biases}
    why = "no measure could be compared, as none was read in the same way (head, pooling, test) from two of them"
    return [("more biased:", why)] if len(measured) > 1 else []


def _picture(model: Model, kind: str) -> Figure | None:
    """A picture of a model ("biases", "methods"); None where there is nothing to draw."""
    if not getattr(model, kind):
        return None
    if kind == "biases":
        return bias_picture(model.biases, model.planted)
    return methods_picture(model.methods, model.over, model.lowering)


def write_summary(
    contents: Contents,
    path: str | Path,
    *,
    about: Mapping[str, About],
    run: str,
    page: str,
    differing: Collection[str] = (),
    bases: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write the lines that the run ends with: what is biased, what a method does about it, and where to look.
    differing: the external files that are not their publishers'."""
    named = _named(contents, about, run)
    apart = _apart(named) + [
        (f"{one.name}, made from {one.base}:", one.in_short) for one in trained(named.beside, bases)
    ]
    write_text(path, plain_text("summary.txt", contents=named, apart=apart, run=run, page=page, differing=differing))


def write_pictures(contents: Contents, paths: Sequence[str]) -> None:
    """Write the two pictures of the first model: bias as SVG and PNG, methods as SVG and PNG."""
    for kind, place in (("biases", 0), ("methods", 2)):
        figure = _picture(contents.models[0], kind) if contents.models else None
        save_picture(figure or empty_figure("there is nothing to draw"), *paths[place : place + 2])
