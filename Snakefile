# biasflow: gender bias inside and outside BERT-family encoders. Rules are in rules/, by theme, in the order of the data.
import os
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from snakemake.utils import min_version

min_version("9.20")

if not workflow.overwrite_configfiles:  # a --configfile replaces the default run; it is not merged into it

    configfile: "config/config.yaml"


report: "rules/report/workflow.rst"


container: "biasflow.sif"  # of envs/biasflow.def, with --sdm apptainer alone


def checked_out(source, cache):
    """The folder with all files of a commit of which Snakemake reads single ones: of a module with github(...) or
    git+file. It stays in Snakemake's cache, where the jobs of a run find it."""
    from git import Repo

    repo = source.hosted_repo.repo if hasattr(source, "hosted_repo") else Repo(source.repo_path)
    commit = repo.commit(source.ref)
    folder = cache / "biasflow" / commit.hexsha
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as made:
            with open(f"{made}/tar", "wb") as file:
                repo.archive(file, commit)
            with tarfile.open(f"{made}/tar") as files:
                files.extractall(f"{made}/files", filter="data")
            try:
                os.rename(f"{made}/files", folder)
            except OSError:  # another process was first
                if not folder.is_dir():
                    raise
    return folder / source.path


HERE = workflow.current_basedir  # of a module: not workflow.basedir
if hasattr(HERE, "ref"):
    ROOT = checked_out(HERE, Path(workflow.sourcecache.cache_path))
else:
    ROOT = Path(HERE.get_path_or_uri(secret_free=True))
for THEME in "common data encoders tasks methods readouts external given scores papers ledger".split():

    include: f"{ROOT}/rules/{THEME}.smk"


rule all:
    default_target: True
    input:
        TABLES + JOBS.checks + [target for targets in PAPER_TARGETS.values() for target in targets],


for NAME, TARGETS in {"tables": TABLES, **PAPER_TARGETS, **BY_NAME}.items():  # BY_NAME: orgad2022_table2

    rule:
        name:
            NAME
        input:
            TARGETS,


if workflow.is_main_process:  # also a dry run
    RUN.last.judging = lambda: RUN.follow_content(workflow)
    RUN.last.judged = lambda: RUN.compare(workflow.dag)  # when the graph is built: is something finished replaced?


onstart:
    RUN.begin(workflow)


onsuccess:
    RUN.end(workflow)


onerror:
    RUN.last.message = failures(RUN.last.failed, since=RUN.since)
