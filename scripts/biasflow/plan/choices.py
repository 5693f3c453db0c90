"""What may be written in a configuration, one line each, as `biasflow list` prints it; for an encoder's folder also
what can be measured on it. And the smallest configuration for such a folder, which `biasflow init` writes."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.files import no_folder, read_text
from biasflow.base.shipped import shipped
from biasflow.corpora.catalogue import read_catalogue
from biasflow.encoders.families import FAMILIES
from biasflow.encoders.places import resolve
from biasflow.matrix import NA, PRETRAINED
from biasflow.plan.cells import name_of_head, plan
from biasflow.plan.compiled import texts_of
from biasflow.plan.configuration import load_schema
from biasflow.plan.configuration import resolve as completed
from biasflow.plan.datasets import DATASETS
from biasflow.plan.facts import gather
from biasflow.plan.methods import MATCHED, OF_PRETRAINED, PERMUTED, RANDOM, VARIANT
from biasflow.plan.setup import Setup
from biasflow.registry import ERASERS, METRICS, PAPERS, READOUTS, STRATEGIES, TASKS, WITH
from biasflow.results.page import meanings

Lines = Iterator[tuple[str, str]]
ENCODER = "encoder"  # what the encoder of a folder is called here
GROUPS = {"inside": "inside the encoder", "outside": "in a fine-tuned model", "cost": "cost"}  # of measures, in words


def checked(config: Mapping) -> dict:
    """Return a configuration with all defaults filled in. BiasflowError as at the start of a run."""
    return completed(config, load_schema())


def with_folder(folder: str) -> Setup:
    """A configuration that asks for every metric of the encoder in a folder, as it is, and what the folder says.
    BiasflowError for a folder that is no encoder, or one that biasflow does not know."""
    if not Path(folder).is_dir():
        raise BiasflowError(
            f"{no_folder(folder)}, one that transformers' save_pretrained has written (an encoder "
            "of the hub is known once it was measured: see results/RUN/plan.csv)"
        )
    block = {"encoders": [ENCODER], "metrics": list(METRICS)}
    source = {"source": "local", "path": folder}
    config = checked({"run": ENCODER, "encoders": {ENCODER: source}, "ask": {"all": block}})
    try:
        return Setup(config, gather(config))
    except BiasflowError as error:
        raise BiasflowError(str(error).removeprefix(f"config: key 'encoders.{ENCODER}.path': ")) from error


def reasons(setup: Setup) -> dict[str, str]:
    """Metric -> why it cannot be measured on the encoder of `with_folder`, "" where it can.

    A metric of fine-tuned models alone says which task it needs."""
    reason_by_metric: dict[str, str] = {}
    for cell in plan(setup).cells:
        reason_by_metric[cell.metric] = cell.reason if reason_by_metric.get(cell.metric, cell.reason) else ""
    return {
        metric: re.sub(r"^ask\.\w+\.\w+: ", "", reason).replace(f"encoders.{ENCODER}", "the encoder")
        for metric, reason in reason_by_metric.items()
    }


def encoders(config: Mapping | None) -> Lines:
    """The encoders of a configuration; without one, the sources that an encoder can have."""
    schema = load_schema()["$defs"]
    sources = schema["encoder"]["properties"]["source"]["enum"]
    yield from _defined(config, "encoders", {f"source: {name}": schema[name]["description"] for name in sources})


def tasks(config: Mapping | None) -> Lines:
    """The tasks of a configuration; without one, the kinds of task."""
    yield from _defined(config, "tasks", {f"kind: {name}": entry.label for name, entry in TASKS.items()})


def _defined(config: Mapping | None, part: str, kinds: Mapping[str, str]) -> Lines:
    return iter(({name: _shortly(about) for name, about in config[part].items()} if config else kinds).items())


def strategies(config: Mapping | None) -> Lines:
    """The ways to fine-tune, and what each needs of a task."""
    for name, entry in STRATEGIES.items():
        yield name, f"{entry.meaning}; it needs {' and '.join(entry.needs) or 'nothing more'}"
    yield f"{WITH}<method>", "the method is active in every step of the training"


def methods(config: Mapping | None) -> Lines:
    """The methods of a configuration: those that every configuration has, and those that it defines."""
    smallest = {"run": ENCODER, "encoders": {ENCODER: {"source": "pretrain", "corpus": "planted"}}}
    smallest |= {"ask": {"all": {"encoders": [ENCODER], "metrics": ["weat"]}}}
    known = (config or completed(smallest, load_schema()))["methods"]
    yield from ((name, _method(method)) for name, method in known.items() if not VARIANT.search(name))
    yield f"<method>{OF_PRETRAINED}", "the same, fitted on the encoder before its fine-tuning"
    yield f"<method>{RANDOM}", "its control: draws of as many random directions"
    yield f"<method>{RANDOM}{MATCHED}", "its control: draws of random directions that move vectors as far"
    permuted = f"<method>{PERMUTED}"
    yield permuted, "of one fitted to a task: draws of the same, fitted to genders permuted within each class"


def _method(method: object) -> str:
    if isinstance(method, Mapping):
        return f"grid {method['grid']}, fitted by {method['eraser']}"
    steps = (f"{ERASERS[step['eraser']].label} (places: {step['places']})" for step in method)
    return ", then ".join(steps) or "the untouched model"


def erasers(config: Mapping | None) -> Lines:
    """What methods are made of: what each removes, what it is fitted to, and its options."""
    for name, entry in ERASERS.items():
        options = ", ".join(f"{key}: {schema.get('default', '...')}" for key, schema in entry.options.items())
        about = f"{entry.label}: {entry.meaning}; fitted to {', '.join(entry.fitted_to)}"
        yield name.replace("_", "-"), about + f"; options {options}" * bool(options)


def metrics(config: Mapping | None) -> Lines:
    """What can be measured, on which models, and which head it needs."""
    for name, entry in METRICS.items():
        head = READOUTS[entry.readout].head if entry.readout in READOUTS else NA
        models = [PRETRAINED] * entry.pretrained + ["fine-tuned"] * entry.finetuned
        needs = "" if head in (NA, "none") else f"; needs a {name_of_head(head)} head"
        yield name, f"{entry.label} ({' and '.join(models)} models{needs})"


def measures(config: Mapping | None) -> Lines:
    """The columns of the matrix: what they mean, and which direction is better."""
    for metric, entry in METRICS.items():
        for name, measure in entry.measures.items():
            better = "nearer is better" if measure.better == "neutral" else f"{measure.better} is better"
            about = f"{measure.label}: {measure.meaning}"
            yield name, f"{about}; {GROUPS[measure.group]}, neutral {measure.neutral:g}, {better}; metric {metric}"


def papers(config: Mapping | None) -> Lines:
    """The papers, and their tables, figures and pages: the names of targets, as in `snakemake orgad2022_table2`."""
    for text in texts_of(config or {"papers": {name: {} for name in PAPERS}}).values():
        yield text.name, text.title
        yield from {target.name: re.split("[.:;(?]", target.caption)[0].strip() for target in text.targets}.items()


def places(config: Mapping | None) -> Lines:
    """Where in an encoder a method can act."""
    yield from meanings("places").items()


def files(config: Mapping | None) -> Lines:
    """The external files, which the key `files` may take from a path of the user's."""
    yield from ((name, file.url or "") for name, file in read_catalogue().files.items())


def keys(config: Mapping | None) -> Lines:
    """Every key of a configuration with its default, as far as the schema says it; <name> stands for names of yours."""
    schema = load_schema()
    yield from _keys(schema, schema["$defs"], "")


def _keys(schema: Mapping, definitions: Mapping, path: str) -> Lines:
    for name, below in schema.get("properties", {}).items():
        about = _described(below, definitions)
        if "description" in about:
            default = f" (default: {_short(below['default'])})" if below.get("default") not in (None, {}) else ""
            yield f"{path}{name}", " ".join(about["description"].split()) + default
        yield from _keys(about, definitions, f"{path}{name}.")
    if isinstance(more := schema.get("additionalProperties"), Mapping):
        yield from _keys(_described(more, definitions), definitions, f"{path}<name>.")
    for branch in schema.get("allOf", ()):
        kind = "/".join(str(value["const"]) for value in branch["if"]["properties"].values())
        yield from _keys(_described(branch["then"], definitions), definitions, f"{path}({kind}) ")


def _described(schema: Mapping, definitions: Mapping) -> dict:
    """A schema with what it refers to; its own description counts more."""
    return {**(definitions[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else {}), **schema}


def _short(value: object) -> str:
    return str(value) if len(str(value)) <= 40 else "..."


def _shortly(about: Mapping) -> str:
    plain = {key: value for key, value in about.items() if isinstance(value, str | int | float | list)}
    return ", ".join(f"{key}: {_short(value)}" for key, value in plain.items())


# What can be listed; all are given a resolved configuration, or None.
CHOICES: Mapping[str, Callable[[Mapping | None], Lines]] = {
    function.__name__: function
    for function in (encoders, tasks, strategies, methods, erasers, metrics, measures, places, papers, files, keys)
}


def places_of(setup: Setup) -> Lines:
    """What the places mean in the encoder of the folder, and those that it lacks."""
    layers, kind = setup.encoders[ENCODER].depth, setup.encoders[ENCODER].model_type
    for place, meaning in meanings("places").items():
        if kind not in FAMILIES:
            yield place, f"no: the layers of the model type {kind} are not known"
        elif ".attention." in place and not FAMILIES[kind].attention:
            yield place, f"no: {kind} makes query, key and value in one matrix"
        elif "[i]" in place:
            yield place, f"{meaning}: i from 0 to {layers - 1}, or from -1 back to -{layers}"
        else:
            try:
                yield place, f"{meaning}: {' '.join(resolve(place, layers))}"
            except AbsentError as error:
                yield place, f"no: {error}"


def metrics_of(setup: Setup) -> Lines:
    """Which metrics can be measured on the encoder of the folder, and why the others cannot."""
    about = dict(metrics(None))
    for name, reason in reasons(setup).items():
        yield name, f"no: {reason}" if reason else f"yes: {about[name]}"


def measures_of(setup: Setup) -> Lines:
    """Which measures can be computed for the encoder of the folder, and why the others cannot."""
    why = reasons(setup)
    metrics_in_order = [metric for metric, entry in METRICS.items() for _ in entry.measures]
    for metric, (name, about) in zip(metrics_in_order, measures(None), strict=True):
        yield name, f"no: {why[metric]}" if why[metric] else f"yes: {about}"


OF_FOLDER: Mapping[str, Callable[[Setup], Lines]] = {
    "metrics": metrics_of,
    "measures": measures_of,
    "places": places_of,
}


FIRST_METHODS = ("none", "leace", "leace-random-matched")
SENTENCE_METHODS = ("none", "leace-sentence", "leace-sentence-random-matched")  # where the layers are not known
CONTROL = "{} is a control: random edits of the same size in place of {}."
UNEDITED = "No method can act, because the layers of the model type {kind} are not known."
SLOW = ("ceat", "people_search")  # reads thousands of texts: a user may want to see the others first
TEXT = shipped("data/first_configuration.txt")  # with {names} for what `first_configuration` fills in


class First(NamedTuple):
    """A first configuration (text), by metric why it cannot be measured on this encoder (lacking), why no method can
    act, or "" (unedited), and what of the folder is not applied."""

    text: str
    lacking: Mapping[str, str]
    unedited: str
    not_applied: tuple[str, ...]


def first_configuration(folder: str, file: str) -> First:
    """The configuration for an encoder's folder that will lie in `file`. BiasflowError as choices.with_folder."""
    setup = with_folder(folder)
    of_encoders = {name for name, entry in METRICS.items() if entry.pretrained and entry.datasets in DATASETS}
    why = {name: reason for name, reason in reasons(setup).items() if name in of_encoders}
    kind, names = setup.encoders[ENCODER].model_type, FIRST_METHODS
    if kind not in FAMILIES:
        names = SENTENCE_METHODS if setup.encoders[ENCODER].is_sentence_encoder else FIRST_METHODS[:1]
    asked = [name for name, reason in why.items() if not reason and METRICS[name].measures]
    lacking = {name: reason for name, reason in why.items() if reason}
    width = max(len(name) for name in asked) + 1
    unedited = UNEDITED.format(kind=kind) if names == FIRST_METHODS[:1] else ""
    template = read_text(TEXT).removesuffix("\n")
    text = template.format(
        folder=" ".join(folder.split()),
        file=file,
        name=_run_name(folder),
        path=json.dumps(folder, ensure_ascii=False),
        methods=", ".join(names),
        about=f"none: the encoder as it is. {unedited or CONTROL.format(names[2], names[1])}",
        metrics="\n".join(f"      - {name:{width}}# {METRICS[name].label}" for name in asked if name not in SLOW),
        slow=", ".join(name for name in asked if name in SLOW),
        lacking="".join(f"    # Cannot be measured: {name}, because {reason}\n" for name, reason in lacking.items()),
    )
    return First(text, lacking, unedited, setup.encoders[ENCODER].not_applied)


def _run_name(folder: str) -> str:
    """A name for run and encoder, which is part of paths: small letters, digits and hyphens."""
    name = re.sub(r"[^a-z0-9]+", "-", Path(folder).resolve().name.lower()).strip("-")[:50]
    return name if name and name not in ("corpora", "null", "true", "false") and not name.isdigit() else "mine"
