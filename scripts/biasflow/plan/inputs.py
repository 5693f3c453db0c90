"""Which files and parameters each job of the plan takes: what rules look up for their wildcards."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from scripts.biasflow.corpora.catalogue import DEV2020_FILES, Catalogue, glue_files
from scripts.biasflow.plan import options
from scripts.biasflow.plan.blocks import RANDOM
from scripts.biasflow.plan.cells import NA, Model, Plan, Reading, plan, retrains_heads, texts_of_heads
from scripts.biasflow.plan.datasets import AUTHORS_STIMULI, corpus_file, fitting_files, fitting_words, text_file
from scripts.biasflow.plan.facts import Facts, gather, has_head
from scripts.biasflow.plan.items import items_of
from scripts.biasflow.plan.methods import erasers, needs_origin, resolved, sources
from scripts.biasflow.plan.paths import CORPORA, PRETRAINED, Paths
from scripts.biasflow.plan.sources import local_files, origin
from scripts.biasflow.registry import METRICS, READOUTS, STRATEGIES, TASKS, TRAINING, module_of

ENCODER_FILES = ("config.json", "model.safetensors")
NARROW = 256  # hidden sizes up to this gain nothing from a second thread
Named = dict[str, object]


class Inputs:
    """Looks up inputs and parameters in a plan. Wildcards are those of the rules: encoder, training, block ..."""

    def __init__(self, config: Mapping, facts: Facts, plan: Plan, catalogue: Catalogue):
        self.config, self.facts, self.plan, self.catalogue = config, facts, plan, catalogue
        self.paths = Paths(config["run"])
        self._jobs: dict[tuple, list[Reading]] = {}
        for key, reading in plan.readings.items():
            self._jobs.setdefault(key[:4], []).append(reading)

    # Encoders and models

    def encoder_files(self, encoder: str) -> list[str]:
        """The files of an encoder: those of its folder if it is local, otherwise what its own rule writes."""
        about = self.config["encoders"][encoder]
        if about["source"] == "local":
            return local_files(about, self.config["mirror"])
        return [f"{self.paths.encoder(encoder)}/{name}" for name in ENCODER_FILES]

    def is_narrow(self, encoder: str) -> bool:
        about = self.config["encoders"][origin(self.config, encoder)]
        hidden = about.get("hidden") or self.facts.architectures.get(encoder, {}).get("hidden_size", NARROW + 1)
        return hidden <= NARROW

    def pretraining_text(self, encoder: str) -> str:
        corpus = self.config["encoders"][encoder]["corpus"]
        return text_file(self.config, encoder, corpus)

    def training_texts(self, encoder: str) -> list[str]:
        """The texts that an encoder was trained on in this run, and those that it is continued from."""
        about = self.config["encoders"][encoder]
        if about["source"] == "continued":
            return [text_file(self.config, encoder, about["text"]), *self.training_texts(about["from"])]
        return [self.pretraining_text(encoder)] if about["source"] == "pretrain" else []

    def planted_corpus(self, encoder: str, *, held_out: bool) -> Named:
        """What the embedded corpus of an encoder is made of; held-out text has another seed."""
        about = self.config["encoders"][encoder]
        if held_out:
            return {"bias": about["bias"], "seed": about["seed"] + 1_000_000, "documents": 2000}
        return {key: about[key] for key in ("bias", "seed", "documents")}

    def pretraining(self, encoder: str) -> Named:
        """The recipe of a pre-training, without what its text already says."""
        beside = ("source", "corpus", "bias", "documents", "vocabulary")
        return {key: value for key, value in self.config["encoders"][encoder].items() if key not in beside}

    def model_files(self, model: Model) -> list[str]:
        """The files of a model; a random one is drawn from those of its encoder."""
        if model.task == NA:
            return self.encoder_files(model.encoder)
        folder = self.paths.model(model.encoder, model.training)
        kind = TASKS[self.config["tasks"][model.task]["kind"]]
        return [f"{folder}/{name}" for name in (*ENCODER_FILES, "training.json", *kind.files)]

    def model_keys(self, wildcards) -> Named:
        """The four keys of a model in the table of scores."""
        model = self._model(wildcards)
        return {key: getattr(model, key) for key in ("encoder", "task", "strategy", "seed")}

    def _model(self, wildcards) -> Model:
        kind, _, seed = wildcards.training.partition("/seed")
        if kind == PRETRAINED:
            return Model(wildcards.encoder)
        if kind == RANDOM:
            return Model(wildcards.encoder, strategy=RANDOM, seed=seed)
        return self.plan.trained[wildcards.encoder, wildcards.training]

    # Data of tasks

    def corpus_files(self, names: list[str]) -> list[str]:
        return [corpus_file(self.catalogue.files, name) for name in names]

    def nli_files(self, task: str) -> dict[str, list[str]]:
        """Part of the pairs -> files; none for embedded ones, or for a part that is held out of another."""
        data = self.config["tasks"][task]["data"]
        parts = (
            {} if data == "planted" else {part: data[part] for part in ("train", "validation", "test") if data[part]}
        )
        return {part: self.corpus_files(names) for part, names in parts.items()}

    def glue_files(self, task: str) -> dict[str, list[str]]:
        data = self.config["tasks"][task]["data"]
        return {
            part: [f"{CORPORA}/{name}" for name in glue_files(data, part, self.catalogue)]
            for part in ("train", "validation")
        }

    def biography_files(self, task: str) -> list[str]:
        data = self.config["tasks"][task]["data"]
        return [] if data == "planted" else self.corpus_files(data["files"])

    def small_are_dropped(self, task: str) -> bool:
        data = self.config["tasks"][task]["data"]
        return data != "planted" and data["small"] == "drop"

    def occupation_words(self, task: str) -> list[str]:
        dev2020 = self.config["tasks"][task]["occupations"] == "dev2020"
        return [f"{CORPORA}/{file}" for file in DEV2020_FILES.values()] if dev2020 else []

    def pair_selection(self, task: str) -> Named:
        about = self.config["tasks"][task]
        return about["selections"][about["selection"]]

    def seeds_of(self, task: str) -> list[int]:
        """The seeds of all fine-tunings on a task, and of the random encoders that are read on its data."""
        seeds = {seed for block in self.plan.blocks if block.task == task for seed in block.seeds}
        about = self.config["tasks"][task]
        return sorted(seeds | set(about["frozen"]["seeds"] if about["kind"] == "occupation" else ())) or [0]

    def splits(self, task: str) -> Named:
        """The seeds and strategies that all professions must be balanced for."""
        named = {name for block in self.plan.blocks if block.task == task for name in block.strategies}
        return {"seeds": self.seeds_of(task), "strategies": [name for name in STRATEGIES if name in named]}

    def advice_on_splits(self, task: str) -> str:
        if self.config["tasks"][task]["data"] == "planted":
            return f"raise tasks.{task}.planted.biographies"
        return f"give more biographies, or have it dropped (tasks.{task}.data.small: drop)"

    # Fine-tuning

    def training_inputs(self, wildcards) -> Named:
        model = self._trained(wildcards)
        found: Named = {"encoder": self.encoder_files(model.encoder)} | self.training_data(model)
        if model.carried:
            found |= self._fitting_inputs(model.encoder, [model.carried], None)
        return found

    def training_data(self, model: Model) -> Named:
        """The data of a training by role."""
        folder = self.paths.data(model.task)
        if self.config["tasks"][model.task]["kind"] == "occupation":
            return {"biographies": f"{folder}/biographies.parquet"}
        return {part: f"{folder}/{part}.csv" for part in ("train", "validation")}

    def splits_first(self, task: str) -> list[str]:
        """What must be found out before anything is trained: whether all splits can be balanced."""
        kind = self.config["tasks"][task]["kind"]
        return [f"{self.paths.data(task)}/splits.csv"] if kind == "occupation" else []

    def training_params(self, wildcards) -> Named:
        model = self._trained(wildcards)
        task = self.config["tasks"][model.task]
        return {
            "module": module_of(TASKS[task["kind"]]),
            "roles": list(self.training_data(model)),
            "options": options.training(self.config, model, task),
            "fit": self._specifications([model.carried], model.encoder) if model.carried else None,
        }

    def _trained(self, wildcards) -> Model:
        training = f"{wildcards.task}/{wildcards.strategy}/seed{wildcards.seed}"
        return self.plan.trained.get(
            (wildcards.encoder, training), Model(wildcards.encoder, wildcards.task, wildcards.strategy, wildcards.seed)
        )

    # Fitting

    def fit_inputs(self, wildcards) -> Named:
        model, names = self._model(wildcards), self._fitted(wildcards)
        found = {"model": self.model_files(model)}
        if any(needs_origin(self.config["methods"][name]) for name in names):
            above = self.config["encoders"][model.encoder].get("from", model.encoder)
            found["origin"] = self.encoder_files(model.encoder if model.task != NA else above)
        return found | self._fitting_inputs(model.encoder, names, self._readings(wildcards)[0].task)

    def _fitting_inputs(self, encoder: str, names: list[str], task: str | None) -> Named:
        needed = set().union(*(sources(self.config["methods"][name]) for name in names))
        found: Named = dict(fitting_files(self.config, encoder)) if "words" in needed else {}
        if "task" in needed:
            found["biographies"] = f"{self.paths.data(task)}/biographies.parquet"
        return found

    def fit_params(self, wildcards) -> Named:
        model, names = self._model(wildcards), self._fitted(wildcards)
        roles = list(self._fitting_inputs(model.encoder, names, self._readings(wildcards)[0].task))
        heads = {"model": self._head(model), "pretrained": self._head(Model(model.encoder))}
        found = self._specifications(names, model.encoder) | {"roles": roles, "heads": heads}
        if "biographies" in roles:
            about = self.config["tasks"][self._readings(wildcards)[0].task]
            seed = self._split_seeds(self._readings(wildcards)[0])[0]
            found["task"] = {"seed": seed, "max_length": about["finetuning"]["max_length"]}
        return found

    def _head(self, model: Model) -> str:
        """The head that a model is loaded with, so that its sentence vector can be reached; a random one has none."""
        if model.strategy == RANDOM:
            return "none"
        if model.task != NA:
            return "none" if self.config["tasks"][model.task]["kind"] == "occupation" else "classification"
        return "next_sentence" if has_head(self.config, self.facts, model.encoder, "next_sentence") else "none"

    def _specifications(self, names: list[str], encoder: str) -> Named:
        """The methods as fits take them, and what they are fitted to."""
        fitting = self.config["fitting"]
        keys = ("n", "cap_per_word", "max_length", "batch_size")
        return {
            "methods": {name: resolved(self.config["methods"][name]) for name in names},
            "words": fitting_words(self.config, encoder),
            "contexts": {key: fitting[key] for key in keys},
        }

    def fit_modules(self, wildcards) -> list[str]:
        names = self._fitted(wildcards)
        return sorted({module for name in names for _, module in erasers(self.config["methods"][name])})

    def training_modules(self, wildcards) -> list[str]:
        """The task's module, and those of the erasers that are active in a training."""
        model = self._trained(wildcards)
        own = [module_of(TASKS[self.config["tasks"][model.task]["kind"]])]
        own += [module_of(STRATEGIES[model.strategy])] if model.strategy in STRATEGIES else []
        carried = self.config["methods"][model.carried] if model.carried else []
        return sorted({*own, *(module for _, module in erasers(carried))})

    def _fitted(self, wildcards) -> list[str]:
        return list(self.plan.fits[wildcards.encoder, wildcards.training, wildcards.group])

    def _readings(self, wildcards) -> list[Reading]:
        place = (wildcards.encoder, wildcards.training, wildcards.group)
        return [reading for reading in self.plan.readings.values() if reading.fit == place]

    # Readouts: a job reads all datasets of a readout that a block asks for of a model

    def readings(self, wildcards, name: str) -> list[Reading]:
        return self._jobs[wildcards.encoder, wildcards.training, wildcards.block, name]

    def reading_path(self, key: tuple) -> str:
        """The file of a readout of one dataset; what a fine-tuning wrote of itself is scored as it is."""
        if key[3] == TRAINING:
            return f"{self.paths.model(*key[:2])}/{TRAINING}.json"
        return f"{self.paths.readout(*key[:4])}/{key[4]}.{READOUTS[key[3]].suffix}"

    def reading_output(self, key: tuple) -> str:
        """What a rule writes, with the file of a readout in it."""
        return self.reading_path(key) if key[3] == TRAINING else self.paths.readout(*key[:4])

    def reading_inputs(self, name: str) -> Callable[..., Named]:
        """For the rule of a readout: wildcards -> the model, the methods fitted to it, and the data."""

        def inputs(wildcards) -> Named:
            readings = self.readings(wildcards, name)
            own = [file for reading in readings for files in reading.dataset.files.values() for file in files]
            below = [self.reading_output(key) for reading in readings for key in self._made_from(reading).values()]
            found: Named = {"model": self.model_files(readings[0].model), "data": sorted({*own, *below})}
            fit = readings[0].fit
            if {method for reading in readings for method in reading.methods} & set(self.plan.fits.get(fit, ())):
                found["methods"] = self.paths.methods(*fit)
            return found

        return inputs

    def _made_from(self, reading: Reading) -> dict[str, tuple]:
        """Role -> key of the readouts that one is made from: vectors of its own text and, under the text's name, of
        another that heads are trained on; heads that were retrained under each method."""
        found, place, below = {}, reading.key[:3], READOUTS[reading.readout].of
        if below:
            found["first_token"] = (*place, below, reading.dataset.name)
            for text in texts_of_heads(reading):
                if reading.dataset.name != f"{reading.task}-{text}":
                    found[text] = (*place, below, f"{reading.task}-{text}")
        if retrains_heads(reading, self.config):
            found["heads"] = (*place, "nli_heads", "train")
        return found

    def reading_modules(self, name: str) -> Callable[..., list[str]]:
        """For the rule of a readout: wildcards -> the modules that it imports by name."""

        def modules(wildcards) -> list[str]:
            found = {module_of(READOUTS[name])}
            for reading in self.readings(wildcards, name):
                if name in ("predictions", "nli_heads"):
                    found.add(module_of(TASKS[self.config["tasks"][reading.task]["kind"]]))
                if name in ("heads", "probes"):
                    found |= {module_of(STRATEGIES[each]) for each in reading.strategies if each in STRATEGIES}
            return sorted(found)

        return modules

    def reading_params(self, name: str) -> Callable[..., Named]:
        """For the rule of a readout: wildcards -> its module and, for each dataset, file, methods, data and options."""

        def params(wildcards) -> Named:
            readings = self.readings(wildcards, name)
            return {"module": module_of(READOUTS[name]), "datasets": [self._reading(reading) for reading in readings]}

        return params

    def _reading(self, reading: Reading) -> Named:
        about = self.config["tasks"][reading.task] if reading.task else None
        data = {role: list(files) for role, files in reading.dataset.files.items()}
        return {
            "dataset": reading.dataset.name,
            "file": self.reading_path(reading.key).rpartition("/")[2],
            "methods": list(reading.methods),
            "data": data | {role: [self.reading_path(key)] for role, key in self._made_from(reading).items()},
            "options": options.readout(self.config, reading, about, self._split_seeds(reading)),
        }

    def _split_seeds(self, reading: Reading) -> list[int]:
        """The splits that a model is read on: that of its seed, or all of the block if it has none."""
        return list(reading.seeds) if reading.model.seed == NA else [int(reading.model.seed)]

    # Scores

    def score_inputs(self, wildcards) -> Named:
        jobs = self._scored(wildcards)
        found: Named = {"readouts": list(dict.fromkeys(self.reading_output(key) for _, key, _ in jobs))}
        for metric, key, _ in jobs:
            found |= {role: list(files) for role, files in self._scored_with(metric, key).items()}
        return found

    def _scored_with(self, metric: str, key: tuple) -> Mapping[str, tuple[str, ...]]:
        """What a score needs beside its readout: the professions' shares of women in the labour market."""
        if metric != "fairness":
            return {}
        return {"professions": (f"{self.paths.data(self.plan.readings[key].task)}/professions.csv",)}

    def score_params(self, wildcards) -> list[Named]:
        return [
            {
                "metric": metric,
                "module": module_of(METRICS[metric]),
                "readout": self.reading_path(key),
                "dataset": key[4],
                "methods": list(methods),
                "roles": list(self._scored_with(metric, key)),
                "options": dict(self.plan.readings[key].dataset.scoring) if key in self.plan.readings else {},
            }
            for metric, key, methods in self._scored(wildcards)
        ]

    def score_modules(self, wildcards) -> list[str]:
        return sorted({module_of(METRICS[metric]) for metric, *_ in self._scored(wildcards)})

    def _scored(self, wildcards) -> tuple:
        return self.plan.scored[wildcards.encoder, wildcards.training, wildcards.block]

    # Papers

    def paper_inputs(self, paper: str) -> Named:
        """What the tables and figures of a paper wait for."""
        tables = {name: f"{self.paths.root}/{name}.csv" for name in ("scores", "reasons", "plan", "names")}
        return tables | {"item_files": list(items_of(self, paper).inputs)}

    def paper_options(self, paper: str) -> Named:
        """The paper's part of the configuration, and what its captions say of the metrics and the task."""
        options = dict(self.config["papers"][paper])
        options["tops"] = self.config["metrics"]["strength"]["tops"]
        about = self.config["tasks"].get(options.get("task"), {})
        return options | {key: about[key] for key in ("selection", "top_words") if key in about}

    def digest(self) -> str:
        """Changes with everything that plan.csv and names.csv show."""
        shown = {key: self.config[key] for key in ("encoders", "tasks", "methods", "ask", "papers", "metrics")}
        text = json.dumps([shown, {name: dict(about) for name, about in self.facts.architectures.items()}], default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def external_files(config: Mapping, catalogue: Catalogue) -> list[str]:
    """The names of all external files that a run with this (resolved) configuration reads."""
    facts = gather(config)
    find = Inputs(config, facts, plan(config, facts), catalogue)
    readings, trained = find.plan.readings.values(), find.plan.trained.values()
    files = {file for reading in readings for names in reading.dataset.files.values() for file in names}
    for encoder in {each.encoder for each in (*(reading.model for reading in readings), *trained)}:
        files |= set(find.training_texts(encoder))
    for encoder in {reading.model.encoder for reading in readings if reading.readout == "associations"}:
        files.add(text_file(config, encoder, config["metrics"]["ceat"]["text"]))
    for encoder in {
        *(encoder for encoder, *_ in find.plan.fits),
        *(model.encoder for model in trained if model.carried),
    }:
        files |= {file for names in fitting_files(config, encoder).values() for file in names}
    for task in {reading.task for reading in readings if reading.task} | {model.task for model in trained}:
        kind = config["tasks"][task]["kind"]
        if kind == "nli":
            files |= {file for names in find.nli_files(task).values() for file in names}
            files |= set(find.occupation_words(task))
        elif kind == "glue":
            files |= {file for names in find.glue_files(task).values() for file in names}
        else:
            files |= set(find.biography_files(task))
    names = {file.removeprefix(f"{CORPORA}/") for file in files}
    names |= {f"wikitext-2-{'test' if '-test' in name else 'train'}" for name in names if "wikitext-2" in name}
    names |= {"stereoset-dev" for name in names if name.endswith("stereoset-swapped.csv")}
    names |= {AUTHORS_STIMULI[Path(name).stem] for name in names if Path(name).stem in AUTHORS_STIMULI}
    return sorted(name for name in names if name in catalogue.files)
