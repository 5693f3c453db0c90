"""Where encoders come from: their source, the folders of local ones, and the texts that others are trained on.

Imports no torch, since every start of the workflow plans with it."""

import glob
from collections.abc import Mapping, Sequence
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.encoders.stored import SUFFIXES

PLANTED = "planted"
EXTERNAL = "external"
ENCODER = "{encoder}"  # in a path: the folder that the key `encoder` names


def name_folders(config: Mapping) -> None:
    """Put the folder that the key `encoder` names into the paths of local encoders that ask for it. BiasflowError where
    one asks and no folder is named, and where one is named that none asks for."""
    folder = config["encoder"]
    local = {name: about for name, about in config["encoders"].items() if about["source"] == "local"}
    for name, about in local.items():
        if ENCODER in about["path"] and folder is None:
            raise BiasflowError(
                f"config: key 'encoder': the folder of encoders.{name} is not given; add --config encoder=FOLDER to "
                f"the command, or write the folder into encoders.{name}.path"
            )
        about["path"] = about["path"].replace(ENCODER, str(folder))
    if folder is not None and not any(folder in about["path"] for about in local.values()):
        raise BiasflowError(
            "config: key 'encoder': no encoder of this configuration takes its folder from here; give one the path "
            f"'{ENCODER}' (source: local), or use config/mine.yaml"
        )


def local_folder(encoder: Mapping, mirror: str | None) -> Path | None:
    """The folder of a local encoder; None if its path names the mirror and there is no mirror."""
    path = encoder["path"]
    if "{mirror}" in path and mirror is None:
        return None
    return Path(path.replace("{mirror}", str(mirror)))


def local_files(encoder: Mapping, mirror: str | None) -> list[str]:
    """The files of a local encoder that its results depend on, config.json first."""
    folder = local_folder(encoder, mirror)
    found = (file for file in folder.iterdir() if file.suffix in SUFFIXES and file.name != "config.json")
    return [str(folder / "config.json"), *sorted(map(str, found))]


def is_external(config: Mapping, encoder: str) -> bool:
    """Whether an encoder has no weights here, and somebody's files are read in place of its readouts."""
    return config["encoders"][encoder]["source"] == EXTERNAL


def given_files(encoder: Mapping) -> dict[str, list[str]]:
    """Readout -> the files that stand in its place, of an external encoder."""
    return {readout: list(files) for readout, files in encoder.items() if readout != "source"}


def is_expanded(name: str) -> bool:
    """Whether a name of files is a pattern, or in a folder that is named elsewhere."""
    return "{folder}" in name or glob.has_magic(name)


def expanded(names: Sequence[str], folder: str | None) -> list[str]:
    """Names of files, of which those with *, ? or [ in them are patterns: the files that there are, sorted. folder:
    what {folder} stands for in them."""
    found: list[str] = []
    for name in names:
        path = name.replace("{folder}", str(folder))
        # not Path.glob, which takes no absolute pattern
        found += sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else [path]  # noqa: PTH207
    return found


def derived_encoders(config: Mapping) -> dict[str, dict]:
    """The encoders that papers need beside those of the configuration: one per planted bias and seed, and those that
    paper A trains on before it measures perplexity."""
    papers, found = config["papers"], {}
    if "planted" in papers:
        planted = papers["planted"]
        for bias in planted["bias"]:
            for seed in planted["seeds"]:
                keys = {"source": "pretrain", "bias": bias, "seed": seed}
                found[calibration_name(bias, seed)] = {**planted["encoder"], **keys}
    if papers.get("liang2020", {}).get("finetuned_perplexity"):
        options = config["metrics"]["perplexity"]
        for name in papers["liang2020"]["encoders"]:
            keys = {"source": "continued", "from": name, "recipe": "masked_lm", "seed": 0}
            found[f"{name}-mlm"] = {**keys, "text": options["text"], "max_length": options["max_length"]}
    return found


def derived_tasks(config: Mapping) -> dict[str, dict]:
    """The tasks that papers need beside those of the configuration: each of papers.planted.tasks on data of each amount
    of bias. BiasflowError, naming the key, for data that no bias is planted in."""
    planted, found = config["papers"].get("planted"), {}
    for name, about in planted["tasks"].items() if planted else ():
        if not str(about.get("data")).startswith(PLANTED):
            raise BiasflowError(
                f"config: key 'papers.planted.tasks.{name}.data': no bias is planted in them; leave it out"
            )
        for bias in planted["task_bias"]:
            found[calibration_task(name, bias)] = {**about, "planted": {**about["planted"], "bias": bias}}
    return found


def calibration_name(bias: float, seed: int) -> str:
    return f"planted-bias{bias:g}-seed{seed}"


def calibration_task(task: str, bias: float) -> str:
    return f"planted-{task}-bias{bias:g}"


def origin(config: Mapping, encoder: str) -> str:
    """The encoder that a continued one goes back to; any other is its own origin."""
    about = config["encoders"][encoder]
    return origin(config, about["from"]) if about["source"] == "continued" else encoder


def corpora(encoder: Mapping) -> list[str]:
    """The names of the texts that an encoder is pre-trained on; none unless it is."""
    named = encoder.get("corpus", [])
    return [named] if isinstance(named, str) else list(named)


def is_planted(config: Mapping, encoder: str) -> bool:
    """Whether an encoder was trained on the embedded corpus, so that what is embedded fits it."""
    return PLANTED in corpora(config["encoders"][origin(config, encoder)])
