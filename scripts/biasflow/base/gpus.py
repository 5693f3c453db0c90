"""Give each job one GPU of this machine. Imports no torch, because it must be done before CUDA starts."""

import errno
import functools
import logging
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from itertools import chain

VISIBLE = "CUDA_VISIBLE_DEVICES"
KINDS = ("GPU-", "MIG-")  # how UUIDs begin
TAKEN = "\0biasflow-"  # how names of sockets begin that are no files: Linux keeps them for all users of a machine
EVERY = 1.0  # seconds between two looks at GPUs that are taken
REMIND = 600.0  # seconds between two lines that say so


def gpus_here() -> list[str]:
    """Return the UUIDs of the GPUs that this process may use, in order; for a divided one (MIG) those of its parts.

    They are what nvidia-smi lists, without those that CUDA_VISIBLE_DEVICES hides; none where there is no nvidia-smi."""
    if shutil.which("nvidia-smi") is None:
        return []
    done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return chosen(_listed(done.stdout), os.environ.get(VISIBLE))


def _listed(lines: str) -> list[list[str]]:
    """For each GPU that `nvidia-smi -L` lists, its UUID, and then those of its parts."""
    gpus: list[list[str]] = []
    for kind, uuid in re.findall(r"^ *(GPU|MIG) .*\(UUID: (\S+)\)$", lines, re.MULTILINE):
        if kind == "GPU":
            gpus.append([])
        gpus[-1].append(uuid)
    return gpus


def chosen(gpus: Sequence[Sequence[str]], choice: str | None) -> list[str]:
    """Return the UUIDs that `choice`, the value of CUDA_VISIBLE_DEVICES, leaves visible; all if it is None (not set).

    gpus: as `nvidia-smi -L` numbers them, the UUID of each and those of its parts. As for CUDA, an entry is a number or
    the beginning of one UUID, and one that names no GPU hides itself and all that follow."""
    units = [list(parts) or [uuid] for uuid, *parts in gpus]
    if choice is None:
        return list(chain(*units))
    by_uuid = {uuid: [uuid] for uuid in chain(*units)} | {gpu[0]: unit for gpu, unit in zip(gpus, units, strict=True)}
    visible: list[str] = []
    for entry in map(str.strip, choice.split(",")):
        if entry.isdecimal():
            named = units[int(entry) :][:1]
        else:
            named = [unit for uuid, unit in by_uuid.items() if entry.startswith(KINDS) and uuid.startswith(entry)]
        if len(named) != 1:
            break
        visible += named[0]
    return list(dict.fromkeys(visible))


@functools.cache  # once in a process, which keeps the lock as long as it lives
def take_gpu() -> socket.socket | None:
    """Wait for a GPU that no other job on this machine has, of whichever user, and make it the only one that this
    process sees.

    Does nothing and returns None if `gpus_here` finds no GPU. Must be called before CUDA starts.

    A GPU is taken by a socket of its UUID, which no second process can bind. The kernel frees it when the process ends,
    also after SIGKILL. There is no limit to the wait: a training may have the GPU for hours."""
    gpus, log, last_message = gpus_here(), logging.getLogger("biasflow"), -REMIND
    while gpus:
        for uuid in gpus:
            lock = socket.socket(socket.AF_UNIX)
            try:
                lock.bind(TAKEN + uuid)
            except OSError as error:
                lock.close()
                if error.errno == errno.EADDRINUSE:
                    continue
                raise
            os.environ[VISIBLE] = uuid
            log.info("computes on GPU %s", uuid)
            return lock
        if time.monotonic() - last_message >= REMIND:
            last_message = time.monotonic()
            log.info("waits for a GPU: other jobs have taken %s", ", ".join(gpus))
        time.sleep(EVERY)
    return None
