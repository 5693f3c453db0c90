"""Checks a configuration against its schema and fills in the schema's defaults. Every error is one line."""

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import yaml
from jsonschema.validators import extend

from biasflow.base.errors import BiasflowError
from biasflow.base.names import PINNED, REVISION, Faults, is_called, refuse, require
from biasflow.base.paths import DATA_FOLDERS, Paths
from biasflow.base.shipped import PACKAGE as FOLDER
from biasflow.base.shipped import shipped
from biasflow.corpora.catalogue import read_catalogue
from biasflow.encoders.configured import EXTERNAL, PLANTED, not_planted
from biasflow.encoders.recipes import MASKED_LM, PLANTED_SEARCH, PLANTING, RECIPES, SWAPPED
from biasflow.papers.paper import brought
from biasflow.plan import datasets
from biasflow.plan.methods import methods_of_erasers, steps_of, unfitting_methods, with_variants
from biasflow.plan.setup import Setup, kind_of, tasks_of_papers
from biasflow.plan.validation import Validator, fault
from biasflow.registry import PAPERS, STRATEGIES, TASKS
from biasflow.stimuli.densray_sets import OCCUPATIONS

ENCODER = "{encoder}"  # in a path: the folder that the key `encoder` names
MINE = "mine"  # what the encoder of this key is called that is measured in place of those of papers
_IN_PLACE = "an encoder of yours takes the place of a paper's with --config encoder=FOLDER, and the file as it is"


def load_schema() -> dict:
    """The JSON Schema (draft 2020-12) of configurations: plan/schema.yaml, and the schema of every kind of task, whose
    definitions may be referred to anywhere, so that each has a name of its own."""
    schema = _read(shipped("plan/schema.yaml"))
    definitions, task = schema["$defs"], {"required": ["kind"], "properties": {"kind": {"enum": list(TASKS)}}}
    definitions["task"] = {"type": "object", **task, "allOf": []}
    for kind, entry in TASKS.items():
        keys = _read(FOLDER / entry.schema)
        properties = {"kind": {"const": kind}, **_of_strategies(kind), **keys["properties"]}
        definitions |= {**keys.pop("$defs", {}), kind: keys | {"properties": properties}}
        is_of_kind = {"properties": {"kind": {"const": kind}}, "required": ["kind"]}
        definitions["task"]["allOf"].append({"if": is_of_kind, "then": {"$ref": f"#/$defs/{kind}"}})
    return schema


def _of_strategies(kind: str) -> dict[str, dict]:
    """The keys of a kind of task with the options of its strategies that the registry describes."""
    return {
        entry.adapts: {
            "description": f"The strategy {name}: {entry.label}.",
            "type": "object",
            "additionalProperties": False,
            "properties": dict(entry.options),
        }
        for name, entry in STRATEGIES.items()
        if entry.options and kind_of(kind).has.issuperset(entry.needs)
    }


def _read(path: Path) -> dict:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def resolve(config: Mapping, schema: Mapping) -> dict:
    """A copy of `config` with all defaults filled in; BiasflowError naming the key if it does not follow the schema."""
    resolved = {key: _of_command_line(key, value, schema) for key, value in _copied(config).items()}
    if isinstance(resolved.get("papers"), dict):  # null, in a file that is laid over another, leaves a paper out
        resolved["papers"] = {name: options for name, options in resolved["papers"].items() if options is not None}
    if isinstance(resolved.setdefault("methods", {}), dict):
        resolved["methods"] = {**resolved["methods"], **methods_of_erasers(), **resolved["methods"]}
    refuse(_no_lists(resolved["methods"]))
    _fill(resolved, schema, schema)
    if problem := fault(resolved, schema):
        instead = f"; {_IN_PLACE}" if resolved.get("papers") and "'encoders." in problem else ""
        raise BiasflowError(f"config: {problem}{instead}")
    for method in resolved["methods"].values():
        for step in steps_of(method):
            step["eraser"] = step["eraser"].replace("-", "_")  # written as methods are, or as in the registry
    _name_encoder(resolved)
    resolved["base_models"] = _bases(resolved)
    _fill(resolved["encoders"], schema["properties"]["encoders"], schema)  # one of the hub has other keys
    refuse(_limits_of_papers(resolved))
    _spread_limit(resolved)
    for part, (paper, options) in product(("encoders", "tasks"), resolved["papers"].items()):
        for name, keys in (brought(paper, part, options, resolved) or {}).items():
            _fill(keys, schema["properties"][part]["additionalProperties"], schema)
            if resolved[part].setdefault(name, keys) != keys:
                raise BiasflowError(f"config: key '{part}.{name}': a paper of this run uses this name; choose another")
    refuse(_unfitting(resolved))
    resolved["methods"] = with_variants(resolved["methods"])
    return _with_paths(resolved)


def _copied(value: object) -> object:
    """A deep copy in which no two keys share a value, as anchors of YAML do: each is filled with its own defaults."""
    if isinstance(value, Mapping):
        return {key: _copied(below) for key, below in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value


def _of_command_line(key: str, value: object, schema: Mapping) -> object:
    """A value at the top of the configuration; --config hands true, false and null over as text."""
    words = {"true": True, "false": False, "null": None}
    allowed = {**schema["properties"].get(key, {}), "$defs": schema["$defs"]}
    is_word = isinstance(value, str) and value in words and not Validator(allowed).is_valid(value)
    return words[value] if is_word else value


def _name_encoder(config: dict) -> None:
    """Put the encoders that the keys `encoder` (folders) and `hub` (NAME@REVISION, or an entry) name in the place of a
    local one whose path asks for them, in `encoders` and in the blocks and papers that name it; where none asks and
    only papers are there, in the place of all that these name. Of several each is one of its own. BiasflowError where
    these do not fit (`_misnamed`)."""
    folders, of_hub = (_listed(config[key]) for key in ("encoder", "hub"))
    asking = {name: about for name, about in config["encoders"].items() if ENCODER in about.get("path", "")}
    named_by_papers = list(product(config["papers"].values(), _NAMED_BY_PAPERS["encoders"]))
    if not asking and (folders or of_hub) and config["papers"] and not config["ask"]:
        config["encoders"] = asking = {MINE: {"source": "local", "path": ENCODER}}
        config["metrics"]["occtmp"]["chinese"], config["fitting"]["own"] = [], {}  # of those that it replaces
        for options, key in named_by_papers:
            options |= {key: [MINE]} if options.get(key) else {}
    refuse(_misnamed(config, folders, of_hub, list(asking)))
    for name, about in asking.items():
        given = [{**about, "path": about["path"].replace(ENCODER, folder)} for folder in folders]
        entries = (PINNED.fullmatch(pin).groupdict() if isinstance(pin, str) else pin for pin in of_hub)
        given += [{"source": "hub", **entry} for entry in entries]
        names = [name] if len(given) == 1 else names_of(Path(one.get("path") or one["id"]) for one in given)
        others = {other: keys for other, keys in config["encoders"].items() if other != name}
        if taken := {*names} & {*others}:
            raise BiasflowError(f"config: key 'encoder': encoders.{min(taken)} is there already; name it otherwise")
        config["encoders"] = {**others, **dict(zip(names, given, strict=True))}
        for block, key in (*((block, "encoders") for block in config["ask"].values()), *named_by_papers):
            if isinstance(listed := block.get(key), list):
                block[key] = [one for other in listed for one in (names if other == name else [other])]


def _bases(config: Mapping) -> dict[str, str]:
    """Encoder -> what the key `base_models` says that it was trained from, by the encoder's name in this run."""
    bases = {}
    for given, base in config["base_models"].items():
        names = [name for name, about in config["encoders"].items() if is_called(given, name, about)]
        if len(names) != 1:
            raise BiasflowError(
                f"config: key 'base_models': {given!r} is the name of {len(names) or 'no'} encoders of this run; write "
                f"one of {', '.join(config['encoders'])}"
            )
        bases[names[0]] = base
    return bases


def _listed(value: str | list | dict | None) -> list:
    return value if isinstance(value, list) else [] if value is None else [value]


def names_of(paths: Iterable[Path]) -> list[str]:
    """What encoders in these folders, or of these names on the hub, are called: by the last part, as names of
    configurations are written, with what comes before it where two would be called the same."""
    named: dict[str, Path] = {}
    for path in (path.absolute() for path in paths):
        parts = [
            *filter(None, (re.sub(r"\.(?!\d)|[^\w.-]+", "-", part, flags=re.ASCII).strip("-_.") for part in path.parts))
        ]
        tries = ("-".join(parts[-n:]) for n in range(1, len(parts) + 1))
        named[next(name for name in tries if name not in named)] = path
    return [*named]


def _misnamed(config: Mapping, folders: Sequence[str], of_hub: Sequence[str], asking: list[str]) -> Faults:
    """Where one asks and none is named, or two are, where one is named that none asks for, a revision that is not
    pinned, and a name of the hub in the place of a folder."""
    if asking and not folders and not of_hub:
        yield (
            "encoder",
            f"the folder of encoders.{asking[0]} is not given; add --config encoder=FOLDER to the command, or "
            "hub=NAME@REVISION for an encoder of the model hub",
        )
    if folders and of_hub and not isinstance(config["encoder"], list):
        yield "encoder", "`hub` names the encoder, too; leave one of them out, or write lists"
    if len(asking) > 1 and len([*folders, *of_hub]) > 1:
        yield (
            "encoder",
            f"{' and '.join(asking)} ask for an encoder, so a list has no single place; name them one by one",
        )
    if not asking and (folders or of_hub):
        yield (
            "encoder" if folders else "hub",
            f"no encoder of this configuration is taken from here; give one the path '{ENCODER}' (source: local), or "
            "use config/mine.yaml",
        )
    for pin in of_hub:
        if isinstance(pin, str) and not PINNED.fullmatch(pin):
            yield "hub", f"{pin!r} is not NAME@REVISION; {REVISION}"
    for folder in folders:
        if PINNED.fullmatch(f"{folder}@{'0' * 40}") and not Path(folder).is_dir():
            yield (
                "encoder",
                f"there is no folder {folder}; if it is the name of an encoder on the model hub, write --config "
                f"hub={folder}@REVISION; {REVISION}",
            )


def _with_paths(config: Mapping) -> dict:
    """The configuration with the paths of catalogued files in place of their names, in what external encoders give."""

    def placed(value: object) -> object:
        if isinstance(value, Mapping):
            return {key: item if key == "column" else placed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [placed(item) for item in value]
        return paths.corpus(value) if value in catalogue.files else value

    encoders, paths = config["encoders"], Paths(config["run"], config["files"])
    external = [name for name, about in encoders.items() if about["source"] == EXTERNAL]
    catalogue = read_catalogue() if external else None
    return {**config, "encoders": {**encoders, **{name: placed(encoders[name]) for name in external}}}


def _spread_limit(config: Mapping) -> None:
    """Give the run's limit to all tasks and blocks of `ask` that have none of their own."""
    for about in (*config["tasks"].values(), *config["ask"].values()):
        if about.get("limit", 0) is None:  # coreference has no such key
            about["limit"] = config["limit"]


def _limits_of_papers(config: Mapping) -> Faults:
    """A limit of a study, or of a single task of a paper: the captions of its tables tell of the run's alone."""
    limited = {f"tasks.{task}.": config["tasks"].get(task, {}) for task in tasks_of_papers(config)}
    for paper, options in config["papers"].items():
        defined = options.get("tasks") if isinstance(options.get("tasks"), Mapping) else {}
        limited |= {f"papers.{paper}.tasks.{task}.": about for task, about in defined.items()}
    studies = [name for name, options in config["papers"].items() if brought(name, "judged_encoders", options)]
    for key, about in ({"": config, **limited} if studies else limited).items():
        if about.get("limit") is not None and (studies or about["limit"] != config["limit"]):
            yield (
                f"{key}limit",
                "the tables of a study are of all data; leave the limit or the study out, or limit a block of `ask`"
                if studies
                else "a task of a paper has no limit of its own; for a quick look write `limit` at the top of the file",
            )


def _no_lists(methods: object) -> Faults:
    """An intervention, or the name of an eraser, that stands where a list of interventions belongs: the schema would
    take it for a grid."""
    for name, method in methods.items() if isinstance(methods, dict) else ():
        if isinstance(method, str) or (isinstance(method, dict) and "eraser" in method and "grid" not in method):
            eraser = method if isinstance(method, str) else method["eraser"]
            yield (
                f"methods.{name}",
                f"a method is a list of interventions; write [{{eraser: {eraser}}}], in brackets or with a hyphen "
                "before it (or give it the key grid: dawkins2024)",
            )


def _filling(keyword: str) -> Callable[..., Iterator]:
    """What checks a keyword of JSON Schema, after the defaults of the same schema's properties are filled in: its own
    count more than those of a schema that it refers to."""

    def check(validator: Validator, below: object, value: object, schema: Mapping) -> Iterator:
        for key, about in schema.get("properties", {}).items() if isinstance(value, dict) else ():
            if "default" in about:
                value.setdefault(key, copy.deepcopy(about["default"]))
        yield from Validator.VALIDATORS[keyword](validator, below, value, schema)

    return check


_Filling = extend(Validator, {keyword: _filling(keyword) for keyword in ("$ref", "allOf", "properties")})


def _fill(value: object, part: Mapping, schema: Mapping) -> None:
    """Fill in the defaults of a part of the schema, wherever it applies; what is wrong is told later, by `fault`."""
    list(_Filling({**part, "$defs": schema["$defs"]}).iter_errors(value))


def _unfitting(config: Mapping) -> Faults:
    """What a schema cannot say: names that refer to one another, and numbers that must fit together."""
    encoders = _with_weights(config)
    if not config["ask"] and not config["papers"]:
        yield "ask", "this key and `papers` are empty, so nothing is asked for; add a block or a paper"
    yield from _alike(config)
    yield from unfitting_methods(config["methods"])
    if config["world"] and config["tasks"]:
        yield "world", f"tasks have data of the usual world only; leave out world, or {', '.join(config['tasks'])}"
    yield from _unfitting_papers(config)
    for name, encoder in encoders.items():
        yield from _unfitting_encoder(config, name, encoder, encoders)
    for name in config["tasks"]:
        if name in DATA_FOLDERS:
            yield f"tasks.{name}", f"{name} is a folder of other data; give the task another name"
        task = Setup(config).task(name)
        task.kind.check(task)
    for number, name in enumerate(config["metrics"]["occtmp"]["chinese"]):
        require(name, encoders, f"metrics.occtmp.chinese.{number}", _ENCODERS)
    for name in config["metrics"]["bec_pro"]["languages"]:
        require(name, encoders, f"metrics.bec_pro.languages.{name}", _ENCODERS)
    for name in config["fitting"]["own"]:
        require(name, encoders, f"fitting.own.{name}", _ENCODERS)
    for metric, known in _SETS.items():
        for set_name, about in config["metrics"][metric]["own"].items():
            key = f"metrics.{metric}.own.{set_name}"
            if set_name in known or set_name.startswith(_BEGINNINGS.get(metric, "\n")):
                yield key, "there is a set of this name already; choose another name"
            for number, name in enumerate(about["encoders"] or ()):
                require(name, encoders, f"{key}.encoders.{number}", _ENCODERS)


def _alike(config: Mapping) -> Faults:
    """Names that differ in capitals alone: some file systems have one place for the files of both."""
    parts = {part: config[part] for part in ("encoders", "tasks", "methods", "given", "ask")}
    parts |= {f"metrics.{name}.own": about["own"] for name, about in config["metrics"].items() if "own" in about}
    for part, names in parts.items():
        first: dict[str, str] = {}
        for name in names:
            if (other := first.setdefault(name.casefold(), name)) != name:
                yield f"{part}.{name}", f"it differs from {other} in capitals alone; choose another name"


# Metric -> the names of its sets, which none of the user's may have.
_SETS = {
    "occtmp": tuple(OCCUPATIONS),
    "weat": (PLANTED, *datasets.WORD_TESTS),
    "seat": tuple(name.removeprefix(datasets.SENTENCES) for name in datasets.SENTENCE_TESTS),
    "ceat": (PLANTED, *datasets.WORD_TESTS, datasets.CEAT),
    "trait_ratings": tuple(datasets.TRAITS),
    "strength": (PLANTED, "planted-seen", *datasets.STIMULI_SOURCES),
    **dict.fromkeys(datasets.OWN_ITEMS, ()),
}
# Metric -> how the user's sets of another metric with the same readout begin in tables.
_BEGINNINGS = {"weat": datasets.SENTENCES, "strength": "sentences-", "occtmp": ("traits-", "blanks-")}
_ENCODERS = "encoders with weights"  # what else than a block of `ask` can name


def _with_weights(config: Mapping) -> dict[str, Mapping]:
    return {name: encoder for name, encoder in config["encoders"].items() if encoder["source"] != EXTERNAL}


def _unfitting_encoder(config: Mapping, name: str, encoder: Mapping, encoders: Mapping) -> Faults:
    key = f"encoders.{name}"
    if name in datasets.TEXT_SOURCES:
        yield key, f"{name} is the name of a text; give the encoder another"
    if encoder["source"] == "pretrain":
        heads, hidden, embedded = encoder["heads"], encoder["hidden"], encoder["vocab_size"] + encoder["max_length"]
        layer = 4 * hidden**2 + 2 * hidden * encoder["intermediate"]
        parameters = encoder["layers"] * layer + embedded * hidden
        if hidden % heads:
            yield f"{key}.heads", f"{heads} heads do not divide hidden {hidden}"
        if parameters > MOST_PARAMETERS:
            yield (
                f"{key}.hidden",
                f"with hidden {hidden}, layers {encoder['layers']}, intermediate {encoder['intermediate']} and "
                f"vocab_size {encoder['vocab_size']} the encoder has {parameters:.1g} parameters; at most "
                f"{MOST_PARAMETERS:.0g} are trained from scratch",
            )
    if encoder["source"] == "continued":
        yield from _unfitting_continued(config, name, encoder, encoders)


def _unfitting_continued(config: Mapping, name: str, encoder: Mapping, encoders: Mapping) -> Faults:
    key, above = f"encoders.{name}", [name]
    while (last := encoders[above[-1]])["source"] == "continued":
        require(last["from"], encoders, f"encoders.{above[-1]}.from", _ENCODERS)
        above.append(last["from"])
        if above[-1] in above[:-1]:
            circle = " -> ".join(above)
            yield f"{key}.from", f"{circle} goes round in a circle; start one of them from another encoder"
    if encoder["text"] == PLANTED and not Setup(config).encoder(name).is_planted:
        raise not_planted(f"{key}.text", above[-1])
    recipe, known = encoder["recipe"], (None, PLANTED, datasets.WIKITEXT, datasets.WHOLE_SENTENCES)
    planting = recipe in PLANTING
    if planting and encoder.get("dose") is None:
        yield f"{key}.dose", f"recipe {recipe} plants a dose; give one from -1 to 1"
    for part in [] if planting else [part for part in ("dose", "placebo", "examples", "labour") if part in encoder]:
        yield f"{key}.{part}", f"recipe {recipe} plants no bias; leave it out, or take recipe planted"
    if recipe == PLANTED_SEARCH and encoder["text"]:
        yield f"{key}.text", f"recipe {recipe} has texts of its own; leave it out"
    elif encoder["text"] in ((PLANTED,) if planting else datasets.BIOGRAPHIES):
        yield f"{key}.text", f"recipe {recipe} cannot train on {encoder['text']}; name another text"
    if RECIPES[recipe].beside == SWAPPED and encoder["text"] not in known:
        yield f"{key}.text", f"recipe {recipe} can swap only texts that biasflow knows; name one of them"
    if encoder["next_sentence"] and recipe != MASKED_LM:
        advice = f"leave it out, or take the recipe {MASKED_LM}"
        yield f"{key}.next_sentence", f"recipe {recipe} trains no next-sentence head; {advice}"


MOST_PARAMETERS = 10**9  # of an encoder that is trained from scratch: three times those of BERT large


# What the options of papers name, by the part of the configuration that it is in; the registry has those of tasks.
_NAMED_BY_PAPERS = {
    "encoders": ("encoders", "encoder", "nli_encoders", "glue_encoders", "coreference_encoders"),
    "methods": ("methods", "inside_only", "during"),
}


def _unfitting_papers(config: Mapping) -> Faults:
    """The names that papers' options refer to, the kinds of their tasks, and what their erasers are fitted to."""
    papers = config["papers"]
    if papers and datasets.own_pairs(config["fitting"]):
        yield (
            "fitting.words",
            "a paper's erasers are fitted to its own words, and printed numbers stand beside them; leave the paper or "
            "these words out",
        )
    known = {**config, "encoders": _with_weights(config), "methods": with_variants(config["methods"])}
    for paper, options in papers.items():
        yield from brought(paper, "faults", options, config) or ()
    for name, about in config["given"].items():
        if not any(brought(paper, "judged_encoders", options) for paper, options in papers.items()):
            yield f"given.{name}", "no study judges it; add papers.planted or papers.calibrated"
        if "{script}" in about["command"] and "script" not in about:
            yield f"given.{name}.script", "the command runs {script}, but no script is named; give its file"
    for paper, options in papers.items():
        if "folder" not in options:
            require(paper, PAPERS, f"papers.{paper}", "papers")
        kinds = PAPERS[paper].tasks if paper in PAPERS else {}
        for part, keys in {**_NAMED_BY_PAPERS, "tasks": kinds}.items():
            for key in keys:
                place, named = f"papers.{paper}.{key}", options.get(key) or ()
                if isinstance(named, Mapping):  # an encoder of the paper's own
                    continue
                for name in [named] if isinstance(named, str) else named:
                    require(name, known[part], place, _ENCODERS if part == "encoders" else part)
                    if part == "tasks" and config["tasks"][name]["kind"] != kinds[key]:
                        yield place, f"{name} is no task of kind {kinds[key]}"
