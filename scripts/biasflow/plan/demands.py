"""How much memory and time jobs ask a scheduler for: by the size of the encoder, and of the files that their data are
made from. Both are known before the first job; how long a job really takes is another matter (plan.estimate)."""

import math
from pathlib import Path

from biasflow.corpora.catalogue import Catalogue
from biasflow.encoders.configured import Encoder
from biasflow.encoders.stored import VOCABULARY, size_of
from biasflow.plan.datasets import sources_of_data
from biasflow.plan.jobs import Job, Jobs
from biasflow.plan.setup import Setup, kind_of
from biasflow.registry import TASKS

BASE = 12, 768, 30_522  # layers, dimensions and words of BERT base, for whose jobs the rules say what they need
LIBRARIES = 1500  # megabytes of a process that has loaded torch and transformers; twice as many with CUDA
LARGE = 10.0  # megabytes of data that take all of the time that a rule has; a quarter of it is always given
ROW, ROWS = 500, 20_000  # bytes of a row, and rows, of a file of which the catalogue does not know them


def share_of_base(encoder: Encoder) -> float:
    """Return the size of an encoder in parts of BERT base: its parameters or its states, whichever is more. What
    is not known before the download is taken for BERT base's."""
    words = encoder.origin.about.get("vocab_size") or size_of(encoder.known, VOCABULARY) or BASE[2]
    depth, width = encoder.depth or BASE[0], encoder.width or BASE[1]
    of_base = BASE[1] * (BASE[2] + 12 * BASE[1] * BASE[0])
    return max(width * (words + 12 * width * depth) / of_base, depth * width / (BASE[0] * BASE[1]))


class Demands:
    """What the jobs of a run ask for. `most` is what a rule needs for BERT base and large data."""

    def __init__(self, setup: Setup, catalogue: Catalogue, jobs: Jobs, *, gpu: bool):
        self._setup, self._jobs, self._libraries = setup, jobs, LIBRARIES * (1 + gpu)
        self._weights = {
            file for encoder in setup.encoders.values() if encoder.described for file in encoder.local_files
        }
        self._preparing = {"ceat_contexts"} | {step.rule for kind in TASKS for step in kind_of(kind).steps}
        self._sizes = {
            setup.paths.corpus(name): entry.bytes or ROW * (entry.rows or ROWS)
            for name, entry in catalogue.files.items()
            if name not in setup.config["files"]
        }
        self._own = {setup.paths.corpus(name): path for name, path in setup.config["files"].items()}
        self._made_from = {
            file: [setup.paths.corpus(name) for name in names] for file, names in sources_of_data(setup.paths).items()
        }

    def memory(self, job: Job, most: int, encoder: str | None = None) -> int:
        """Return the megabytes of a job, in hundreds. encoder: with which it computes; None if it prepares data."""
        data = self.megabytes(job)
        if encoder is None:
            needed = 1000 + min(most, 50 * data)
        else:
            needed = self._libraries + most * share_of_base(self._setup.encoders[encoder]) + 5 * data
        return 100 * math.ceil(needed / 100)

    def minutes(self, job: Job, most: int, encoder: str | None = None) -> int:
        """Return the minutes of a job. encoder: as in `memory`."""
        size = share_of_base(self._setup.encoders[encoder]) if encoder else 1
        return 20 + round(most * size * min(max(self.megabytes(job) / LARGE, 0.25), 1))

    def megabytes(self, job: Job) -> float:
        """Return the size of the files that a job's data are made from, those of encoders left out."""
        prepared = [above for above in self._jobs.upstream(*job.outputs[:1]) if above.rule in self._preparing]
        files = {file for each in (job, *prepared) for file in each.files} - self._weights
        files |= {source for file in files for source in self._made_from.get(file, ())}
        files = {self._own.get(file, file) for file in files}
        return sum(self._sizes.get(file) or self._of_user(file) for file in files) / 1e6

    def _of_user(self, file: str) -> int:
        """The bytes of a file of the user's; 0 of one that the run makes."""
        is_made = file.startswith(f"{self._setup.paths.root}/")
        return 0 if is_made or not Path(file).is_file() else Path(file).stat().st_size
