# What all rules share: the jobs of the run (scripts/biasflow/plan/__init__.py tells how a key becomes a job; `biasflow
# explain FILE` follows one), and what a rule takes from its job, by the rule's name and wildcards. No rules here.
import re
import sys
from functools import cache

if not (ROOT / "scripts").is_dir():
    sys.exit(
        "biasflow: as a module it needs all its files: name the Snakefile of a repository (github, git+file), of a clone "
        f"or of an installed biasflow (`biasflow workflow`); there is no {ROOT / 'scripts'}"
    )
if workflow.modifier.path_modifier.prefix or workflow.modifier.path_modifier.modifies_prefixes:
    sys.exit("biasflow: as a module it takes no prefix: leave it out; the key `run` names the folder under results/")
if (ROOT / "scripts/biasflow").is_dir():  # before an installed biasflow of another version
    sys.path.insert(0, str(ROOT / "scripts"))
try:
    from biasflow.base import shipped
except ImportError as error:
    sys.exit(f"biasflow: {error}; install biasflow where Snakemake is, for the packages that it needs")
if not ROOT.samefile(shipped.ROOT):
    sys.exit(
        f"biasflow: the rules lie in {ROOT}, but the package belongs to those in {shipped.ROOT}; name "
        f"{shipped.ROOT / 'Snakefile'}, or install the version of these rules"
    )

from biasflow.base.paths import CORPORA, package_file
from biasflow.base.code import code_digest, module_file
from biasflow.base.terminal import failures
from biasflow.plan.demands import Demands
from biasflow.plan.start import start
from biasflow.registry import JOBS_OF_READOUTS, TASKS, rule_of

RUN = start(config, workflow, logger, ROOT)
SETUP, CATALOGUE, PLAN, JOBS = RUN.prepared.setup, RUN.prepared.catalogue, RUN.prepared.plan, RUN.prepared.jobs
config, PATHS, RESULTS = SETUP.config, SETUP.paths, SETUP.paths.root
DEMANDS = Demands(SETUP, CATALOGUE, JOBS, gpu=RUN.device == "cuda")
DEVICE, GPUS = RUN.device, int(RUN.device == "cuda")  # of a job that computes with an encoder


@cache
def code(script, *modules):
    """A digest of a script and of the modules that it imports, also by name (`modules`), so that an edited module runs
    its dependants again. As inputs these would be hundreds of files, all of which Snakemake looks at after each job."""
    return code_digest([ROOT / f"scripts/{script}.py", *(module_file(module, ROOT) for module in modules)], ROOT)


def code_of(rule, script):
    return lambda wildcards: code(script, *JOBS.of(rule, wildcards).modules)


def param_of(rule, name):
    return lambda wildcards: JOBS.of(rule, wildcards).params[name]


def inputs_of(rule):
    """The inputs of a rule's planned jobs, by role."""

    def inputs(wildcards):
        return {role: on_this_machine(files) for role, files in JOBS.of(rule, wildcards).inputs.items()}

    return inputs


def user_files_of(rule):
    """The sha256 of the user's files among the inputs, so that another content makes a job run again."""
    return lambda wildcards: RUN.user_files.digests(JOBS.of(rule, wildcards).inputs)


def on_this_machine(files):
    """A path or a list of paths; the user's files lie on this machine, whatever storage results have."""
    if isinstance(files, str):
        return local(files) if RUN.user_files.has(files) else files
    return list(map(on_this_machine, files))


def one_of(names):
    """A wildcard constraint that admits these names; one that matches nothing if there are none."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


def having(part, key, value):
    """The encoders or tasks whose `key` has this value, as a wildcard constraint."""
    return one_of(name for name, about in config[part].items() if about[key] == value)


def threads_for(wildcards):
    """A narrow encoder is no faster with two threads: two jobs side by side are."""
    return 1 if SETUP.encoders[wildcards.encoder].is_narrow else 2


def memory(megabytes):
    """A second attempt gets more: only a scheduler's retries make one."""
    return lambda wildcards, attempt: megabytes * attempt


def memory_of(rule, megabytes):
    """As `memory`, by the size of the job's encoder and data; megabytes: for BERT base."""
    return lambda wildcards, attempt: attempt * DEMANDS.memory(
        JOBS.of(rule, wildcards), megabytes, wildcards.get("encoder")
    )


def minutes_of(rule, minutes):
    """The time of a job by the size of its encoder and data; minutes: for BERT base and large data."""
    return lambda wildcards: DEMANDS.minutes(JOBS.of(rule, wildcards), minutes, wildcards.get("encoder"))


wildcard_constraints:
    encoder=one_of(config["encoders"]),
    training=r"pretrained|random/seed\d+|[^/]+/[^/]+/seed\d+",  # the last: task, strategy and seed
    block=one_of(block.name for block in PLAN.blocks),
    group=one_of({block.group: None for block in PLAN.blocks}),
    task=one_of(config["tasks"]),
    strategy=r"[^/]+",
    seed=r"\d+",
