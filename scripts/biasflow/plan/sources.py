"""Where encoders come from, as the configuration says it. Imports no torch: the workflow is planned with it."""

from collections.abc import Mapping
from pathlib import Path

from scripts.biasflow.base.errors import BiasflowError

ENCODER_SUFFIXES = (".json", ".txt", ".safetensors", ".model")


def local_folder(encoder: Mapping, mirror: str | None) -> Path | None:
    """The folder of a local encoder; None if its path names the mirror and there is no mirror."""
    path = encoder["path"]
    if "{mirror}" in path and mirror is None:
        return None
    return Path(path.replace("{mirror}", str(mirror)))


def local_files(encoder: Mapping, mirror: str | None) -> list[str]:
    """The files of a local encoder that its results depend on, config.json first."""
    folder = local_folder(encoder, mirror)
    files = sorted(str(file) for file in folder.iterdir() if file.suffix in ENCODER_SUFFIXES)
    return [str(folder / "config.json"), *(file for file in files if Path(file).name != "config.json")]


def not_run(config: Mapping) -> dict[str, str]:
    """Encoder -> why it cannot be measured here. A missing folder of an encoder that is not optional is an error."""
    reasons = {}
    for name, encoder in config["encoders"].items():
        if encoder["source"] == "local":
            folder = local_folder(encoder, config["mirror"])
            if folder is None:
                reason = f"its path {encoder['path']} needs the config key mirror"
            elif not (folder / "config.json").is_file():
                reason = f"there is no encoder in {folder} (no config.json)"
            else:
                continue
            if not encoder["optional"]:
                raise BiasflowError(f"config: key 'encoders.{name}.path': {reason}")
            reasons[name] = reason
    return reasons


def without_next_sentence(config: Mapping) -> dict[str, str]:
    """Encoder -> why it has no next-sentence scores, for those that the configuration says have no such head."""
    names = config["projective"]["encoders"]
    return {name: "it has no next-sentence head" for name in names if not config["encoders"][name]["next_sentence"]}


def calibration_encoders(config: Mapping) -> dict[str, dict]:
    """The encoders of the calibration, one per planted bias and seed, by name."""
    calibration = config.get("calibration")
    if not calibration:
        return {}
    return {
        calibration_name(bias, seed): {**calibration["encoder"], "source": "pretrain", "bias": bias, "seed": seed}
        for bias in calibration["bias"]
        for seed in calibration["seeds"]
    }


def calibration_name(bias: float, seed: int) -> str:
    return f"planted-bias{bias:g}-seed{seed}"


def measures_not_run(config: Mapping) -> dict[str, str]:
    """Measure of paper A -> why this run does not have it."""
    densray = config["densray"]
    word_tests = [name for name in densray["association"] if not name.startswith("sent-")]
    absent = {
        "occtmp": not densray["occtmp"] and "densray.occtmp names no occupations",
        "chinese": "the encoder is not in densray.chinese (it must know Chinese)",
        "weat": not word_tests and "densray.association names no test of words",
        "seat": len(word_tests) == len(densray["association"]) and "densray.association names no test of sentences",
        "pseudo_perplexity": not densray["perplexity"]["pseudo_sentences"] and "pseudo_sentences is 0",
        "glue": not densray["glue"]["tasks"] and "densray.glue names no tasks",
        "intrinsic": "the encoder is not in projective.encoders",
        "nli": "the encoder is not in nli.encoders",
    }
    return {measure: reason for measure, reason in absent.items() if reason}
