"""The inputs, parameters and modules of every job: rules look them up here by their wildcards."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from biasflow.asking.matrix import NA, RUN, Model
from biasflow.asking.tasks import Step
from biasflow.corpora.catalogue import Catalogue
from biasflow.plan.encoders import Encoders
from biasflow.plan.items import item_inputs, item_places, items_of
from biasflow.plan.jobs import Plan
from biasflow.plan.readings import Readings, Scores
from biasflow.plan.setup import Setup
from biasflow.plan.trainings import Fits, Trainings
from biasflow.registry import module_of

Named = dict[str, object]


class Inputs:
    """Looks up the inputs, parameters and modules of jobs. encoders, trainings, fits, readings, scores: a part each;
    here, the data of tasks, papers and the plan itself."""

    def __init__(self, setup: Setup, plan: Plan, catalogue: Catalogue):
        self.setup, self.plan, self.catalogue, self.paths = setup, plan, catalogue, setup.paths
        self.encoders = Encoders(setup)
        self.trainings = Trainings(self.encoders)
        self.fits = Fits(self.encoders, plan)
        self.readings = Readings(self.encoders, plan)
        self.scores = Scores(plan, self.paths)

    def step_sources(self, step: Step) -> Callable[..., Named]:
        """For the rule of a step of a task's data: wildcards -> its sources, which the configuration names."""
        return lambda wildcards: self._sources(step, wildcards.task)

    def step_params(self, step: Step) -> Callable[..., Named]:
        """For the rule of a step of a task's data: wildcards -> its module, the roles of its sources, its options."""

        def params(wildcards) -> Named:
            options = step.options(self.setup.task(wildcards.task, self.plan.blocks))
            roles = [*self._sources(step, wildcards.task), *step.made_from]
            return {"module": module_of(step), "roles": roles, "options": options}

        return params

    def checks(self) -> list[str]:
        """The files that say whether the tasks' data fit what the configuration asks of them.

        No training waits for them. A check that runs again, for a further seed, would train all finished models again;
        and below an input that is `ancient` Snakemake looks for no other reason to run, so that what is new is left
        out without a word."""
        asked = dict.fromkeys(block.task for block in self.plan.blocks if block.task)
        tasks = [self.setup.task(name) for name in asked]
        return [task.file(name) for task in tasks for name in task.kind.checks]

    def _sources(self, step: Step, task: str) -> Named:
        sources = step.sources(self.setup.task(task, self.plan.blocks), self.catalogue)
        return {role: list(files) for role, files in sources.items()}

    def described_files(self) -> Named:
        """The folders or files of the encoders that are read and have weights here, one role for each, and what every
        fine-tuning of this run wrote of itself."""
        names = self.described_params()["encoders"]
        encoders = {f"encoder{number}": self.encoders.files(name) for number, name in enumerate(names)}
        models = (model for model in self._models() if model.task != NA)
        return {**encoders, "trainings": [self.paths.training(model.encoder, model.training) for model in models]}

    def described_params(self) -> Named:
        """The names that belong to `described_files`, in their order."""
        names = dict.fromkeys(model.encoder for model in self._models())
        models = [
            (model.encoder, model.task, model.strategy, model.seed) for model in self._models() if model.task != NA
        ]
        return {"encoders": [name for name in names if not self.setup.encoders[name].is_external], "models": models}

    def _models(self) -> list[Model]:
        """Those that are read, in the order of the plan."""
        return list(dict.fromkeys(cell.model for cell in self.plan.cells if cell.status == RUN))

    def paper_files(self, paper: str) -> Named:
        """What the tables and figures of a paper are made of: the run's tables, and item files by role."""
        return self.ledger_files([paper])

    def paper_items(self, paper: str) -> Named:
        """Where the item files of a paper are: role -> key -> position and file (plan.items)."""
        return item_places(items_of(self.setup, self.plan, paper), self.paper_files(paper))

    def paper_options(self, paper: str) -> Named:
        """The paper's part of the configuration, and what its captions say of the metrics and the task."""
        options = dict(self.setup.config["papers"][paper])
        options["tops"] = self.setup.config["metrics"]["strength"]["tops"]
        options["chinese"] = self.setup.config["metrics"]["occtmp"]["chinese"]
        options["ceat_text"] = self.setup.config["metrics"]["ceat"]["text"]
        if measures := self.setup.config["given"]:
            options["given"] = {name: about["direction"] for name, about in measures.items()}
        task = self.setup.task(options["task"]) if options.get("task") else None
        return options | ({key: task.about[key] for key in task.kind.captioned} if task else {})

    def given_script(self, measure: str) -> list[str]:
        """The file that the command of a user's measure runs, if the configuration names one."""
        about = self.setup.config["given"][measure]
        return [about["script"]] if "script" in about else []

    def ledger_files(self, papers: Sequence[str]) -> Named:
        """What the ledger of all these papers is made of: the run's tables, and item files by role."""
        tables = {name: f"{self.paths.root}/{name}.csv" for name in ("scores", "reasons", "plan", "names", "files")}
        return tables | item_inputs([items_of(self.setup, self.plan, paper) for paper in papers])

    def ledger_params(self, papers: Sequence[str]) -> dict[str, tuple[Named, Named]]:
        """Paper -> its options, and where its item files are among those of all."""
        inputs = self.ledger_files(papers)
        items = {name: item_places(items_of(self.setup, self.plan, name), inputs) for name in papers}
        return {name: (self.paper_options(name), items[name]) for name in papers}

    def item_files(self) -> dict[str, list[str]]:
        """Name of a catalogued file of scores, with ":column" behind it where one is named -> the external encoders
        whose scores it holds; a copy of it at a path of the user's (key `files`) does not count."""
        encoders_by_file: dict[str, list[str]] = {}
        known = {name for names in self.catalogue.sets.values() for name in names}
        for name, encoder in self.setup.encoders.items():
            by_metric = encoder.given_files.values() if encoder.is_external else ()
            given_files = {file for files in by_metric for of_metric in files.values() for file in of_metric}
            for file, column in sorted(given_files):
                if (file := Path(file).name) in known:
                    encoders_by_file.setdefault(f"{file}:{column}" if column else file, []).append(name)
        return encoders_by_file

    def digest(self) -> str:
        """Return a sha256 that changes with everything that plan.csv and names.csv show."""
        shown = {key: self.setup.config[key] for key in ("encoders", "tasks", "methods", "ask", "papers", "metrics")}
        facts = vars(self.setup.facts)
        facts = {key: value for key, value in facts.items() if key != "asked"}  # plan.csv has whole blocks
        text = json.dumps([shown, facts], default=str)
        return hashlib.sha256(text.encode()).hexdigest()
