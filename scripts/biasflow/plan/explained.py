"""What `biasflow explain` prints about a cell or a file: its cells, the jobs that make it, in order, and why a cell
cannot be measured. It uses the plan alone, so that it answers before anything was run."""

import difflib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from biasflow.base.errors import BiasflowError, nearest
from biasflow.base.paths import is_corpus_file
from biasflow.base.records import RESULTS
from biasflow.matrix import NA, PRETRAINED, RUN, Cell
from biasflow.plan.compiled import Prepared
from biasflow.plan.jobs import Jobs, ScoringJob
from biasflow.registry import METRICS

MOST_CELLS, MOST_FILES = 20, 4  # that are shown
SUFFIXES = (".csv", ".html", ".tex", ".pdf", ".png", ".txt")  # of the files of a run that a user opens


def explained(prepared: Prepared, words: Sequence[str]) -> Iterator[str]:
    """Lines about a file of the run (one word: a path, or what comes after results/<run>/) or about the cells that all
    words name: encoder, task, strategy, seed, method, metric or measure, dataset, block. BiasflowError, with the
    nearest name, for what the plan lacks."""
    if len(words) == 1 and words[0].startswith(("/", ".", f"{RESULTS}/")):
        yield from _of_file(prepared, os.path.relpath(words[0]))
    elif len(words) == 1 and words[0].endswith(SUFFIXES):
        yield from _of_file(prepared, f"{prepared.setup.paths.root}/{words[0]}")
    else:
        yield from _of_cells(prepared, words)


def _of_cells(prepared: Prepared, words: Sequence[str]) -> Iterator[str]:
    cells = prepared.plan.cells
    for word in words:
        if not any(word in _names(cell) for cell in cells):
            known = sorted({name for cell in cells for name in _names(cell)} - {NA})
            paths, why = prepared.setup.paths, nearest(word, known)
            if word in METRICS:
                why = "it is a metric that no block of ask names"
            elif word == paths.run:
                why = f"it is the run itself; name a file ({paths.root}/scores.csv), or a cell ({cells[0].metric})"
            run = f"the run {paths.run!r} (another: --configfile FILE)"
            raise BiasflowError(f"explain: no cell of {run} is named {word!r}; {why}")
    matching = [cell for cell in cells if set(words) <= _names(cell)]
    if not matching:
        raise BiasflowError(f"explain: no cell of the plan is named {' and '.join(words)} at once; leave a word out")
    yield from _listed(matching)
    jobs = (_scoring_job(cell) for cell in matching if cell.status == RUN)
    yield from _chain(prepared.jobs, dict.fromkeys(prepared.setup.paths.scores(*job) for job in jobs))


def _scoring_job(cell: Cell) -> ScoringJob:
    return ScoringJob(cell.model.encoder, cell.model.training, cell.part)


def _of_file(prepared: Prepared, path: str) -> Iterator[str]:
    paths, jobs = prepared.setup.paths, prepared.jobs
    output = jobs.output_of(path)
    if output is None:
        if not path.startswith(f"{paths.root}/") and not is_corpus_file(path):
            raise BiasflowError(
                f"explain: {path} is not of the run {paths.run!r} that the configuration plans; name a file in "
                f"{paths.root}, or with --configfile the configuration of another run"
            )
        close = difflib.get_close_matches(path, jobs.outputs, n=1)
        meant = f"did you mean {close[0]}? " if close else ""
        raise BiasflowError(
            f"explain: no job that prepares, trains, fits, reads, scores or prints makes {path}; {meant}`snakemake -n "
            f"{path}` knows all other files"
        )
    made_from = jobs.upstream(output)
    scores = [job for job in jobs if job.rule == "score"]
    scores = [job for job in scores if job in made_from or made_from[-1] in jobs.upstream(job.outputs[0])]
    names = {ScoringJob(*job.wildcards) for job in scores}
    yield from _listed([cell for cell in prepared.plan.cells if _scoring_job(cell) in names])
    yield from _chain(jobs, [output])


def _listed(cells: Sequence[Cell]) -> Iterator[str]:
    if not cells:
        return
    running = sum(cell.status == RUN for cell in cells)
    yield f"{len(cells)} cell{'s' * (len(cells) != 1)} of the plan, of which {running} run"
    for cell in sorted(cells, key=lambda cell: cell.status == RUN)[:MOST_CELLS]:
        model = " ".join(part for part in (cell.model.encoder, cell.model.training) if part != PRETRAINED)
        why = f"not run: {cell.reason}" if cell.reason else cell.status + (f" ({cell.note})" if cell.note else "")
        yield f"  {cell.block}: {model}, {cell.method}, {cell.metric} on {cell.dataset}: {why}"
    if len(cells) > MOST_CELLS:
        yield f"  and {len(cells) - MOST_CELLS} more; results/<run>/plan.csv lists all"


def _names(cell: Cell) -> set[str]:
    """What a cell can be asked for by."""
    model = cell.model
    names = {cell.block, cell.method, cell.metric, cell.dataset, model.encoder, model.task, model.strategy, model.seed}
    return names | {model.training} | set(METRICS[cell.metric].measures)


def _chain(jobs: Jobs, outputs: Iterable[str]) -> Iterator[str]:
    """The jobs that make outputs, each after those that it waits for."""
    asked = list(outputs)
    for job in jobs.upstream(*asked):
        output = next((output for output in job.outputs if output in asked), job.outputs[0])
        yield f"{job.rule}: {output} ({'is there' if Path(output).exists() else 'is not there yet'})"
        shown = _by_folder(dict.fromkeys(jobs.output_of(file) or file for file in job.files))
        yield from (f"  waits for {file}" for file in shown[:MOST_FILES])
        if len(shown) > MOST_FILES:
            yield f"  and for {len(shown) - MOST_FILES} more"


def _by_folder(files: Iterable[str]) -> list[str]:
    """Files, those of a folder that has three or more of them by its name."""
    folders = {file: str(Path(file).parent) for file in files}
    counts = Counter(folders.values())
    names = {file: f"{name}/ ({counts[name]} files)" for file, name in folders.items() if counts[name] > 2}
    return list(dict.fromkeys(names.get(file, file) for file in files))
