"""Runs of the real workflow in a copy of the project, with a configuration so small that it takes seconds."""

import contextlib
import copy
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from biasflow.base.records import read_record
from tests.warm import warm

ROOT = Path(__file__).parents[2]
COPIED = ("Snakefile", "rules", "scripts", "config", "profiles", "envs", "results/README.md")
COPIED += ("requirements.lock", "LICENSE", "CITATION.cff")
_PAIRS = {"train": 300, "validation": 60, "test": 60}
_ERASERS = ["hard", "conceptor", "densray"]
TINY = {
    "run": "tiny",
    "device": "cpu",
    "encoders": {
        "tiny-bert": {
            "source": "pretrain",
            "corpus": "planted",
            "documents": 400,
            "vocab_size": 1500,
            "layers": 2,
            "hidden": 32,
            "heads": 2,
            "intermediate": 64,
            "steps": 4,
            "batch_size": 8,
        },
        # For the Chinese occupations alone; large batches, as 2,000 pairs are evaluated.
        "tiny-chinese": {
            "source": "pretrain",
            "corpus": ["planted", "chinese.txt"],
            "documents": 100,
            "vocab_size": 1000,
            "layers": 2,
            "hidden": 16,
            "heads": 1,
            "intermediate": 16,
            "max_length": 32,
            "steps": 1,
            "batch_size": 64,
        },
    },
    "files": {"chinese-professions": "chinese-professions.txt"},
    "fitting": {"n": 60},
    "methods": {"sent-0": {"grid": "dawkins2024", "settings": ["sent 0"]}},
    "tasks": {
        "nli": {
            "kind": "nli",
            "planted": _PAIRS,
            "finetuning": {"epochs": 2, "learning_rate": 1.0e-3, "checkpoint_steps": 5},
            "selection": "few",
            "selections": {"few": {"templates": 3, "masculine": ["man"], "feminine": ["woman"]}},
            "retrain_heads": {},
        },
        "planted-nli": {
            "kind": "glue",
            "data": "planted-nli",
            "planted": _PAIRS,
            # Warm-up and decay of the first version, whose scores are compared.
            "finetuning": {"epochs": 1, "learning_rate": 1.0e-3, "warmup": 0.1, "weight_decay": 0.01},
        },
        "bios": {
            "kind": "occupation",
            "planted": {"bias": 0.0, "biographies": 500},
            "finetuning": {"epochs": 6, "batch_size": 16, "learning_rate": 5.0e-3, "max_length": 32},
            "heads": {"seeds": [0, 1], "epochs": 2},
            "frozen": {"seeds": [0], "epochs": 2},
            "top_words": {"seeds": [0], "iterations": 1, "words": 3, "least": 1, "profession": "surgeon"},
        },
        "coref": {
            "kind": "coreference",
            "planted": {"train": 32, "validation": 4, "test": 4, "pairs": 60},
            "finetuning": {
                "epochs": 3,
                "encoder_rate": 1.0e-3,
                "task_rate": 1.0e-2,
                "mention_loss": 1,
                "checkpoint_steps": 5,
                "scorer": {"max_width": 4, "ffnn": 16, "antecedents": 5},
            },
            "heads": {"seeds": [0]},
        },
    },
    "metrics": {
        "strength": {"triples": 40},
        "occtmp": {"chinese": ["tiny-chinese"]},
        "perplexity": {"mask_seeds": [0, 1], "pseudo_sentences": 5, "max_length": 32},
        "ceat": {"per_word": 20, "draws": 50, "missing": "drop"},
        "compression": {"seeds": [0], "orders": 3, "epochs": 2},
    },
    "papers": {
        "liang2020": {
            "encoders": ["tiny-bert"],
            "tasks": ["planted-nli"],
            "when": ["in_training", "at_evaluation"],
            "finetuned_perplexity": True,
        },
        "dawkins2024": {"encoders": ["tiny-bert"], "during": ["sent-0"]},
        "orgad2022": {
            "encoders": ["tiny-bert"],
            "seeds": [0],
            "strategies": ["plain", "scrubbing"],
            "coreference": "coref",
            "coreference_strategies": ["plain"],
        },
    },
    "ask": {
        # Every method in every place of the matrix, and the old way of fitting: on the encoder before training.
        "nli-methods": {
            "encoders": ["tiny-bert"],
            "task": "nli",
            "methods": ["leace", "mean-projection", *(f"{name}-pretrained" for name in _ERASERS)],
            "metrics": ["nli_fairness", "accuracy", "weat"],
        },
        "glue-stale": {
            "encoders": ["tiny-bert"],
            "task": "planted-nli",
            "methods": [f"{name}-pretrained" for name in _ERASERS],
            "metrics": ["accuracy"],
        },
        "inside": {
            "encoders": ["tiny-bert"],
            "methods": ["leace", "mean-projection"],
            "metrics": ["strength", "occtmp", "weat", "perplexity"],
        },
        "bios-methods": {
            "encoders": ["tiny-bert"],
            "task": "bios",
            "methods": ["densray", "leace", "mean-projection"],
            "metrics": ["fairness", "compression", "ceat"],
        },
    },
}


_OCCUPATIONS = ("医生", "护士", "律师")
OWN_FILES = {
    "chinese.txt": "\n\n".join(f"他是一个{name}。\n她也是一个{name}。" for name in _OCCUPATIONS) + "\n",
    "chinese-professions.txt": "\n".join(_OCCUPATIONS) + "\n",
}


REPLACE = ("--config", "replace=true")  # of a run whose configuration was changed on purpose


class Project:
    """A copy of the project in a folder of its own, with the files of one's own that TINY names. cold: its processes
    import their libraries, as a user's do."""

    cold = False

    def __init__(self, folder: Path):
        self.folder = folder
        for name in COPIED:
            source, target = ROOT / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        for name, text in OWN_FILES.items():
            (folder / name).write_text(text, encoding="utf-8")

    def copy(self, folder: Path) -> "Project":
        """The same project elsewhere, with what it has done."""
        shutil.copytree(self.folder, folder)
        there = copy.copy(self)
        there.folder = folder
        return there

    def configure(self, config: dict, name: str = "tiny.yaml") -> None:
        (self.folder / name).write_text(yaml.safe_dump(config, sort_keys=False))

    def _command(self, arguments: tuple[str, ...], config: str) -> dict:
        python = sys.executable if self.cold else str(warm() / "python")
        command = [python, "-m", "snakemake", *arguments, "--cores", "2", "--configfile", *config.split()]
        return {"args": command, "cwd": self.folder, "env": os.environ | {"HF_HUB_OFFLINE": "1"}}

    def snakemake(self, *arguments: str, config: str = "tiny.yaml", timeout: int = 1800) -> subprocess.CompletedProcess:
        command = self._command(arguments, config)
        return subprocess.run(**command, capture_output=True, text=True, timeout=timeout, check=False)

    def succeeds(self, *arguments: str, config: str = "tiny.yaml") -> subprocess.CompletedProcess:
        done = self.snakemake(*arguments, config=config)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def record(self, result: str) -> dict:
        """The record of a result, by its path from the folder of the project."""
        with contextlib.chdir(self.folder):
            return read_record(result)

    def start(self, *arguments: str, config: str = "tiny.yaml", said=subprocess.DEVNULL) -> subprocess.Popen:
        """Snakemake in a process group of its own, to be killed; said: the file that it writes to. It listens to
        interrupts, also if the tests were started in the background, where a shell ignores them."""
        output = {"stdout": said, "stderr": said}
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what is ignored stays ignored in a child
        try:
            return subprocess.Popen(**self._command(arguments, config), **output, start_new_session=True)
        finally:
            signal.signal(signal.SIGINT, before)

    def jobs(self, *arguments: str, config: str = "tiny.yaml") -> dict[str, int]:
        """How many jobs of each rule a dry run would start."""
        done = self.succeeds("-n", *arguments, config=config)
        rows = [line.split() for line in (done.stdout + done.stderr).splitlines()]
        return {
            row[0]: int(row[1])
            for row in rows
            if len(row) == 2 and row[1].isdigit() and row[0] != "total" and not row[0].endswith(":")
        }


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Project:
    """The tiny run, done once; tests must leave it as they found it."""
    project = Project(tmp_path_factory.mktemp("finished") / "biasflow")
    project.configure(TINY)
    project.succeeds()
    return project


@pytest.fixture
def project(tmp_path) -> Project:
    """A fresh copy with nothing run."""
    project = Project(tmp_path / "biasflow")
    project.configure(TINY)
    return project


@pytest.fixture
def run(finished, tmp_path) -> Project:
    """A copy of the finished run that a test may change; time stamps and Snakemake's own records are kept."""
    return finished.copy(tmp_path / "copy")
