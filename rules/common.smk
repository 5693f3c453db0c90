# What all rules share: the checked configuration, its plan, and helpers that find inputs in it. No rules here.
import atexit
import gc
import os
import re
import sys
import time
from dataclasses import asdict, fields
from pathlib import Path

gc.set_threshold(50_000)  # planning makes objects that stay: looking for cycles among them takes a sixth of it
ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parent  # of a module: not workflow.basedir
if not (ROOT / "scripts").is_dir():
    sys.exit(f"biasflow: as a module it needs a clone: give the path of the Snakefile in there, not {ROOT}")
if workflow.modifier.path_modifier.prefix or workflow.modifier.path_modifier.modifies_prefixes:
    sys.exit("biasflow: as a module it takes no prefix: leave it out; the key `run` names the folder under results/")
sys.path.insert(0, str(ROOT / "scripts"))  # before an installed biasflow of another version

from biasflow.asking.paths import CORPORA, package_file, package_folder
from biasflow.base.errors import BiasflowError
from biasflow.base.terminal import LastWord, ended, failures
from biasflow.base.files import check_path, check_writable
from biasflow.papers.paper import load as load_paper, load_tables, role
from biasflow.base.planned import check_finished, planned_jobs
from biasflow.base.terminal import shorten
from biasflow.base.code import code_digest, module_file
from biasflow.plan.asked import remember
from biasflow.plan.changed import check_kept
from biasflow.plan.device import CUDA, check_device, check_scheduler, planned_device, submits_jobs
from biasflow.plan.external import check_network, files_read
from biasflow.plan.listing import announced, tasks_of_plan
from biasflow.plan.own_files import OwnFiles
from biasflow.plan.prepared import prepared
from biasflow.plan.tasks import kind_of, plan_module
from biasflow.results.captions import shown_in_report
from biasflow.registry import JOBS_OF_READOUTS, PAPERS, READOUTS, TASKS, module_of, rule_of

LAST = LastWord()
logger.addFilter(LAST)
atexit.register(LAST.say)
shorten(logger, workflow)


def compare():
    """Stop, also in a dry run, if there is no GPU that is asked for, or finished results are not what the plan makes."""
    with LAST.ending():
        jobs = planned_jobs(workflow.dag)
        check_device(DEVICE, cluster=ON_CLUSTER)
        check_kept(config, jobs, own.content)
        check_finished(config["run"], jobs, own.content)


def begin():
    """Stop before the first job if nothing can be written, submitted or downloaded; note what is asked."""
    with LAST.ending():
        check_writable(RESULTS)
        check_scheduler(workflow.executor_plugin.name)
        check_network(workflow.dag.needrun_jobs(), config)
        remember(PATHS.asked, PLAN.blocks, SETUP.facts.asked)
        LAST.say()
        LAST.plan = ""


try:
    check_path(ROOT)  # files of the package are inputs
    PREPARED = prepared(config, workflow.configfiles)
    SETUP, CATALOGUE, PLAN, FIND = (getattr(PREPARED, each.name) for each in fields(PREPARED))
    config, PATHS = SETUP.config, SETUP.paths
    # A job of a cluster plans again, on its own machine: what it is given was decided before.
    ON_CLUSTER = workflow.remote_exec or submits_jobs(workflow.resource_settings)
    DEVICE = planned_device(config["device"], cluster=ON_CLUSTER)
    if workflow.is_main_process:  # a dry run ends with it, another one begins with it
        LAST.judged = compare
        LAST.plan = announced(PREPARED, cores=workflow.resource_settings.cores or 1, on_gpu=DEVICE == CUDA)
except BiasflowError as error:
    sys.exit(f"biasflow: {error}")

GPUS = int(DEVICE == CUDA)  # of a job that computes with an encoder
RESULTS = PATHS.root
STARTED = float(os.environ.setdefault("BIASFLOW_STARTED", str(time.time())))  # its jobs know when the run began
own = OwnFiles((RESULTS, CORPORA))  # of the inputs of a rule, what no job makes: by its content, whatever its time
TRAINING = r"pretrained|random/seed\d+|[^/]+/[^/]+/seed\d+"


def code(name, *modules):
    """A digest of the script of a rule and of the modules that it imports, so that an edited module runs its dependants
    again; with `modules`, of those that it imports by name, too. It is a parameter: as inputs these would be hundreds of
    files a job, all of which Snakemake looks at whenever a job ends."""
    files = [ROOT / f"scripts/{name}.py", *(module_file(module, ROOT) for module in modules)]
    return code_digest(files, ROOT)


def one_of(names):
    """A wildcard constraint that admits these names; one that matches nothing if there are none."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


def of_source(source):
    """The encoders that come from `source`, as a wildcard constraint."""
    return one_of(name for name, encoder in config["encoders"].items() if encoder["source"] == source)


def of_kind(kind):
    """The tasks of a kind, as a wildcard constraint."""
    return one_of(name for name, task in config["tasks"].items() if task["kind"] == kind)


def threads_for(wildcards):
    """A narrow encoder is no faster with two threads: two jobs side by side are."""
    return 1 if SETUP.encoders[wildcards.encoder].is_narrow else 2


def memory(megabytes):
    """A second attempt gets more: only a scheduler's retries make one."""
    return lambda wildcards, attempt: megabytes * attempt


def here(files):
    """A path or a list of paths: the user's and the package's lie on this machine, whatever storage results have."""
    if isinstance(files, str):
        return local(files) if own.is_own(files) else files
    return [here(file) for file in files]


def named(inputs):
    """The inputs of a rule by role, from a function of its wildcards."""
    return unpack(lambda wildcards: {role: here(files) for role, files in inputs(wildcards).items()})


wildcard_constraints:
    encoder=one_of(config["encoders"]),
    training=TRAINING,
    block=one_of(block.name for block in PLAN.blocks),
    group=one_of({block.group: None for block in PLAN.blocks}),
    task=one_of(config["tasks"]),
    strategy=r"[^/]+",
    seed=r"\d+",
