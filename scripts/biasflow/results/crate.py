"""A run as a Provenance Run Crate (RO-Crate 1.1 with the profiles https://w3id.org/ro/wfrun, 0.5).

What was planned: the workflow, its steps (rules) and tools (rules with their code). What happened: an action for the
run, one for each job with what it read and wrote, and one of Snakemake for each job that it started."""

import base64
import mimetypes
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from rocrate.model.contextentity import ContextEntity
from rocrate.model.data_entity import DataEntity
from rocrate.model.entity import Entity
from rocrate.rocrate import ROCrate

from biasflow.base.files import whole_folder, write_json
from biasflow.base.provenance import git_commit
from biasflow.base.shipped import ROOT
from biasflow.results.jobs import METADATA, WORKFLOW, Job, gone, read_jobs, written_files

PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
TERMS = {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}  # not yet in the context of 1.1
LICENCE = (
    "The code: MIT. Results hold parts of the external files that they were made of (texts, stimuli, encoders), which "
    "stay under their own licences."
)
FORMATS = {".parquet": "application/vnd.apache.parquet", ".tex": "application/x-tex", ".yaml": "application/yaml"}
SAID = ("git", "device", "threads", "seed")  # facts without a term in the profile: part of the description
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
    write_json(Path(folder, METADATA), metadata)
    messages = [f"{folder}/{METADATA}: {len(jobs)} jobs, {len(written_files(jobs))} files"]
    if lost := gone(jobs, folder):
        messages.append(f"{len(lost)} files were deleted or made again after a job had read them, such as {lost[0]}")
    commit, commits = str(git_commit()), sorted({str(job.about["git"]) for job in jobs})
    if commits != [commit]:
        messages.append(f"{folder}/{WORKFLOW} is the code of {commit}, but jobs ran with that of {', '.join(commits)}")
    return messages


def run_crate(jobs: Sequence[Job], folder: str) -> ROCrate:
    """The crate of a run: its root is `folder`, and its files stay where they are. Files that lie elsewhere, or are no
    more what a job read, are no part of it: they are named by their content (ni:///sha-256;..., RFC 6920)."""
    crate = ROCrate(version="1.1")  # what these profiles extend
    crate.metadata.extra_terms.update(TERMS)
    crate.name = f"biasflow: run {Path(folder).name}"
    crate.description = f"Gender bias in encoders: results of {len(jobs)} jobs, and how they were made."
    workflow, tools, steps = _planned(crate, jobs)
    files = _files(crate, jobs, Path(folder))
    times = {"startTime": _time(min(job.started for job in jobs)), "endTime": _time(max(job.ended for job in jobs))}
    actions = [_action(crate, job, tools[_code(job)], files, Path(folder)) for job in jobs]
    controls = [
        _add(crate, f"#start/{action.id[1:]}", "ControlAction", instrument=steps[job.rule], object=action)
        for job, action in zip(jobs, actions, strict=True)
    ]
    read = {item for job in jobs for item in job.inputs.items()}
    written = {item for job in jobs for item in job.outputs.items()}
    run = _add(
        crate,
        "#run",
        "CreateAction",
        name=f"Run {Path(folder).name}",
        description=crate.description,
        instrument=workflow,
        object=[files[item] for item in sorted(read - written)],
        result=[files[item] for item in sorted(written - read)],
        **times,
    )
    version = ", ".join(sorted({job.about["versions"].get("snakemake", "unknown") for job in jobs}))
    engine = _add(crate, "#snakemake", "SoftwareApplication", name="Snakemake", softwareVersion=version)
    _add(crate, "#engine", "OrganizeAction", name="Snakemake", instrument=engine, object=controls, result=run, **times)
    root = crate.root_dataset
    root["mentions"] = [run, *actions]
    root["conformsTo"] = [
        _add(crate, uri, "CreativeWork", name=name, version=uri.rpartition("/")[2]) for uri, name in PROFILES.items()
    ]
    crate.datePublished = times["endTime"]
    crate.license = _add(crate, "#licence", "CreativeWork", name="Licences", description=LICENCE)
    return crate


def _planned(crate: ROCrate, jobs: Sequence[Job]) -> tuple[Entity, dict[tuple[str, str], Entity], dict[str, Entity]]:
    """The workflow; its tools, by rule and code; its steps, by rule."""
    workflow = crate.add_workflow(
        dest_path=f"{WORKFLOW}/Snakefile",
        main=True,
        lang="snakemake",
        properties={"@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"], "name": "biasflow"},
    )
    crate.add(DataEntity(crate, f"{WORKFLOW}/", {"@type": "Dataset", "name": "The workflow: rules and scripts"}))
    tools, steps = {}, {}
    for rule, code in dict.fromkeys(map(_code, jobs)):
        about = {"softwareVersion": code} if code else {}
        tools[rule, code] = _add(crate, f"#tool/{rule}/{code[:12]}", "SoftwareApplication", name=rule, **about)
    for rule in dict.fromkeys(job.rule for job in jobs):
        rule_tools = [tool for (name, _), tool in tools.items() if name == rule]
        steps[rule] = _add(crate, f"#step/{rule}", "HowToStep", name=rule, workExample=rule_tools)
    workflow["hasPart"], workflow["step"] = list(tools.values()), list(steps.values())
    workflow["version"] = ", ".join(sorted({str(job.about["git"]) for job in jobs}))
    return workflow, tools, steps


def _code(job: Job) -> tuple[str, str]:
    """The rule, and the digest of its script with the modules that it reaches; "" where an edit runs nothing again."""
    return job.rule, job.about["params"].get("code", "")


def _files(crate: ROCrate, jobs: Sequence[Job], folder: Path) -> dict[tuple[str, str], Entity]:
    """All files that jobs read or wrote, by path and sha256."""
    origins = {item: job.about["origin"] for job in jobs if "origin" in job.about for item in job.outputs.items()}
    written, files = written_files(jobs), {}
    for path, digest in (item for job in jobs for item in (*job.outputs.items(), *job.inputs.items())):
        if (path, digest) not in files:
            inside = Path(path).is_relative_to(folder) and written.get(path) == digest
            name = _place(path, folder) if inside else _content(digest)
            origin = origins.get((path, digest))
            about = {"isBasedOn": origin["upstream"], "license": origin["licence"]} if origin else {}
            files[path, digest] = _add_file(crate, name, path, sha256=digest, **about)
    return files


def _place(path: str, folder: Path) -> str:
    return quote(Path(path).relative_to(folder).as_posix())


def _content(digest: str) -> str:
    return "ni:///sha-256;" + base64.urlsafe_b64encode(bytes.fromhex(digest)).decode().rstrip("=")


def _add_file(crate: ROCrate, identifier: str, path: str, **properties: str) -> Entity:
    kind = FORMATS.get(Path(path).suffix) or mimetypes.guess_type(path, strict=False)[0]
    about = {"@type": "File", "name": path, "encodingFormat": kind or "application/octet-stream"}
    return crate.add(DataEntity(crate, identifier, about | properties))


def _action(crate: ROCrate, job: Job, tool: Entity, files: Mapping[tuple[str, str], Entity], folder: Path) -> Entity:
    first, record = next(iter(job.outputs)), job.records[0]
    facts = [f"{key} {job.about[key]}" for key in SAID if key in job.about]
    inside = Path(record).is_relative_to(folder)  # a download's is not
    return _add(
        crate,
        f"#job/{quote(first)}",
        "CreateAction",
        name=f"{job.rule}: {first}",
        description=", ".join(facts),
        instrument=tool,
        object=[files[item] for item in job.inputs.items()],
        result=[files[item] for item in job.outputs.items()],
        startTime=_time(job.started),
        endTime=_time(job.ended),
        subjectOf=[_add_file(crate, _place(record, folder), record)] if inside else [],
    )


def _time(time) -> str:
    return time.isoformat(timespec="milliseconds")


def _add(crate: ROCrate, identifier: str, kind: str, **properties: object) -> Entity:
    """A thing that is no file. An empty list is left out, and one of a single value is that value."""
    about = {
        name: value[0] if isinstance(value, list) and len(value) == 1 else value
        for name, value in properties.items()
        if value != []
    }
    return crate.add(ContextEntity(crate, identifier, {"@type": kind} | about))
