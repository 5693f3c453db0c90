"""Python processes that begin with what they import: forks of one process that has imported torch and the like.

A job's start costs 4 seconds of a processor, of which nearly all are the imports of libraries. `warm` makes a folder
with `python`, `snakemake` and `biasflow`, which tests start in place of those of the environment. They are processes of
their own, with the arguments, folder, environment, files and signals that they were given; biasflow itself is imported
anew by each. What differs: they have one thread, one order of sets, and the rights of the process of the tests. One
whose environment has other variables that libraries read when they are imported starts as usual, cold; but for
HF_ENDPOINT, which biasflow reads itself, when it downloads a file."""

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

IMPORTED = (
    "accelerate",
    "huggingface_hub",
    "jsonschema",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.pyplot",
    "pandas",
    "pyarrow.parquet",
    "requests",
    "safetensors.torch",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.linear_model",
    "sklearn.metrics",
    "snakemake.cli",
    "snakemake.script",
    "tokenizers",
    "torch",
    "transformers",
    "transformers.models.bert.modeling_bert",
    "transformers.models.bert.tokenization_bert",
    "transformers.trainer",
    "yaml",
)
COMMANDS = {"python": [], "snakemake": ["-m", "snakemake"], "biasflow": ["-c", "from biasflow.cli import main; main()"]}
AT_IMPORT = ("CUDA_", "HF_H", "MPL", "PYTHONHASHSEED", "PYTHONWARNINGS", "TORCH_", "TRANSFORMERS_")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # before a test changes it
ENVIRONMENT |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}

# Started by whoever starts a Python; it stands for the process until that ends.
CLIENT = """#!{python} -IS
import os, sys
PYTHON, BEFORE, LIBRARIES = {python!r}, {before!r}, {libraries!r}
words = BEFORE + sys.argv[1:]
libraries = {{name: value for name, value in os.environ.items() if name.startswith({at_import!r})}}
if not words or words[0][:1] == "-" and words[0] not in ("-m", "-c") or libraries != LIBRARIES:
    os.execv(PYTHON, [PYTHON, *words])
import json, signal, socket
server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
server.connect({address!r})
job = json.dumps({{"words": words, "folder": os.getcwd(), "environment": dict(os.environ), "python": sys.argv[0]}})
socket.send_fds(server, [len(job.encode()).to_bytes(4, "big")], [0, 1, 2])
for number in (signal.SIGINT, signal.SIGTERM):
    if signal.getsignal(number) != signal.SIG_IGN:
        signal.signal(number, lambda number, frame: server.sendall(bytes([number])))
server.sendall(job.encode())
ended = int.from_bytes(server.recv(1), "big")
if ended > 128:
    if ended - 128 != signal.SIGKILL:
        signal.signal(ended - 128, signal.SIG_DFL)
    os.kill(os.getpid(), ended - 128)
os._exit(ended)
"""


@cache
def warm() -> Path:
    """The folder with the commands; it and the server from which their processes are forked end with this process."""
    folder = Path(tempfile.mkdtemp(prefix="warm"))
    address = str(folder / "socket")
    libraries = {name: value for name, value in ENVIRONMENT.items() if name.startswith(AT_IMPORT)}
    of_client = {"python": sys.executable, "address": address, "libraries": libraries, "at_import": AT_IMPORT}
    for name, before in COMMANDS.items():
        (folder / name).write_text(CLIENT.format(before=before, **of_client))
        (folder / name).chmod(0o755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(address)
        listening.listen(32)
        command = [sys.executable, __file__, str(listening.fileno())]
        server = subprocess.Popen(command, env=ENVIRONMENT, pass_fds=[listening.fileno()], stdin=subprocess.PIPE)
    atexit.register(server.communicate)
    return folder


def serve(listening: socket.socket) -> dict:
    """Returns in each process that is to do something: what a client asked for, with the process's files in place."""
    for name in IMPORTED:
        importlib.import_module(name)
    assert "biasflow" not in sys.modules
    gc.freeze()
    waiting = 0  # processes that wait for a job
    while True:
        if 0 in select.select([listening, 0], [], [])[0]:  # the process that started this one has ended
            shutil.rmtree(Path(listening.getsockname()).parent, ignore_errors=True)
            os._exit(0)
        while waiting and os.waitpid(-1, os.WNOHANG)[0]:
            waiting -= 1
        waiting += 1
        client, _ = listening.accept()
        if os.fork():
            client.close()
            continue
        listening.close()
        size, files, *_ = socket.recv_fds(client, 4, 3)
        job = b""
        while len(job) < int.from_bytes(size, "big"):
            job += client.recv(int.from_bytes(size, "big") - len(job))
        worker = os.fork()
        if not worker:
            client.close()
            os.setsid()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            return json.loads(job)
        for file in files:
            os.close(file)
        with contextlib.suppress(BrokenPipeError):
            client.sendall(bytes([wait(worker, client)]))
        os._exit(0)


def wait(worker: int, client: socket.socket) -> int:
    """The exit status of a process, as a shell has it; it gets the signals of its client, and ends with it."""
    ended = os.pidfd_open(worker)
    while ended not in select.select([ended, client], [], [])[0]:
        number = client.recv(1)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker, number[0] if number else signal.SIGKILL)
        if not number:
            break
    code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    return 128 - code if code < 0 else code


def prepare(job: dict) -> list[str]:
    """Make this process that of the job; its words."""
    os.chdir(job["folder"])
    os.environ.clear()
    os.environ.update(job["environment"])
    sys.executable = str(Path(job["python"]).with_name("python"))
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.stdout.reconfigure(line_buffering=os.isatty(1))
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    importlib.invalidate_caches()
    return job["words"]


if __name__ == "__main__":
    del sys.path[0]
    first, *rest = prepare(serve(socket.socket(fileno=int(sys.argv[1]))))
    if first == "-c":
        sys.path.insert(0, "")
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    elif first == "-m":
        sys.path.insert(0, str(Path.cwd()))
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *rest]
        sys.path.insert(0, str(Path(first).resolve().parent))
        runpy.run_path(first, run_name="__main__")
