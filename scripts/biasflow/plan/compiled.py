"""Everything that happens before the first job: a configuration is checked and planned, and all jobs of the run are
compiled once from its plan. Rules, `biasflow explain`, the estimate and the list of external files read this table."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from biasflow.base.command_line import file_fault
from biasflow.base.errors import BiasflowError
from biasflow.corpora.catalogue import Catalogue, read_catalogue
from biasflow.matrix import NA, PART, RUN
from biasflow.papers.paper import PAPER, PRINTED, PaperText, brought, load, needs_module
from biasflow.plan import cells
from biasflow.plan.checks import check_asked
from biasflow.plan.configuration import load_schema, resolve
from biasflow.plan.encoders import encoder_files, encoder_jobs
from biasflow.plan.external import check_files
from biasflow.plan.facts import gather
from biasflow.plan.items import item_files, item_inputs, items_of
from biasflow.plan.jobs import Job, Jobs, Plan, ScoringJob
from biasflow.plan.readings import file_in_output, reading_jobs, reading_output, scoring_jobs
from biasflow.plan.setup import Setup, plan_module
from biasflow.plan.trainings import data_jobs, fit_jobs, training_jobs
from biasflow.registry import DECISIONS, METRICS
from biasflow.tasks.kinds import TaskPlan

LEDGER = ("ledger", "ledger_summary", "released_errors")  # its tables
SUFFIXES = ("csv", "tex", "html")  # of a table
PICTURES = [f"figures/page_{name}.{kind}" for name in ("bias", "methods") for kind in ("svg", "png")]  # of the page


@dataclass(frozen=True)
class Prepared:
    """A configuration, checked and planned."""

    setup: Setup
    catalogue: Catalogue
    plan: Plan
    jobs: Jobs


def prepared(config: Mapping, files: Iterable[str | Path] = ()) -> Prepared:
    """Check and plan a configuration, which was read from `files`; BiasflowError, one line that names the key (or file
    and line), for whatever no job could do."""
    for file in files:  # where Snakemake was told another profile, nobody has looked at them yet
        if problem := file_fault(file):
            raise BiasflowError(problem)
    schema, catalogue = load_schema(), read_catalogue()
    config = resolve(config, schema)
    check_files(config, schema, catalogue)
    setup = Setup(config, gather(config))
    planned = cells.plan(setup)
    check_asked(planned)
    return Prepared(setup, catalogue, planned, compiled(setup, planned, catalogue))


def compiled(setup: Setup, plan: Plan, catalogue: Catalogue) -> Jobs:
    """The jobs of a run that the configuration decides on."""
    parts = (
        encoder_jobs(setup, catalogue),
        data_jobs(setup, plan, catalogue),
        training_jobs(setup, plan, catalogue),
        fit_jobs(setup, plan),
        reading_jobs(setup, plan, catalogue),
        scoring_jobs(setup, plan),
        _paper_jobs(setup, plan, catalogue),
        _page_jobs(setup, plan, catalogue),
    )
    return Jobs([job for part in parts for job in part], _checks(setup, plan))


def _checks(setup: Setup, plan: Plan) -> list[str]:
    """The files that say whether the tasks' data fit what the configuration asks of them.

    No training waits for them: a check that runs again, for a further seed, would train all finished models again."""
    tasks = map(setup.task, dict.fromkeys(block.task for block in plan.blocks if block.task))
    return [task.file(name) for task in tasks for name in task.kind.checks]


def _paper_jobs(setup: Setup, plan: Plan, catalogue: Catalogue) -> Iterator[Job]:
    """A job for the tables and figures of each paper, and one for the ledger of all printed numbers."""
    config, paths, root = setup.config, setup.paths, setup.paths.root
    planned = {name: f"{root}/{name}.csv" for name in ("plan", "names")}
    all_scores = {name: f"{root}/{name}.csv" for name in ("scores", "reasons")}
    texts = texts_of(config)
    items = {name: items_of(setup, plan, name) for name in texts}
    for name, items_of_paper in items.items():
        text = texts[name]
        left_out = text.not_drawn(config["papers"][name], plan.cells)
        files = (file for target in text.targets if target.name not in left_out for file in target.files)
        jobs = scored_for(plan, name)
        scores = {"scores": [paths.scores(*job) for job in jobs], "reasons": [paths.reasons(*job) for job in jobs]}
        scored = [(job.encoder, job.training, job.block.partition(PART)[0]) for job in jobs]
        yield Job(
            f"paper_{name}",
            [],
            [f"{root}/{file}" for file in files],
            planned | scores | item_inputs(name, items_of_paper) | _printed(text) | _weights(setup, name, text),
            {
                "options": paper_options(setup, catalogue, name),
                "item_files": item_files(items_of_paper),
                "scored": list(dict.fromkeys(scored)),
            },
            text.modules,
        )
    papers, scores_given = [name for name in items if texts[name].encoders], given_item_files(setup, catalogue)
    if papers or scores_given:
        inputs = {role: file for name in papers for role, file in item_inputs(name, items[name]).items()}
        inputs |= {role: files for name in papers for role, files in _weights(setup, name, texts[name]).items()}
        options = {name: (paper_options(setup, catalogue, name), item_files(items[name])) for name in papers}
        yield Job(
            "paper_ledger",
            [],
            [*(f"{root}/tables/{name}.{suffix}" for name in LEDGER for suffix in SUFFIXES), f"{root}/ledger.csv"],
            planned | all_scores | inputs | _printed(*map(texts.get, papers)),
            {"papers": options, "item_files": scores_given},
            [module for name in papers for module in texts[name].modules],
        )


def scored_for(plan: Plan, paper: str) -> list[ScoringJob]:
    """The jobs with the scores that a paper may print: of its own blocks, and of those under `ask`, but of no other
    paper's, whose tables it need not wait for."""
    blocks = {block.asked for block in plan.blocks if block.group == paper or not block.is_of_paper}
    cells = (cell for cell in (*plan.cells, *plan.repeated) if cell.block in blocks and cell.status == RUN)
    jobs = dict.fromkeys(ScoringJob(cell.model.encoder, cell.model.training, cell.part) for cell in cells)
    return [job for job in jobs if job in plan.scored]


def texts_of(config: Mapping) -> dict[str, PaperText]:
    """The paper.yaml of every paper of a configuration, by the paper's name."""
    return {name: load(name, options.get("folder")) for name, options in config["papers"].items()}


def _printed(*texts: PaperText) -> dict[str, list[str]]:
    """The files with what papers print, and say of their tables."""
    files = {role: [text.folder / name for text in texts] for role, name in (("printed", PRINTED), ("text", PAPER))}
    return {role: [os.path.relpath(file) for file in paths if file.is_file()] for role, paths in files.items()}


def _weights(setup: Setup, paper: str, text: PaperText) -> dict[str, list[str]]:
    """The files of a paper's local encoders, one of which may be a copy of a printed one: "weights/<encoder>"."""
    if not any("weights" in about for about in text.encoders.values()):
        return {}
    encoders = [setup.encoders[name] for name in setup.config["papers"][paper]["encoders"]]
    return {f"weights/{one.name}": one.local_files for one in encoders if one.described}


def paper_options(setup: Setup, catalogue: Catalogue, paper: str) -> dict[str, object]:
    """The paper's part of the configuration, and what it or its captions say of the metrics and the task."""
    config, options = setup.config, dict(setup.config["papers"][paper])
    of_metrics = load(paper, options.get("folder")).of_metrics
    options |= {name: config["metrics"][metric][key] for name, (metric, key) in of_metrics.items()}
    task = setup.task(options["task"]) if options.get("task") else None
    if config["limit"]:
        tasks = [name for name in config["tasks"] if _is_sampled(setup.task(name), catalogue, config["limit"])]
        options |= {"sample": config["limit"], "sampled": tasks}
        options |= {"epochs": task.about["finetuning"]["epochs"]} if task else {}
    if config["given"]:
        options["given"] = {name: about["direction"] for name, about in config["given"].items()}
    return options | ({key: task.about[key] for key in task.kind.captioned} if task else {})


def _is_sampled(task: TaskPlan, catalogue: Catalogue, limit: int) -> bool:
    """Whether a part of a task's data has more items than a limit, or is not known to have fewer."""
    parts = task.kind.steps[0].sources(task, catalogue).values()
    known = [[catalogue.files.get(Path(file).name) for file in files] for files in parts]
    return any(None in files or sum(file.rows or limit + 1 for file in files) > limit for files in known)


def given_item_files(setup: Setup, catalogue: Catalogue) -> dict[str, list[str]]:
    """Name of a catalogued file of scores, with ":column" behind it where one is named -> the external encoders whose
    scores it holds; a copy of it at a path of the user's (key `files`) does not count."""
    encoders_by_file: dict[str, list[str]] = {}
    known = {name for names in catalogue.sets.values() for name in names}
    for name, encoder in setup.encoders.items():
        by_metric = encoder.given_files.values() if encoder.is_external else ()
        given_files = {file for files in by_metric for of_metric in files.values() for file in of_metric}
        for file, column in sorted(given_files):
            if (file := Path(file).name) in known:
                encoders_by_file.setdefault(f"{file}:{column}" if column else file, []).append(name)
    return encoders_by_file


def _page_jobs(setup: Setup, plan: Plan, catalogue: Catalogue) -> Iterator[Job]:
    """The plan as a table, what is known of encoders and trainings, and the page with its own tables."""
    root, config = setup.paths.root, setup.config
    texts = texts_of(config)
    modules = [module for module in map(needs_module, texts) if module]
    modules += [plan_module(task["kind"]) for task in config["tasks"].values()]
    params = {"digest": _digest(setup)}
    yield Job("plan", [], [f"{root}/plan.csv", f"{root}/names.csv"], params=params, modules=modules)
    yield _description(setup, plan)
    has_ledger = any(text.encoders for text in texts.values()) or given_item_files(setup, catalogue)
    files = {name: f"{root}/{name}.csv" for name in ("scores", "reasons", "plan", "files")}
    files["ledger"] = [f"{root}/tables/ledger_summary.csv"] if has_ledger else []
    calibrated = {name: brought(name, "evidence", options) or [] for name, options in config["papers"].items()}
    files["calibration"] = [f"{root}/tables/{name}_calibration.csv" for name, known in calibrated.items() if known]
    files["drops"] = [task.file(task.kind.drops) for task in tasks_of_plan(setup, plan) if task.kind.drops]
    files |= {name: f"{root}/{name}.csv" for name in ("names", "encoders", "trainings")}
    decided = {}
    if len({encoder for encoder, *_ in plan.scored}) > 1:  # they are compared on the same items
        files["resamples"] = [setup.paths.resamples(*job) for job in plan.scored]
        decided = {
            (score.model.encoder, score.model.task): score.reading
            for scores in plan.scored.values()
            for score in scores
            if METRICS[score.metric].datasets == DECISIONS
        }
        files["decided"] = list(dict.fromkeys(reading_output(setup.paths, reading) for reading in decided.values()))
    tables = [f"tables/{name}.{suffix}" for name in page_tables(plan) for suffix in SUFFIXES]
    params = {
        "tables": first_tables(plan),
        # The encoder whose measures this run calibrates; the page takes what followed from its own table.
        "calibrated": [encoder for known in calibrated.values() for encoder in known],
        "papers": [text.on_page(config["papers"][name], plan.cells) for name, text in texts.items()],
        "decided": [
            (*model, reading_output(setup.paths, reading), file_in_output(reading))
            for model, reading in decided.items()
        ],
    }
    outputs = [f"{root}/{name}" for name in ("index.html", "matrix.csv", "summary.txt", *PICTURES, *tables)]
    yield Job("matrix", [], outputs, files, params)


def page_tables(plan: Plan) -> dict[str, str]:
    """The page's own tables by name, and what each shows: methods x measures of pretrained encoders and of each task,
    and what compares seeds and measures."""
    tasks = first_tables(plan).items()
    tables = {name: f"Every measure under every method ({task or 'pretrained'})." for name, task in tasks}
    return tables | {
        "power": "How many seeds a difference between two methods needs to be seen.",
        "agreement": "How far the measures agree on which model is more biased.",
    }


def first_tables(plan: Plan) -> dict[str, str]:
    """Name of a table of methods x measures -> the task of its models."""
    return {f"matrix_{task}".removesuffix(f"_{NA}"): task for task in dict.fromkeys(c.model.task for c in plan.cells)}


def _description(setup: Setup, plan: Plan) -> Job:
    """The job that says what each encoder is that is read and has weights here, one role for each, and what every
    fine-tuning of this run wrote of itself."""
    models = dict.fromkeys(cell.model for cell in plan.cells if cell.status == RUN)
    names = [name for name in dict.fromkeys(model.encoder for model in models) if not setup.encoders[name].is_external]
    trained = [model for model in models if model.is_trained]
    files: dict[str, Sequence[str]] = {f"encoder{i}": encoder_files(setup, name) for i, name in enumerate(names)}
    files["trainings"] = [setup.paths.training(model.encoder, model.training) for model in trained]
    params = {"encoders": names, "models": [(m.encoder, m.task, m.strategy, m.seed) for m in trained]}
    outputs = [f"{setup.paths.root}/{name}.csv" for name in ("encoders", "trainings")]
    return Job("describe", [], outputs, files, params)


def tasks_of_plan(setup: Setup, plan: Plan) -> list[TaskPlan]:
    """The tasks of the cells that run."""
    names: Iterable[str] = dict.fromkeys(cell.model.task for cell in plan.cells if not cell.reason)
    return [setup.task(name) for name in names if name in setup.config["tasks"]]


def _digest(setup: Setup) -> str:
    """A sha256 that changes with everything that plan.csv and names.csv show."""
    shown = {key: setup.config[key] for key in ("encoders", "tasks", "methods", "ask", "papers", "metrics")}
    if bases := setup.config["base_models"]:
        shown["base_models"] = bases
    facts = {key: value for key, value in vars(setup.facts).items() if key != "asked"}  # plan.csv has whole blocks
    return hashlib.sha256(json.dumps([shown, facts], default=str).encode()).hexdigest()
