"""Make the tables, figures and pages of a paper from one run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from biasflow.base.errors import BiasflowError, headline
from biasflow.base.files import whole_file
from biasflow.papers.frames import Run
from biasflow.papers.paper import KINDS, PaperText, Target, role
from biasflow.papers.tabled import function_of
from biasflow.results.figures import save_figure
from biasflow.results.tables import write_table

NOTE = "note"  # in a table's attrs: what its caption says more in this run


def make_paper(text: PaperText, run: Run, files: Mapping[str, Sequence[str | Path]], *, remark: str = "") -> None:
    """Write tables (CSV, LaTeX, HTML), figures (SVG, PDF) and pages (HTML) of a paper.

    files: role of a target (`paper.role`) -> the files to write, in the order of `PaperText.files`. A table's
    `attrs["note"]` is added to its caption, and so is `remark` to the captions of all tables and pages. A target that
    fails does not keep the others from being written: one BiasflowError at the end names all that failed, and its cause
    holds their tracebacks. BiasflowError at once for a function of paper.yaml that is not there, or for an unknown
    target."""
    name = text.name
    wanted = {role(kind, f"{name}_{target}"): (kind, target) for kind in KINDS for target in getattr(text, kind)}
    for unknown in sorted(set(files) - set(wanted)):
        raise BiasflowError(f"{name} has no table, figure or page {unknown!r}; it has {', '.join(sorted(wanted))}")
    makers, failed = functions(text), {}
    for target_role, (kind, target) in wanted.items():
        if target_role not in files:
            continue
        paths, about = list(map(Path, files[target_role])), getattr(text, kind)[target]
        about = replace(about, caption=f"{about.caption} {remark}".strip())
        try:
            _WRITERS[kind](makers[kind][target], run, paths, about)
        except Exception as error:  # whatever is wrong with one target, the others are made
            failed[f"{name}_{target}"] = error
    if failed:
        reasons = "; ".join(f"{target}: {headline(error)}" for target, error in failed.items())
        raise BiasflowError(f"{name}: these were not made: {reasons}") from ExceptionGroup(name, list(failed.values()))


def functions(text: PaperText) -> dict[str, dict[str, Callable]]:
    """kind -> target (without the paper's name) -> the function of the run that makes it."""
    return {kind: {name: function_of(text, about) for name, about in getattr(text, kind).items()} for kind in KINDS}


def _write_table(function: Callable, run: Run, paths: list[Path], target: Target) -> None:
    frame = function(run)
    caption = " ".join(filter(None, [target.caption, frame.attrs.get(NOTE, "")]))
    write_table(frame, *paths, caption=caption, decimals=target.decimals)


def _write_figure(function: Callable, run: Run, paths: list[Path], _: Target) -> None:
    save_figure(function(run), *paths)


def _write_page(function: Callable, run: Run, paths: list[Path], target: Target) -> None:
    page = function(run, target.caption)
    with whole_file(paths[0]) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")


_WRITERS: dict[str, Callable] = {"tables": _write_table, "figures": _write_figure, "pages": _write_page}
