"""Expands what a configuration writes in short: folders and patterns of files, and the encoders and tasks that papers
need beside those that it names."""

import glob
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import check_path

PLANTED = "planted"
EXTERNAL = "external"
ENCODER = "{encoder}"  # in a path: the folder that the key `encoder` names
PINNED = re.compile(r"(?P<id>[\w-][\w.-]*(/[\w.-]+)?)@(?P<revision>[0-9a-f]{40})")  # an encoder of the hub
REVISION = 'REVISION is a commit of 40 hexadecimal digits, which the hub shows under "Files and versions", "History"'


def name_encoder(config: Mapping) -> None:
    """Put the encoder that the key `encoder` (a folder) or `hub` (NAME@REVISION) names in the place of local ones whose
    path asks for it. BiasflowError where one asks and none is named, or two are, where one is named that none asks for,
    for a revision that is not pinned, and for a name of the hub in the place of a folder."""
    folder, hub = config["encoder"], config["hub"]
    asking = {name: about for name, about in config["encoders"].items() if ENCODER in about.get("path", "")}
    if asking and folder is None and hub is None:
        raise BiasflowError(
            f"config: key 'encoder': the folder of encoders.{next(iter(asking))} is not given; add --config "
            "encoder=FOLDER to the command, or hub=NAME@REVISION for an encoder of the model hub"
        )
    if folder is not None and hub is not None:
        raise BiasflowError("config: keys 'encoder' and 'hub': both name the encoder; leave one of them out")
    if not asking and (folder, hub) != (None, None):
        raise BiasflowError(
            f"config: key '{'encoder' if hub is None else 'hub'}': no encoder of this configuration is taken from "
            f"here; give one the path '{ENCODER}' (source: local), or use config/mine.yaml"
        )
    if hub is not None:
        pinned = PINNED.fullmatch(hub)
        if pinned is None:
            raise BiasflowError(f"config: key 'hub': {hub!r} is not NAME@REVISION; {REVISION}")
        for about in asking.values():
            about.clear()
            about |= {"source": "hub", **pinned.groupdict()}
    elif folder is not None:
        if PINNED.fullmatch(f"{folder}@{'0' * 40}") and not Path(folder).is_dir():
            raise BiasflowError(
                f"config: key 'encoder': there is no folder {folder}; if it is the name of an encoder on the model "
                f"hub, write --config hub={folder}@REVISION; {REVISION}"
            )
        for about in asking.values():
            about["path"] = about["path"].replace(ENCODER, folder)


def is_expanded(name: str) -> bool:
    """Whether a file name is a pattern, or lies in a folder that another key names."""
    return "{folder}" in name or glob.has_magic(name)


def expanded(names: Sequence[str], folder: str | None) -> list[str]:
    """Return the files that names stand for; a name with *, ? or [ stands for all files that it matches, sorted.
    folder: what {folder} stands for in names. BiasflowError for a file that no rule can take."""
    paths: list[str] = []
    for name in names:
        path = name.replace("{folder}", str(folder))
        # not Path.glob, which takes no absolute pattern
        paths += sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else [path]  # noqa: PTH207
    for path in paths:
        check_path(path)
    return paths


def judged_encoders(config: Mapping, paper: str) -> list[str]:
    """The encoders on which a paper judges measures; only the papers `planted` and `calibrated` have any."""
    options = config["papers"][paper]
    if paper == "planted":
        return [calibration_name(bias, seed) for bias in options["bias"] for seed in options["seeds"]]
    return [options["encoder"], *calibrated_encoders(options)] if paper == "calibrated" else []


def derived_encoders(config: Mapping) -> dict[str, dict]:
    """The encoders that papers need beside those of the configuration: one per planted bias and seed, and those that
    paper A trains on before it measures perplexity."""
    papers, encoders = config["papers"], {}
    if "planted" in papers:
        planted = papers["planted"]
        for bias in planted["bias"]:
            for seed in planted["seeds"]:
                keys = {"source": "pretrain", "bias": bias, "seed": seed}
                encoders[calibration_name(bias, seed)] = {**planted["encoder"], **keys}
    if "calibrated" in papers:
        options = papers["calibrated"]
        keys = {"source": "continued", "from": options["encoder"], "recipe": "planted"}
        names = ("text", "examples", "labour", "learning_rate", "max_length")
        keys |= {key: options[key] for key in names if key in options}
        for name, (dose, seed) in calibrated_encoders(options).items():
            encoders[name] = {**keys, "dose": dose, "seed": seed}
    if papers.get("liang2020", {}).get("finetuned_perplexity"):
        options = config["metrics"]["perplexity"]
        for name in papers["liang2020"]["encoders"]:
            keys = {"source": "continued", "from": name, "recipe": "masked_lm", "seed": 0}
            encoders[f"{name}-mlm"] = {**keys, "text": options["text"], "max_length": options["max_length"]}
    return encoders


def derived_tasks(config: Mapping) -> dict[str, dict]:
    """The tasks that papers need beside those of the configuration: each of papers.planted.tasks on data of each amount
    of bias. BiasflowError, naming the key, for data that no bias is planted in."""
    planted, tasks = config["papers"].get("planted"), {}
    for name, about in planted["tasks"].items() if planted else ():
        if not str(about.get("data")).startswith(PLANTED):
            raise BiasflowError(
                f"config: key 'papers.planted.tasks.{name}.data': no bias is planted in them; leave it out"
            )
        for bias in planted["task_bias"]:
            tasks[calibration_task(name, bias)] = {**about, "planted": {**about["planted"], "bias": bias}}
    return tasks


def not_planted(key: str, encoder: str) -> BiasflowError:
    """Return the error for a key that names the embedded text for an encoder that never saw it."""
    return BiasflowError(
        f"config: key '{key}': planted, but encoder {encoder} was not trained on the planted corpus; "
        "name another text, or leave it out"
    )


def calibration_name(bias: float, seed: int) -> str:
    return f"planted-bias{bias:g}-seed{seed}"


def calibration_task(task: str, bias: float) -> str:
    return f"planted-{task}-bias{bias:g}"


def calibrated_encoders(options: Mapping) -> dict[str, tuple[float, int]]:
    """The encoders of papers.calibrated with a planted dose: name -> dose and seed."""
    pairs = [(dose, seed) for dose in options["doses"] for seed in options["seeds"]]
    signs = {True: "minus", False: ""}  # a hyphen before the number would be read as no sign
    return {f"calibrated-dose-{signs[dose < 0]}{abs(dose):g}-seed{seed}": (dose, seed) for dose, seed in pairs}
