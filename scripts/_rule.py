"""What every script of a rule does around its work: log, provenance, threads; and a start that costs little."""

import atexit
import contextlib
import gc
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

# Snakemake puts the folder of a script at the end of the path: an installed biasflow of another version would be taken.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from biasflow.base.by_name import module_named
from biasflow.base.left_out import LeftOut
from biasflow.base.progress import TERMINAL, job_name
from biasflow.base.provenance import rule_log, write_provenance
from biasflow.base.records import check_unchanged, checked

# A job begins with imports, whose objects (400,000 with a model) live until it ends. Searched for cycles again and
# again, and once more at the end, they took a third of a job's start. So the first search comes after them, and sets
# them aside.
gc.set_threshold(400_000)
atexit.register(gc.freeze)


def _set_imports_aside(phase: str, info: dict) -> None:
    gc.callbacks.remove(_set_imports_aside)
    gc.freeze()
    gc.set_threshold(20_000)  # a longer wait would keep tensors of dead cycles in memory


gc.callbacks.append(_set_imports_aside)


OF_OUTPUT = "of_output"  # the fact of a job that says something of each of its outputs


@contextlib.contextmanager
def rule(smk) -> Iterator[dict]:
    """Run the body with the rule's log, if the inputs are what the jobs of this run wrote; on success write the records
    of the outputs.

    Yields a dictionary for facts that only the body knows (device, seed, where a file came from). Items of its files
    that the body leaves out are facts, too."""
    started = time.time()
    os.environ["OMP_NUM_THREADS"] = str(smk.threads)  # before torch is imported: results follow the declared threads
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # threads that spin while they wait slow every other job down
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    facts: dict = {}
    TERMINAL.job = job_name(smk.rule, dict(smk.wildcards.items()).values())
    here = Path(__file__).resolve().parent
    if here != Path(smk.scriptdir).resolve():
        sys.exit(f"biasflow: the rule's script lies in {smk.scriptdir}, but its modules in {here}; unset PYTHONPATH")
    with rule_log(smk.log[0], rule=smk.rule, since=float(os.environ.get("BIASFLOW_STARTED", "inf"))):
        inputs = checked(smk.input)
        check_unchanged(inputs, {_input(smk.input, name): sha256 for name, sha256 in smk.params.get("own", {}).items()})
        if smk.config.get("world"):
            # By name: who reads a world imports this module, and no other job depends on what is in one.
            module_named("biasflow.planted.world").choose_world(smk.config["world"])
        left_out = LeftOut()
        with left_out.told():
            yield facts
        facts |= left_out.facts()
        write_provenance(
            smk.output,
            rule=smk.rule,
            inputs=inputs,
            params=dict(smk.params.items()),
            config=smk.config,
            started=started,
            of_output=facts.pop(OF_OUTPUT, {}),
            facts={"threads": _threads(smk.threads), **facts},
        )


def _input(named, name: str) -> str:
    """The input file that plan.user_files calls by its role and its position in it: "words.0"."""
    role, _, number = name.rpartition(".")
    return str(by_role(named, [role])[role][int(number)])


def _threads(declared: int) -> int:
    """How many threads torch computed with; without torch, what the rule declares."""
    return sys.modules["torch"].get_num_threads() if "torch" in sys.modules else declared


def by_role(named, roles: Iterable[str]) -> dict[str, tuple[Path, ...]]:
    """The input files of a rule by role, each as a tuple, also where there is one."""
    inputs = {role: named[role] for role in roles}
    return {
        role: (Path(files),) if isinstance(files, str) else tuple(map(Path, files)) for role, files in inputs.items()
    }


def weights_of(named) -> dict[str, tuple[Path, ...]]:
    """Encoder -> its files, of those whose weights a paper may print."""
    roles = [role for role, _ in named.items() if role.startswith("weights/")]
    return {role.removeprefix("weights/"): files for role, files in by_role(named, roles).items()}


def model_folder(files: str | Sequence[str]) -> Path:
    """The folder of an encoder or of a model: an input that a rule made, or that of a user's files."""
    (first, *_) = [files] if isinstance(files, str) else files
    return Path(first) if Path(first).is_dir() else Path(first).parent


def dataset_files(named, name: str) -> dict[str, tuple[Path, ...]]:
    """The input files of a dataset by role; name: with which their roles begin in the rule."""
    roles = [role for role in named.keys() if role.rpartition("/")[0] == name]  # noqa: SIM118
    return {role.rpartition("/")[2]: files for role, files in by_role(named, roles).items()}


def data_of(named, readout: Mapping, folder: Path) -> dict[str, tuple[Path, ...]]:
    """The files that a readout is made from, by role. folder: where what its job itself has read lies until it ends."""
    data = dataset_files(named, readout["inputs"])
    return data | {role: (data.get(role, (folder,))[0] / file,) for role, file in readout["made_from"].items()}


def items(named, paper: str, files: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, Path]]:
    """The item files of a paper by role and key; files: their names in the rule's inputs. Those that exist: a readout
    that could not be made has none, and the plan says why."""
    paths = {
        role: {key: Path(named[f"{paper}/{role}/{key}"], file) for key, file in of_role.items()}
        for role, of_role in files.items()
    }
    return {role: {key: path for key, path in of_role.items() if path.is_file()} for role, of_role in paths.items()}
