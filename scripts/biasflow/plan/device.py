"""Decides before the first job whether a run computes on the CPU or on a GPU, so that no table mixes numbers of
both; and whether this machine has what the run asks for."""

import importlib.metadata
import shutil
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.gpus import gpus_here

AUTO, CPU, CUDA = "auto", "cpu", "cuda"
DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")  # of NVIDIA, of AMD, of Windows' subsystem


def planned_device(choice: str, *, cluster: bool) -> str:
    """The device of every job: "cpu" or "cuda".

    choice: the key `device`. "auto" takes a GPU on a cluster, whose jobs ask for one each, and else where this machine
    has one that torch can use. A job that does not find it fails (encoders.device.resolve_device)."""
    if choice != AUTO:
        return choice
    return CUDA if cluster or (torch_has_cuda() and gpus_here()) else CPU


def submits_jobs(settings) -> bool:
    """Return whether a run submits its jobs to a scheduler, by Snakemake's settings of resources: its executor is not
    known while the plan is made. What submits jobs is given their number, and no cores; its dry run is given cores,
    too, but also default resources."""
    return settings.nodes is not None and (settings.cores is None or settings.default_resources is not None)


def check_device(choice: str, *, cluster: bool) -> None:
    """BiasflowError for the key `device` that asks for a GPU where jobs run on this machine, and it has none.

    It has none if nvidia-smi lists none, or without that tool no driver is there; a driver alone may do, and the job
    looks (encoders.device.resolve_device)."""
    driver = shutil.which("nvidia-smi") is None and any(Path(path).exists() for path in DRIVERS)
    if choice == CUDA and not cluster and not gpus_here() and not driver:
        raise BiasflowError(
            "config: key 'device': cuda, but this machine has no GPU that the driver lists and CUDA_VISIBLE_DEVICES "
            "leaves to see; write auto or cpu"
        )


def check_scheduler(executor: str) -> None:
    """BiasflowError for an executor of Slurm on a machine that cannot submit jobs to it."""
    if executor.startswith("slurm") and shutil.which("sbatch") is None:
        raise BiasflowError(
            "the profile submits jobs to Slurm, but there is no sbatch on this machine; start on a login node of the "
            "cluster, or leave --workflow-profile out"
        )


def torch_has_cuda() -> bool:
    """Return False if this environment has a torch that is built without CUDA, else True: jobs may have another one."""
    try:
        return "+cpu" not in importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return True
