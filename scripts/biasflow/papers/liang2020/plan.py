"""The encoders that Liang, Dufter & Schütze (2020) need beside those of the configuration. Imports no pandas."""

from collections.abc import Mapping


def encoders(options: Mapping, config: Mapping) -> dict[str, dict]:
    """Those that are trained on the text before perplexity is measured, by name."""
    known, result = config["metrics"]["perplexity"], {}
    for name in options["encoders"] if options["finetuned_perplexity"] else ():
        keys = {"source": "continued", "from": name, "recipe": "masked_lm", "seed": 0}
        result[f"{name}-mlm"] = {**keys, "text": known["text"], "max_length": known["max_length"]}
    return result
