"""A real Slurm on this machine: a controller and two nodes, of which the one of partition "cpu" has no GPU.

All it writes lies in one folder, all it listens on is the loopback, and its daemons are children of the test. The GPUs
are devices that any machine has: Slurm counts them and hands them out, and nothing computes there."""

import contextlib
import os
import platform
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

PACKAGES = ("slurm-wlm", "munge")  # Debian's
DAEMONS = ("munged", "slurmctld", "slurmd")
INSTALLATION = 120  # seconds that it may take
READY = 30  # seconds until the nodes are idle
GPUS = ("/dev/null", "/dev/zero")
NODES = {"cpu": "", "gpu": f"Gres=gpu:{len(GPUS)}"}  # a partition, named as its only node -> what the node has

CONFIGURATION = """\
ClusterName=biasflow
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=2
SlurmdParameters=config_overrides
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
KillWait=2
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
MinJobAge=3600
GresTypes=gpu
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=64000 {has}\n"
PARTITION = "PartitionName={name} Nodes={name} MaxTime=INFINITE State=UP\n"


class NoSlurmError(Exception):
    """Why there can be no Slurm here."""


class Slurm:
    """The cluster, running from `start` to `stop`."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.daemons: list[subprocess.Popen] = []
        self.environment = {
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": f"{folder}/bin:{os.environ['PATH']}:/usr/sbin:/sbin",
        }

    def start(self) -> None:
        """NoSlurmError, with the reason, where Slurm is not installed and cannot be, or does not come up."""
        install()
        self._configure()
        key, gate = self.folder / "munge.key", self.folder / "munge.socket"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        own = (f"--{name}={self.folder}/munge.{name.split('-')[0]}" for name in ("pid-file", "log-file", "seed-file"))
        # It minds folders that others may write, such as /tmp: --force.
        self._run("munged", "--foreground", "--force", f"--socket={gate}", f"--key-file={key}", *own)
        self._wait("the key service", gate.exists)
        self._run("slurmctld", "-D", "-i")
        for name in NODES:
            self._run("slurmd", "-D", "-N", name)
        self._wait("the nodes", lambda: self._nodes() == ["idle"] * len(NODES))

    def stop(self) -> None:
        """Cancel what runs and end the daemons, the last first."""
        if len(self.daemons) > 1:
            self.ask("scancel", "--user=root")
            with contextlib.suppress(NoSlurmError):
                self._wait("the end of its jobs", lambda: not self.jobs("%i", states="running,completing"))
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()

    def ask(self, *command: str) -> str:
        """What a command of Slurm prints; nothing where it fails."""
        environment = {**os.environ, **self.environment}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=30).stdout

    def jobs(self, columns: str, *, states: str = "all") -> list[list[str]]:
        """What squeue says of jobs, also of those that ended minutes ago; columns: its --format, separated by |."""
        said = self.ask("squeue", "--noheader", f"--states={states}", f"--format={columns}")
        return [line.split("|") for line in said.splitlines()]

    def _nodes(self) -> list[str]:
        return self.ask("sinfo", "--Node", "--noheader", "--format=%T").split()

    def _configure(self) -> None:
        host = platform.node().partition(".")[0]
        ports = iter(free_ports(1 + len(NODES)))
        lines = [CONFIGURATION.format(folder=self.folder, host=host, controller=next(ports))]
        for name, has in NODES.items():
            lines += NODE.format(name=name, host=host, port=next(ports), has=has), PARTITION.format(name=name)
            (self.folder / f"spool.{name}").mkdir()
        (self.folder / "slurm.conf").write_text("".join(lines))
        (self.folder / "gres.conf").write_text("".join(f"NodeName=gpu Name=gpu File={file}\n" for file in GPUS))
        (self.folder / "state").mkdir()
        self._wrap_srun()

    def _wrap_srun(self) -> None:
        """The executor takes SLURM_CONF from the environment of the steps that it starts."""
        srun = self.folder / "bin" / "srun"
        srun.parent.mkdir()
        srun.write_text(f'#!/bin/sh\nexport SLURM_CONF={self.folder}/slurm.conf\nexec {shutil.which("srun")} "$@"\n')
        srun.chmod(0o755)

    def _run(self, *command: str) -> None:
        """A daemon in the foreground."""
        environment = {**os.environ, **self.environment}
        command = (shutil.which(command[0], path=environment["PATH"]), *command[1:])
        with open(self.folder / f"daemon{len(self.daemons)}.log", "w") as log:
            quiet = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            self.daemons.append(subprocess.Popen(command, env=environment, **quiet))

    def _wait(self, what: str, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + READY
        while not ready():
            if time.monotonic() > end:
                raise NoSlurmError(f"{what} of Slurm not ready after {READY} seconds (logs in {self.folder})")
            time.sleep(0.2)


def install() -> None:
    """Debian's packages, unless they are there; NoSlurmError where they cannot be had."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    if os.geteuid() != 0:
        raise NoSlurmError("Slurm's daemons run as root, and this user is not root")
    if all(shutil.which(name, path=path) for name in DAEMONS):
        return
    if shutil.which("apt-get") is None:
        raise NoSlurmError(f"{' and '.join(PACKAGES)} are not installed, and there is no apt-get")
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        try:
            subprocess.run(
                ["apt-get", "-qq", *command], env=environment, capture_output=True, check=True, timeout=INSTALLATION
            )
        except (subprocess.SubprocessError, OSError) as error:
            raise NoSlurmError(f"{' and '.join(PACKAGES)} cannot be installed: {error}") from error


def free_ports(n: int) -> list[int]:
    """Ports of the loopback that nobody listens on now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
