"""Writes the tables, figures and pages of a paper from one run, as its paper.yaml says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError, headline
from biasflow.base.files import write_text
from biasflow.base.tabular import as_written
from biasflow.papers.frames import Run
from biasflow.papers.paper import PaperText, Target
from biasflow.papers.rows import NOTE, as_printed, function_of, in_print, same_encoders
from biasflow.results.figures import save_figure
from biasflow.results.page import first_sentence
from biasflow.results.tables import write_table
from biasflow.tasks.classification.labels import dropped


def make_paper(text: PaperText, run: Run, files: Mapping[str, Sequence[str | Path]], *, remark: str = "") -> None:
    """Write tables (CSV, LaTeX, HTML), figures (SVG, PDF) and pages (HTML) of a paper.

    files: role of a target -> the files to write, in the order of `Target.files`. A table's
    `attrs["note"]` is added to its caption, and so is `remark` to the captions of all tables and pages. A target that
    fails does not keep the others from being written: one BiasflowError at the end names all that failed, and its cause
    holds their tracebacks. BiasflowError at once for a function of paper.yaml that is not there, or for an unknown
    target."""
    name, wanted = text.name, {target.role: target for target in text.targets}
    for unknown in sorted(set(files) - set(wanted)):
        raise BiasflowError(f"{name} has no table, figure or page {unknown!r}; it has {', '.join(sorted(wanted))}")
    makers, failed = {role: function_of(text, target) for role, target in wanted.items()}, {}
    numbers = cache(lambda: in_print(run, text))
    for role in filter(files.__contains__, wanted):
        target, paths = wanted[role], list(map(Path, files[role]))
        sample, about = _sample(run), [remark, _namesakes(text, run)]
        caption = " ".join(filter(None, [sample and f"{sample}:", target.caption, *about]))
        try:
            _WRITERS[target.kind](makers[role], run, paths, replace(target, caption=caption))
            if target.as_printed:
                frame = as_printed(numbers(), text, target)
                first, rest = first_sentence(frame.attrs[NOTE])
                own = target.as_printed.get("caption") or first_sentence(target.caption)[0]
                what = [own] if isinstance(own, str) else own
                first = f"{sample}: {first[0].lower()}{first[1:]}" if sample else first
                said = " ".join(filter(None, [first, *what, rest, *about]))
                in_words = {column: column for column in frame.columns[1:]}
                write_table(frame, *paths[-3:], caption=said, headers=in_words)
        except Exception as error:  # whatever is wrong with one target, the others are made
            failed[target.name] = error
    if failed:
        reasons = "; ".join(f"{target}: {headline(error)}" for target, error in failed.items())
        raise BiasflowError(f"{name}: these were not made: {reasons}") from ExceptionGroup(name, list(failed.values()))


def _write_table(function: Callable, run: Run, paths: list[Path], target: Target) -> None:
    frame = function(run)
    caption = " ".join(filter(None, [target.caption, frame.attrs.get(NOTE, "")]))
    write_table(frame, *paths[:3], caption=caption, decimals=target.decimals)


def _write_figure(function: Callable, run: Run, paths: list[Path], _: Target) -> None:
    """Above a figure stands what its caption alone would say: which folders encoders are, and that it is a sample."""
    figure, folders = function(run), run.attributes("encoder", "path")
    said = [f"{name} is {Path(folders[name]).name}" for name in run.options.get("encoders", ()) if name in folders]
    said += ["a quick look, not all items"] * bool(run.options.get("sample"))
    if said:
        figure.suptitle(f"In this run {'; '.join(said)}", x=0.01, ha="left", fontsize="small")
    save_figure(figure, *paths)


_WRITERS: dict[str, Callable] = {
    "tables": _write_table,
    "figures": _write_figure,
    "pages": lambda function, run, paths, target: write_text(paths[0], function(run, target.caption)),
}


def _sample(run: Run) -> str:
    """What captions begin with in a run with a `limit`: how much was read, for how many epochs models were fine-tuned,
    and which labels it is too small for."""
    if not (sample := run.options.get("sample")):
        return ""
    tables = (as_written(pd.read_csv(path)) for path in run.files.get("professions", {}).values())
    epochs = run.options.get("epochs")
    said = [f"of every test and task with more than {sample} items (key limit) a sample"]
    said += [f"models are fine-tuned for {epochs} epoch{'s' * (epochs > 1)}"] if epochs else []
    said += filter(None, map(dropped, tables))
    return f"A quick look, {'; '.join(said)}"


def _namesakes(text: PaperText, run: Run) -> str:
    """What captions say of the encoders of the run that are called like a printed one, and are not it."""
    return " ".join(
        f"{name} of this run is not the printed one: that is {about['id']} of the hub at revision {about['revision']}."
        for name, about in text.encoders.items()
        if run.attributes("encoder", "source").get(name) in ("hub", "local")
        and name not in same_encoders(text, run)[name]
    )
