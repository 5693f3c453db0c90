"""Make the tables, figures and pages of a paper from one run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from biasflow.base.errors import BiasflowError, headline
from biasflow.base.files import whole_file
from biasflow.papers.frames import Run
from biasflow.papers.paper import PaperText, Target, load, role
from biasflow.papers.tabled import code_of
from biasflow.results.figures import save_figure
from biasflow.results.tables import write_table

NOTE = "note"  # in a table's attrs: what its caption says more in this run


def make_paper(name: str, run: Run, files: Mapping[str, Sequence[str | Path]], *, remark: str = "") -> None:
    """Write tables (CSV, LaTeX, HTML), figures (SVG, PDF) and pages (HTML) of a paper.

    files: role of a target (`paper.role`) -> the files to write, in the order of `PaperText.files`. What is made
    (`tabled.code_of`): TABLES and FIGURES, name -> function of the run that gives a DataFrame or a Figure, and PAGES,
    name -> function of the run and the caption that gives HTML. A table's `attrs["note"]` is added to its
    caption, and so is `remark` to the captions of all tables and pages. A target that fails does not keep the others
    from being written: one BiasflowError at the end names all that failed, and its cause holds their tracebacks.
    BiasflowError at once if targets.py and paper.yaml differ, or for an unknown target."""
    text = load(name)
    functions = _functions(text, code_of(text))
    known = {role(kind, target) for kind, targets in functions.items() for target in targets}
    for unknown in sorted(set(files) - known):
        raise BiasflowError(f"{name} has no table, figure or page {unknown!r}; it has {', '.join(sorted(known))}")
    failed = {}
    for kind, targets in functions.items():
        for target, function in targets.items():
            if role(kind, target) not in files:
                continue
            paths = list(map(Path, files[role(kind, target)]))
            about = getattr(text, kind)[target.removeprefix(f"{name}_")]
            try:
                _WRITERS[kind](function, run, paths, replace(about, caption=f"{about.caption} {remark}".strip()))
            except Exception as error:  # whatever is wrong with one target, the others are made
                failed[target] = error
    if failed:
        reasons = "; ".join(f"{target}: {headline(error)}" for target, error in failed.items())
        raise BiasflowError(f"{name}: these were not made: {reasons}") from ExceptionGroup(name, list(failed.values()))


def _functions(text: PaperText, module: SimpleNamespace) -> dict[str, dict[str, Callable]]:
    """kind -> target -> function, in the order of paper.yaml."""
    functions = {}
    for kind in _WRITERS:
        by_target, named = getattr(module, kind.upper(), {}), getattr(text, kind)
        for name in sorted(set(by_target) ^ set(named)):
            lacks = "paper.yaml has no caption" if name in by_target else "targets.py has no function"
            raise BiasflowError(f"{text.name}, {kind}: {lacks} for {name!r}")
        functions[kind] = dict(zip(text.targets(kind), (by_target[name] for name in named), strict=True))
    return functions


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
