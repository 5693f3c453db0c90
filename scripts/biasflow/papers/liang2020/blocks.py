"""Which cells Liang, Dufter & Schütze (2020) need: blocks to ask for, by name. Imports no pandas."""

from collections.abc import Mapping

from biasflow.registry import PLAIN, WITH

NAME, NONE = "liang2020", "none"
EACH = "densray-each"  # DensRay in one layer at a time
IN_TRAINING, AT_EVALUATION = "in_training", "at_evaluation"
_PERPLEXITY = ["perplexity", "pseudo_perplexity"]
_INSIDE = ["strength", "occtmp", "weat", "seat", *_PERPLEXITY]


def measured_inside(options: Mapping) -> list[str]:
    """The methods that are measured inside the encoders: `none`, those of the rows, and those of `inside_only`."""
    return list(dict.fromkeys([NONE, *options["methods"], *options["inside_only"]]))


def finetuned(encoder: str) -> str:
    """The name of the encoder that is `encoder` after an epoch of masked-LM training on the text's training part."""
    return f"{encoder}-mlm"


def of_pretrained(method: str) -> str:
    """The name of the method as it is fitted on the encoder before training, which the printed perplexity needs."""
    return method if method == NONE else f"{method}-pretrained"


def blocks(options: Mapping, config: Mapping) -> dict[str, dict]:
    """Return name -> block of cells from which tables and figures are made; no block without encoders.

    `options`: encoders; methods that get a row (`none` always has one), and those that are measured `inside_only`, and
    not in tasks; by_layer: what is measured under `densray-each`; finetuned_perplexity: of the encoders
    `<encoder>-mlm` too; tasks: names of tasks of kind glue, with their seeds,
    glue_encoders: those that are fine-tuned on them (None: all), and `when` a method is active: from training on, or at
    evaluation only. `config`: the whole configuration, of
    which the encoders that know Chinese are read."""
    encoders, methods = options["encoders"], list(dict.fromkeys([NONE, *options["methods"]]))
    if not encoders:
        return {}
    inside = measured_inside(options)
    result = {
        NAME: {"encoders": encoders, "methods": inside, "metrics": _INSIDE},
        f"{NAME}-shares": {"encoders": encoders, "methods": [NONE], "metrics": ["gender_share"]},
    }
    if "densray" in methods:  # the page of sentences
        items = {"token_scores": "token_scores"}
        result[f"{NAME}-sentences"] = {"encoders": encoders, "methods": ["densray"], "items": items}
    if options["by_layer"]:
        result[f"{NAME}-by-layer"] = {"encoders": encoders, "methods": [EACH], "metrics": options["by_layer"]}
    chinese = [name for name in config["metrics"]["occtmp"]["chinese"] if name not in encoders]
    if chinese:  # encoders that are there for this alone
        result[f"{NAME}-chinese"] = {"encoders": chinese, "methods": inside, "metrics": ["occtmp"]}
    if options["finetuned_perplexity"]:
        result[f"{NAME}-mlm"] = {
            "encoders": [finetuned(encoder) for encoder in encoders],
            "methods": [of_pretrained(method) for method in inside],
            "metrics": _PERPLEXITY,
        }
        if "perplexity" in options["by_layer"]:
            by_layer = {"methods": [of_pretrained(EACH)], "metrics": ["perplexity"]}
            result[f"{NAME}-mlm-by-layer"] = {"encoders": result[f"{NAME}-mlm"]["encoders"], **by_layer}
    tuned = encoders if options["glue_encoders"] is None else options["glue_encoders"]
    for task in options["tasks"] if tuned else []:
        models = {"encoders": tuned, "task": task, "seeds": options["seeds"], "metrics": ["accuracy"]}
        at_evaluation = methods if AT_EVALUATION in options["when"] else [NONE]
        result[f"{NAME}-{task}"] = {**models, "strategies": [PLAIN], "methods": at_evaluation}
        carried = [f"{WITH}{method}" for method in methods if method != NONE and IN_TRAINING in options["when"]]
        if carried:
            result[f"{NAME}-{task}-in-training"] = {**models, "strategies": carried, "methods": [NONE]}
    return result
