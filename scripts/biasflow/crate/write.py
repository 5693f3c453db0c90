"""Writes ro-crate-metadata.json into the folder of a run, and beside it a copy of the workflow's code."""

import json
import os
import shutil
from pathlib import Path

from biasflow.base.files import whole_file, whole_folder
from biasflow.base.provenance import git_commit
from biasflow.base.shipped import ROOT
from biasflow.crate.crate import run_crate
from biasflow.crate.records import METADATA, WORKFLOW, gone, read_jobs, written_files

CODE = ("Snakefile", "rules", "scripts", "config", "envs", "profiles", "requirements.lock", "LICENSE", "CITATION.cff")


def write_crate(folder: str) -> list[str]:
    """Make the folder of a run an RO-Crate; what to tell the user, by lines."""
    folder = os.path.relpath(folder)  # as records have it
    jobs = read_jobs(folder)
    metadata = run_crate(jobs, folder).metadata.generate()
    with whole_folder(Path(folder, WORKFLOW)) as copy:
        for source in (ROOT / name for name in CODE):
            if source.is_dir():
                shutil.copytree(source, copy / source.name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy)
    with whole_file(Path(folder, METADATA)) as temporary:
        temporary.write_text(json.dumps(metadata, indent=1) + "\n", encoding="utf-8")
    messages = [f"{folder}/{METADATA}: {len(jobs)} jobs, {len(written_files(jobs))} files"]
    if lost := gone(jobs, folder):
        messages.append(f"{len(lost)} files were deleted or made again after a job had read them, such as {lost[0]}")
    commit, commits = str(git_commit()), sorted({str(job.about["git"]) for job in jobs})
    if commits != [commit]:
        messages.append(f"{folder}/{WORKFLOW} is the code of {commit}, but jobs ran with that of {', '.join(commits)}")
    return messages
