"""Where every file of a run lies under results/."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from biasflow.base.shipped import PACKAGE

CORPORA = "results/corpora"  # external files: shared by all runs
LOCK = f"{CORPORA}/lock.json"  # the checksums of all downloads, as they first came
SHOWN = ("tables", "figures")  # folders of what a run shows, beside its tables of scores
DATA_FOLDERS = ("texts", "stimuli", "contexts")  # beside those of tasks, which have their names


def package_file(path: str) -> str:
    """A file that comes with the package, by its path in the package, from wherever Snakemake was started."""
    return os.path.relpath(PACKAGE / path)


def package_folder(path: str) -> list[str]:
    """The files of a folder of the package; an empty list if there is no such folder."""
    return sorted(package_file(file) for file in (PACKAGE / path).glob("*"))


def is_corpus_file(path: object) -> bool:
    """Whether a path is that of an external file, which a job downloads."""
    return isinstance(path, str) and path.startswith(f"{CORPORA}/")


@dataclass(frozen=True)
class Paths:
    """The paths of a run. files: the key of that name, external files that the configuration takes from elsewhere."""

    run: str
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def root(self) -> str:
        return f"results/{self.run}"

    @property
    def asked(self) -> str:
        """The file that says what earlier runs asked for (plan.asked)."""
        return f"{self.root}/asked.json"

    def corpus(self, name: str) -> str:
        """Where an external file lies, by its name in the catalogue: in a folder that all runs share.

        One that the configuration takes from a path of the user's lies beside the one of the catalogue, with a digest
        of the path in its name, so that no run reads, or writes over, another run's file."""
        path = self.files.get(name)
        return f"{CORPORA}/{name}" + (f".{hashlib.sha256(path.encode()).hexdigest()[:12]}" if path else "")

    def data(self, name: str) -> str:
        return f"{self.root}/data/{name}"

    def text(self, name: str) -> str:
        return self.data(f"texts/{name}.txt")

    def contexts(self, encoder: str, words: str) -> str:
        """The table of the places in a text where the words of tests occur, for an encoder's vocabulary."""
        return self.data(f"contexts/{encoder}/{words}.parquet")

    def context_counts(self, encoder: str, words: str) -> str:
        """The table of how often each of these words occurs in the text."""
        return self.data(f"contexts/{encoder}/{words}_counts.csv")

    def encoder(self, encoder: str) -> str:
        """The folder of an encoder that this run makes or downloads."""
        return f"{self.root}/encoders/{encoder}"

    def model(self, encoder: str, training: str) -> str:
        return f"{self.root}/models/{encoder}/{training}"

    def training(self, encoder: str, training: str) -> str:
        """The record that a fine-tuning writes of itself, beside the folder of its model."""
        return f"{self.model(encoder, training)}.training.json"

    def methods(self, encoder: str, training: str, group: str) -> str:
        return f"{self.root}/methods/{encoder}/{training}/{group}.safetensors"

    def about_methods(self, encoder: str, training: str, group: str) -> str:
        """The folder of tables about what methods were fitted to."""
        return f"{self.root}/methods/{encoder}/{training}/{group}.about"

    def readout(self, encoder: str, training: str, block: str, readout: str) -> str:
        """The folder of a readout, with a file for every dataset."""
        return f"{self.root}/readouts/{encoder}/{training}/{block}/{readout}"

    def scores(self, encoder: str, training: str, block: str) -> str:
        return f"{self.root}/scores/{encoder}/{training}/{block}.csv"

    def given_values(self, measure: str, encoder: str) -> str:
        """The table that the command of a user's measure (key `given`) writes for an encoder."""
        return f"{self.root}/given/{measure}/{encoder}.csv"

    def reasons(self, encoder: str, training: str, block: str) -> str:
        return f"{self.root}/scores/{encoder}/{training}/{block}.reasons.csv"

    def resamples(self, encoder: str, training: str, block: str) -> str:
        """The resamples behind the intervals of a block's scores, from which changes are computed."""
        return f"{self.root}/scores/{encoder}/{training}/{block}.resamples.parquet"
