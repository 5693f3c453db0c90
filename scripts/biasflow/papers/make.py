"""Writes the tables, figures and pages of a paper from one run, as its paper.yaml says."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError, headline
from biasflow.base.files import write_text
from biasflow.base.tabular import as_written
from biasflow.papers.frames import NOT_RUN, Run
from biasflow.papers.paper import PaperText, Target
from biasflow.papers.rows import NOTE, as_printed, function_of, in_print, same_encoders, sampled
from biasflow.results.figures import save_figure
from biasflow.results.page import first_sentence
from biasflow.results.scores import NA, NONE
from biasflow.results.tables import readable, write_table
from biasflow.tasks.classification.labels import dropped

LETTERS, LINE = 15, 0.16  # of a figure's title: letters in an inch; inches
CLASSIFIED = {"snli", "nli", "occupation", "coreference", "glue"}  # what printed numbers of fine-tuned models are of
NEAR, LEVEL = 0.05, 0.05  # of accuracy above the largest class; of its test
_LEARNT = ["accuracy", "validation_accuracy", "majority_share", "majority_p"]


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
        head, about = _head(run, text, target), [remark, _namesakes(text, run)]
        try:
            _WRITERS[target.kind](makers[role], run, paths, target, head, about)
            if target.as_printed:
                frame = as_printed(numbers(), text, target)
                first, rest = first_sentence(frame.attrs[NOTE])
                own = target.as_printed.get("caption") or first_sentence(target.caption)[0]
                said = _caption(head, first, *([own] if isinstance(own, str) else own), rest, *about)
                in_words = {column: column for column in frame.columns[1:]}
                write_table(frame, *paths[-3:], caption=said, headers=in_words)
        except Exception as error:  # whatever is wrong with one target, the others are made
            failed[target.name] = error
    if failed:
        reasons = "; ".join(f"{target}: {headline(error)}" for target, error in failed.items())
        raise BiasflowError(f"{name}: these were not made: {reasons}") from ExceptionGroup(name, list(failed.values()))


def _caption(head: str, *said: str) -> str:
    """Sentences, of which the first stands behind what a caption begins with."""
    return f"{head[:1].upper()}{head[1:]}: " * bool(head) + " ".join(filter(None, said))


def _write_table(function: Callable, run: Run, paths: list[Path], target: Target, head: str, about: list[str]) -> None:
    frame = function(run)
    head = "; ".join(filter(None, [head, *lacking(frame)]))
    caption = _caption(head, target.caption, *about, frame.attrs.get(NOTE, ""))
    write_table(frame, *paths[:3], caption=caption, decimals=target.decimals)


def lacking(frame: pd.DataFrame) -> list[str]:
    """In how many rows of a table values of ours are missing, by each of its columns of a status, with the commonest
    reason."""
    states = {readable(name).lower(): frame[name].astype(str) for name in frame if name.endswith("status")}
    absent = {name: state[state.str.startswith(NOT_RUN)] for name, state in states.items()}
    return [
        f"{len(rows)} of {len(frame)} rows lack values of ours ({name}: {_commonest(rows)})"
        for name, rows in absent.items()
        if len(rows)
    ]


def _commonest(states: pd.Series) -> str:
    """The commonest of the reasons, and in how many rows it is if there are others."""
    counts = states.str.removeprefix(NOT_RUN).value_counts()
    return counts.index[0] + f", in {counts.iloc[0]}" * (len(counts) > 1)


def _write_figure(function: Callable, run: Run, paths: list[Path], target: Target, head: str, _: list[str]) -> None:
    """Above a figure stand its name and what it shows; which folders encoders are, what captions begin with, and what
    the figure itself says of the run."""
    figure, folders = function(run), run.attributes("encoder", "path")
    said = [f"{name} is {Path(folders[name]).name}" for name in run.options.get("encoders", ()) if name in folders]
    said = "; ".join(filter(None, [*said, head, figure.get_suptitle()]))
    lines = [f"{target.name}: {first_sentence(target.caption)[0]}", *([f"In this run: {said}"] if said else [])]
    title = "\n".join(textwrap.fill(line, int(LETTERS * figure.get_figwidth())) for line in lines)
    figure.set_figheight(figure.get_figheight() + LINE * (title.count("\n") + 1))
    figure.suptitle(title, x=0.01, ha="left", fontsize="small")
    save_figure(figure, *paths)


def _write_page(function: Callable, run: Run, paths: list[Path], target: Target, head: str, about: list[str]) -> None:
    write_text(paths[0], function(run, _caption(head, target.caption, *about)))


_WRITERS: dict[str, Callable] = {"tables": _write_table, "figures": _write_figure, "pages": _write_page}


def _head(run: Run, text: PaperText, target: Target) -> str:
    """What a caption begins with, by the data that the printed numbers of the target are of, or all: of what a sample
    was read, for how many epochs models were fine-tuned, which labels a sample is too small for, and which models are
    near chance."""
    is_of = " ".join(run.printed.loc[run.printed["table"] == target.printed_in, "of"]) if target.printed_in else ""
    of_classifiers = not CLASSIFIED.isdisjoint(is_of.split())
    near, sample = near_chance(run) if of_classifiers else "", run.options.get("sample")
    names = sampled(run, text, is_of) if target.printed_in else run.samples()
    said = [f"of {', '.join(names)} a sample of {sample} items (key limit)"] if names else []
    if sample and (of_classifiers or not target.printed_in):
        epochs = run.options.get("epochs")
        tables = (as_written(pd.read_csv(path)) for path in run.files.get("professions", {}).values())
        said += [f"models are fine-tuned for {epochs} epoch{'s' * (epochs > 1)}"] if epochs else []
        said += filter(None, map(dropped, tables))
    return "; ".join(filter(None, [said and f"a quick look, {'; '.join(said)}", near]))


def near_chance(run: Run) -> str:
    """Of how many fine-tuned models of each task the accuracy is less than NEAR above the share of the largest class,
    or not shown to be above it; "" for none."""
    scores = run.scores[run.scores["metric"].isin(_LEARNT) & (run.scores["method"] == NONE)]
    scores = scores[(scores["task"] != NA) & (scores["head"] != "retrained")]
    models = ["task", "encoder", "strategy", "seed"]
    table = scores.pivot_table(index=[*models, "dataset"], columns="metric", values="value").reindex(columns=_LEARNT)
    table = table.dropna(subset="majority_share").sort_values("validation_accuracy").reset_index()
    table = table.drop_duplicates(models)  # what the training says comes before what a test does
    table["reached"] = table["validation_accuracy"].fillna(table["accuracy"])
    near = table[(table["reached"] - table["majority_share"] < NEAR) | (table["majority_p"] > LEVEL)]
    said = []
    for task, of_task in near.groupby("task"):
        ends = dict.fromkeys(f"{end:.2f}" for end in of_task["reached"].dropna().agg(["min", "max"]).dropna())
        reached = f", they reach {' to '.join(ends)}" * bool(ends)
        largest = f"the largest class is {of_task['majority_share'].mean():.2f}{reached}"
        said.append(f"{len(of_task)} of {(table['task'] == task).sum()} models of {task} ({largest})")
    return f"near chance are {', '.join(said)}, whose scores say little" if said else ""


def _namesakes(text: PaperText, run: Run) -> str:
    """What captions say of the encoders of the run that are called like a printed one, and are not it."""
    return " ".join(
        f"{name} of this run is not the printed one: that is {about['id']} of the hub at revision {about['revision']}."
        for name, about in text.encoders.items()
        if run.attributes("encoder", "source").get(name) in ("hub", "local")
        and name not in same_encoders(text, run)[name]
    )
