"""The tables plan.csv (every cell, and why some cannot be measured) and names.csv (what every name stands for)."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pandas as pd

from biasflow.base.errors import printable
from biasflow.base.records import flat
from biasflow.corpora.catalogue import Catalogue
from biasflow.corpora.predictions import PROBABILITY
from biasflow.corpora.records import read_records
from biasflow.corpora.seat import said
from biasflow.encoders.described import FOREIGN, english_split
from biasflow.plan.compiled import Prepared, tasks_of_plan
from biasflow.plan.demands import share_of_base
from biasflow.plan.estimate import estimate
from biasflow.plan.jobs import Plan
from biasflow.plan.methods import VARIANT, resolved
from biasflow.plan.own_words import warnings
from biasflow.plan.setup import Setup
from biasflow.registry import ERASERS

CELLS = ["block", "encoder", "task", "strategy", "seed", "training", "method", "metric", "dataset", "status"]
CELLS += ["reason", "note"]
SHOWN = 2  # reasons in one line
STORING = ("finetune_", "download_encoder", "continue_encoder")  # rules whose jobs store weights
BYTES_OF_BASE = 4.4e8  # that the weights of BERT base take
NAMES = ["name", "kind", "attribute", "value"]
_OF_METHODS = ("eraser", "options", "places", "fitted_on")


def cells_table(plan: Plan) -> pd.DataFrame:
    """A row per cell that was asked for: CELLS; reason is empty where it runs."""
    rows = [{**vars(cell), **vars(cell.model), "training": cell.model.training} for cell in plan.cells]
    table = pd.DataFrame(rows, columns=CELLS)
    return table.assign(reason=table["reason"].map(printable))


def announced(prepared: Prepared) -> str:
    """What is said of a run before its first job, in lines: which parts of an encoder's folder are not applied, which
    vocabularies split most English words, which words of the user's are split, and what tasks leave out of their data.
    BiasflowError for such data that cannot be used."""
    setup, plan = prepared.setup, prepared.plan
    return "\nbiasflow: ".join(
        not_applied(setup)
        + unused_columns(setup)
        + foreign(setup)
        + warnings(setup, plan)
        + dropped(setup, plan, prepared.catalogue)
    )


def costs(prepared: Prepared, due: Collection[str], *, cores: int, on_gpu: bool) -> str:
    """What is said of the time and the room that the jobs of a start take, in one line. due: what they make."""
    left = [job for job in prepared.jobs if job.outputs and job.outputs[0] in due]
    encoders = [prepared.setup.encoders[job.wildcards[0]] for job in left if job.rule.startswith(STORING)]
    stored = BYTES_OF_BASE * sum(map(share_of_base, encoders))
    return estimate(left, cores, stored=stored, on_gpu=on_gpu)


def not_measured(plan: Plan, path: str | Path, rules: Collection[str] = ()) -> str:
    """How many of the cells that are asked for cannot be measured, the commonest reasons, and the file that lists each,
    in one line; "" where all can. path: of plan.csv; rules: of a start's jobs: if they make papers, but not the page,
    the cells are those of the papers."""
    own = {block.asked for block in plan.blocks if f"paper_{block.group}" in rules and "matrix" not in rules}
    cells = [cell for cell in plan.cells if not own or cell.block in own]
    reasons = Counter(cell.reason for cell in cells if cell.reason)
    if not reasons:
        return ""
    shown = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common(SHOWN))
    more = f"; and {len(reasons) - SHOWN} more reasons" if len(reasons) > SHOWN else ""
    which = f"{reasons.total()} of {len(cells)} cells{' of the paper' * bool(own)} cannot be measured"
    return f"{which}: {shown}{more}. A run lists each in {path}"


def not_applied(setup: Setup) -> list[str]:
    """One line for each encoder whose folder has more in it than is measured, such as an adapter."""
    encoders = setup.encoders.values()
    return [f"encoders.{one.name}: not applied: {text}" for one in encoders for text in one.not_applied]


def unused_columns(setup: Setup) -> list[str]:
    """One line for each file of predictions of a classifier elsewhere that has probabilities, too."""
    files = [file for one in setup.encoders.values() if one.is_external for file in one.predictions[0]]
    return [
        f"{file}: the column {PROBABILITY} is not used: gaps count decisions, and whose probability it is, that of the "
        "prediction or of the label, no file says"
        for file in files
        if PROBABILITY in read_records(file, []).attrs["columns"]
    ]


def foreign(setup: Setup) -> list[str]:
    """One line for each local encoder whose vocabulary splits most English words."""
    shares = {one.name: english_split(one.folder) for one in setup.encoders.values() if one.described}
    return [
        f"encoders.{name}: its vocabulary splits {share:.0%} of common English words; English tests say little about it"
        for name, share in shares.items()
        if share >= FOREIGN
    ]


def dropped(setup: Setup, plan: Plan, catalogue: Catalogue) -> list[str]:
    """One line for each task whose data will leave something out, as far as files that lie there tell."""
    texts = {task.name: task.kind.dropped(task, catalogue) for task in tasks_of_plan(setup, plan)}
    return [f"tasks.{name}: {text}" for name, text in texts.items() if text]


def names_table(setup: Setup, plan: Plan) -> pd.DataFrame:
    """What every name stands for: name, kind (encoder, task, method, dataset), attribute, value; of methods and of
    datasets with templates of words, those of the plan.

    Encoders have their attributes as configured (parent: what a continued one starts from), tasks their kind and data;
    a method has places, erasers, fitted_on and the options that are not the default ones, a grid with one setting that
    setting, `<name>-pretrained` and `<name>-random0` their base."""
    rows = [("encoder", name, about) for name, about in encoder_attributes(setup).items()]
    rows += [("task", name, _flat(task)) for name, task in setup.config["tasks"].items()]
    used = {cell.method for cell in plan.cells}
    rows += [("method", name, _method(name, setup.methods)) for name in setup.methods if name in used]
    rows += [("dataset", name, {f"{metric}.templates": said(of)}) for metric, name, of in templates_of(plan)]
    table = [(name, kind, key, printable(str(value))) for kind, name, about in rows for key, value in about.items()]
    return pd.DataFrame(table, columns=NAMES)


def templates_of(plan: Plan) -> list[tuple[str, str, Sequence[str] | None]]:
    """Metric, dataset and templates (None: paper A's) of the user's words that are put into sentences."""
    scores = (score for of_job in plan.scored.values() for score in of_job)
    own = ((score.metric, score.dataset.label, score.dataset.options) for score in scores)
    known = {(metric, name): options["templates"] for metric, name, options in own if "templates" in options}
    return [(*key, templates) for key, templates in known.items()]


def encoder_attributes(setup: Setup) -> dict[str, dict[str, object]]:
    """Encoder -> what names.csv says of it: its part of the configuration, how deep it is, and what it lacks."""
    attributes = {}
    for name, encoder in setup.encoders.items():
        about = {("parent" if key == "from" else key): value for key, value in _flat(encoder.about).items()}
        known = {"path": encoder.folder, "not_applied": "; ".join(encoder.not_applied), "layers": encoder.depth}
        known |= {"new_heads": " ".join(encoder.new_heads), "missing": encoder.missing}
        known["base"] = setup.config["base_models"].get(name)
        attributes[name] = about | {key: value for key, value in known.items() if value}
    return attributes


def _flat(about: Mapping) -> dict[str, object]:
    """Nested options with dotted names; lists as words with spaces between."""
    known = {key: value for key, value in flat(about).items() if value not in (None, [], {})}
    return {key: " ".join(map(str, value)) if isinstance(value, list) else value for key, value in known.items()}


def _method(name: str, methods: Mapping[str, object]) -> dict[str, object]:
    method = resolved(methods[name])
    if isinstance(method, Mapping):
        about = {key: method[key] for key in ("grid", "eraser", "fitted_on", "sequential")}
        settings = method["settings"] or []
        about |= {"setting": settings[0]} if len(settings) == 1 else {}
        return about | _base(name, methods)
    steps = [{**step, "options": _changed_options(step)} for step in method]
    together = {key: dict.fromkeys(str(step[key]) for step in steps if step[key]) for key in _OF_METHODS}
    return {key: " ".join(values) for key, values in together.items() if values} | _base(name, methods)


def _changed_options(step: Mapping) -> str:
    """What an intervention does otherwise than its eraser does by default, as `option=value` in JSON."""
    eraser = ERASERS[step["eraser"]]
    default = {name: schema.get("default") for name, schema in eraser.options.items()}
    of_step = {"fitted_to": eraser.fitted_to[0], "balanced": False, "sequential": False, "control": None}
    of_step |= {"matched": False, "permuted": False, "class_centred": False}
    now = step["options"] | {key: step[key] for key in of_step if key in step}
    default |= of_step
    return " ".join(f"{name}={json.dumps(value)}" for name, value in now.items() if value != default[name])


def _base(name: str, methods: Mapping[str, object]) -> dict[str, str]:
    base = VARIANT.sub("", name)
    return {"base": base} if base != name and base in methods else {}
