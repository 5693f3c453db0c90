"""What `biasflow explain` prints about a cell or a file: its cells, the jobs that make it, in order, and why a cell
cannot be measured. It uses the plan alone, so that it answers before anything was run."""

import difflib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from biasflow.asking.matrix import NA, PART, PRETRAINED, RUN, Cell, Model
from biasflow.asking.paths import is_corpus_file
from biasflow.base.errors import BiasflowError, nearest
from biasflow.base.records import RESULTS
from biasflow.papers.paper import load
from biasflow.plan.inputs import Inputs
from biasflow.plan.jobs import ScoringJob
from biasflow.plan.prepared import Prepared
from biasflow.registry import METRICS, rule_of

RULES_OF_ENCODERS = {"hub": "download_encoder", "pretrain": "pretrain", "continued": "continue_encoder"}
MOST_CELLS, MOST_FILES = 20, 4  # that are shown
KINDS = ("tables", "figures", "pages")  # of a paper's targets
SUFFIXES = (".csv", ".html", ".tex", ".pdf", ".png", ".txt")  # of the files of a run that a user opens


@dataclass(frozen=True)
class Job:
    """A job of the plan. output: its file or folder (of several the first); inputs: the files that it waits for;
    beside: its other files."""

    rule: str
    output: str
    inputs: tuple[str, ...]
    beside: tuple[str, ...] = ()


def explained(prepared: Prepared, words: Sequence[str]) -> Iterator[str]:
    """Lines about a file of the run (one word: a path, or what comes after results/<run>/) or about the cells that all
    words name: encoder, task, strategy, seed, method, metric or measure, dataset, block. BiasflowError, with the
    nearest name, for what the plan lacks."""
    if len(words) == 1 and words[0].startswith(("/", ".", f"{RESULTS}/")):
        yield from _of_file(prepared, os.path.relpath(words[0]))
    elif len(words) == 1 and words[0].endswith(SUFFIXES):
        yield from _of_file(prepared, f"{prepared.find.paths.root}/{words[0]}")
    else:
        yield from _of_cells(prepared, words)


def _of_cells(prepared: Prepared, words: Sequence[str]) -> Iterator[str]:
    cells = prepared.plan.cells
    for word in words:
        if not any(word in _names(cell) for cell in cells):
            known = sorted({name for cell in cells for name in _names(cell)} - {NA})
            why = "it is a metric that no block of ask names" if word in METRICS else nearest(word, known)
            raise BiasflowError(f"explain: no cell of the plan is named {word!r}; {why}")
    matching = [cell for cell in cells if set(words) <= _names(cell)]
    if not matching:
        raise BiasflowError(f"explain: no cell of the plan is named {' and '.join(words)} at once; leave a word out")
    yield from _listed(matching)
    places = dict.fromkeys(_place(prepared, cell) for cell in matching if cell.status == RUN)
    yield from _chain(_by_file(prepared), filter(None, places))


def _place(prepared: Prepared, cell: Cell) -> str:
    """The scores of a cell; those of a block that was added to are in several files, of which it is in one."""
    for job, scores in prepared.plan.scored.items():
        if _is_of(cell, job) and any(cell.metric == s.metric and cell.method in s.methods for s in scores):
            return prepared.find.paths.scores(*job)
    return ""


def _of_file(prepared: Prepared, path: str) -> Iterator[str]:
    paths, jobs = prepared.find.paths, _by_file(prepared)
    output = _maker(jobs, path)
    if output is None:
        if not path.startswith(f"{paths.root}/") and not is_corpus_file(path):
            raise BiasflowError(
                f"explain: {path} is not of the run {paths.run!r} that the configuration plans; name a file in "
                f"{paths.root}, or with --configfile the configuration of another run"
            )
        close = difflib.get_close_matches(path, jobs, n=1)
        meant = f"did you mean {close[0]}? " if close else ""
        raise BiasflowError(
            f"explain: no job that trains, fits, reads, scores or prints makes {path}; {meant}`snakemake -n "
            f"{path}` knows all other files"
        )
    made_from = set(_upstream(jobs, [output]))
    scored = {job: paths.scores(*job) for job in prepared.plan.scored}
    of_file = [job for job, file in scored.items() if file in made_from or output in _upstream(jobs, [file])]
    yield from _listed([cell for cell in prepared.plan.cells if any(_is_of(cell, job) for job in of_file)])
    yield from _chain(jobs, [output])


def _is_of(cell: Cell, job: ScoringJob) -> bool:
    """Whether a cell is of this encoder, training and block, or of what was added to the block."""
    asked = job._replace(block=job.block.partition(PART)[0])
    return (cell.model.encoder, cell.model.training, cell.block) == asked


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


def _chain(jobs: Mapping[str, Job], outputs: Iterable[str]) -> Iterator[str]:
    """The jobs that make files, each after those that it waits for."""
    for output in _upstream(jobs, outputs):
        yield f"{jobs[output].rule}: {output} ({'is there' if Path(output).exists() else 'is not there yet'})"
        shown = _by_folder(dict.fromkeys(_maker(jobs, file) or file for file in jobs[output].inputs))
        yield from (f"  waits for {file}" for file in shown[:MOST_FILES])
        if len(shown) > MOST_FILES:
            yield f"  and for {len(shown) - MOST_FILES} more"


def _by_folder(files: Iterable[str]) -> list[str]:
    """Files, those of a folder that has three or more of them by its name."""
    folders = Counter(str(Path(file).parent) for file in files)
    names = {file: str(Path(file).parent) for file in files if folders[str(Path(file).parent)] > 2}
    return list(
        dict.fromkeys(f"{names[file]}/ ({folders[names[file]]} files)" if file in names else file for file in files)
    )


def _maker(jobs: Mapping[str, Job], file: str) -> str | None:
    """The output that a file is, lies in, or is made beside."""
    return next((jobs[str(path)].output for path in (Path(file), *Path(file).parents) if str(path) in jobs), None)


def _upstream(jobs: Mapping[str, Job], outputs: Iterable[str]) -> list[str]:
    """Outputs, each after those of the jobs that its own waits for, directly or not."""
    ordered: dict[str, None] = {}

    def visit(output: str) -> None:
        if output not in ordered:
            for above in dict.fromkeys(filter(None, (_maker(jobs, file) for file in jobs[output].inputs))):
                if above != output:
                    visit(above)
            ordered[output] = None

    for output in outputs:
        visit(output)
    return list(ordered)


def _by_file(prepared: Prepared) -> dict[str, Job]:
    return {file: job for job in jobs_of(prepared) for file in (job.output, *job.beside)}


def jobs_of(prepared: Prepared) -> list[Job]:
    """The jobs of the plan that make, train, fit, read and score encoders, those of papers, and those of the page and
    its tables; not those that prepare texts and data."""
    return [
        *_of_encoders(prepared),
        *_of_models(prepared),
        *_of_readings(prepared),
        *_of_scores(prepared),
        *_of_papers(prepared),
        *_of_page(prepared),
    ]


def _of_encoders(prepared: Prepared) -> Iterator[Job]:
    find = prepared.find
    for name, encoder in prepared.setup.encoders.items():
        if encoder.source in RULES_OF_ENCODERS:
            inputs = find.encoders.continued_from(name) if encoder.continues else {}
            texts = find.encoders.pretraining_texts(name)
            yield Job(RULES_OF_ENCODERS[encoder.source], find.paths.encoder(name), _files([inputs, texts]))


def _of_models(prepared: Prepared) -> Iterator[Job]:
    find, plan = prepared.find, prepared.plan
    for (encoder, training), model in plan.trained.items():
        rule = f"finetune_{prepared.setup.task(model.task).about['kind']}"
        yield Job(rule, find.paths.model(encoder, training), _files(training_files(find, model)))
    for job in plan.fits:
        yield Job("fit_methods", find.paths.methods(*job), _files(find.fits.model_and_data(job)))


def training_files(find: Inputs, model: Model) -> dict[str, object]:
    """What a fine-tuning waits for, by role: the encoder, the task's data and what its method is fitted to."""
    task = find.setup.task(model.task)
    data = task.files(task.kind.trained_on)
    return {"encoder": find.encoders.files(model.encoder), **data, **find.trainings.method_files(model)}


def _of_readings(prepared: Prepared) -> Iterator[Job]:
    find = prepared.find
    for job in dict.fromkeys(key.job for key in prepared.plan.readings):
        external = prepared.setup.encoders[job.encoder].is_external
        inputs = (
            find.readings.given_files_and_data([job]) if external else find.readings.model_and_data(job.readout)(job)
        )
        rule = f"external_{job.readout}_{job.block}" if external else rule_of(job.readout)
        yield Job(rule, find.paths.readout(*job), _files(inputs))


def _of_scores(prepared: Prepared) -> Iterator[Job]:
    find = prepared.find
    for job in prepared.plan.scored:
        yield Job("score", find.paths.scores(*job), _files(find.scores.readouts_and_data(job)))
    scores = tuple(find.paths.scores(*job) for job in prepared.plan.scored)
    yield Job("scores", f"{find.paths.root}/scores.csv", scores, (f"{find.paths.root}/reasons.csv",))


def _of_papers(prepared: Prepared) -> Iterator[Job]:
    find = prepared.find
    for name in prepared.setup.config["papers"]:
        text, inputs = load(name), _files(find.paper_files(name))
        for kind in KINDS:
            for target in text.targets(kind):
                for file in text.files(kind, target):
                    yield Job(f"paper_{name}", f"{find.paths.root}/{file}", inputs)


def _of_page(prepared: Prepared) -> Iterator[Job]:
    """The plan as a table, what is known of encoders and trainings, and the page with its own tables (scores.smk)."""
    root, find = prepared.find.paths.root, prepared.find
    yield Job("plan", f"{root}/plan.csv", (), (f"{root}/names.csv",))
    yield Job("describe", f"{root}/encoders.csv", _files(find.described_files()), (f"{root}/trainings.csv",))
    inputs = ("scores", "reasons", "plan", "files", "names", "encoders", "trainings")
    tables = dict.fromkeys(f"matrix_{cell.model.task}".removesuffix(f"_{NA}") for cell in prepared.plan.cells)
    own = [f"tables/{name}.{kind}" for name in (*tables, "power", "agreement") for kind in ("csv", "tex", "html")]
    beside = tuple(f"{root}/{name}" for name in ("matrix.csv", "summary.txt", *own))
    yield Job("matrix", f"{root}/index.html", tuple(f"{root}/{name}.csv" for name in inputs), beside)


def _files(inputs: object) -> tuple[str, ...]:
    """The files in what an input function returns: texts, in lists and mappings of any depth."""
    if isinstance(inputs, str):
        return (inputs,)
    parts = inputs.values() if isinstance(inputs, Mapping) else inputs
    return tuple(dict.fromkeys(file for part in parts for file in _files(part)))
