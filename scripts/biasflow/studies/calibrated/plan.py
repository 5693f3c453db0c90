"""What the calibration of measures on an encoder of the user needs of a run: this encoder, trained further with planted
bias. Imports no pandas."""

from collections.abc import Mapping


def calibrated_encoders(options: Mapping) -> dict[str, tuple[float, int]]:
    """The encoders with a planted dose: name -> dose and seed."""
    pairs = [(dose, seed) for dose in options["doses"] for seed in options["seeds"]]
    signs = {True: "minus", False: ""}  # a hyphen before the number would be read as no sign
    return {f"calibrated-dose-{signs[dose < 0]}{abs(dose):g}-seed{seed}": (dose, seed) for dose, seed in pairs}


def encoders(options: Mapping, config: Mapping) -> dict[str, dict]:
    """The same as the configuration has encoders."""
    names = ("recipe", "text", "examples", "labour", "learning_rate", "max_length", "placebo")
    keys = {"source": "continued", "from": options["encoder"]}
    keys |= {key: options[key] for key in names if key in options}
    return {name: {**keys, "dose": dose, "seed": seed} for name, (dose, seed) in calibrated_encoders(options).items()}


def judged_encoders(options: Mapping) -> list[str]:
    """The encoders on which measures are judged: that of the user, and those with a dose."""
    return [options["encoder"], *calibrated_encoders(options)]


def evidence(options: Mapping) -> list[str]:
    """The encoders whose measures this calibrates; a placebo says nothing of them."""
    return [] if options.get("placebo") else [options["encoder"]]
