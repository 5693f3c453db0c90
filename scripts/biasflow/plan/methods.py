"""Methods as the configuration writes them: their erasers, the places where they act, and what they are fitted to."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import WOMEN_FIRST
from biasflow.base.names import Faults, naming, require
from biasflow.encoders.places import POOLED
from biasflow.encoders.places import SENTENCE as SENTENCE_PLACE
from biasflow.matrix import ELSEWHERE
from biasflow.methods.controls import MATCHED, PERMUTED, RANDOM, draw_name
from biasflow.methods.controls import control_of as control_of
from biasflow.methods.controls import is_matched as is_matched
from biasflow.methods.controls import is_permuted as is_permuted
from biasflow.methods.grid import PLACES, chosen_settings, name_of_setting
from biasflow.plan.validation import fault
from biasflow.registry import EMBEDDING, ERASERS, FIRST_TOKEN, SENTENCE, WORDS, module_of

NONE = "none"
UNBALANCED = (
    "fitted to texts whose classes may go with gender, so gaps may turn around; try balanced: true, or "
    "class_centred: true"
)
# Any method's name with such a suffix: the same, fitted on the encoder before training; or all draws of a control, or
# one of the first (a grid has none).
OF_PRETRAINED, SINGLE_DRAWS = "-pretrained", 5
OF_SENTENCES = (
    "-sentence"  # an eraser with this suffix: the same, at the vector that a sentence encoder makes of a text
)
VARIANT = re.compile(rf"({OF_PRETRAINED}|({RANDOM}({MATCHED})?|{PERMUTED})\d?)$")
# Draws of a control that edits the last layer alone share the pass through the encoder; each of the others costs one,
# and each of one that is fitted to permuted genders a fit.
SHARED_DRAWS, PASS_DRAWS = 39, 7
BEHIND = {POOLED: SENTENCE, SENTENCE_PLACE: EMBEDDING}  # places behind all layers -> the metrics that see them
LAST_LAYER = ("last", "last.cls", "pooled", SENTENCE_PLACE, "layer[-1]", "layer[-1].cls")
PLACE = re.compile(
    r"all|last|last\.cls|pooled|sentence|each|layer\[(?P<layer>-?\d+)\](\.cls|\.attention\.(query|key|value))?"
)


def methods_of_erasers() -> dict[str, list[dict]]:
    """One method for every eraser, of its name, at the places of its registry entry, and one at the vector of a
    sentence encoder."""
    methods = {name.replace("_", "-"): [{"eraser": name, "places": entry.places}] for name, entry in ERASERS.items()}
    at_sentence = {
        f"{name.replace('_', '-')}{OF_SENTENCES}": [{"eraser": name, "places": SENTENCE_PLACE}] for name in ERASERS
    }
    return methods | at_sentence


def with_variants(methods: Mapping[str, object]) -> dict[str, object]:
    """All methods, and each once more as `<name>-pretrained`, and as `<name>-random` and `<name>-random-matched` with
    all draws of a control, and with one of the first as `<name>-random0` to 4 (see VARIANT). What is fitted to a task
    has `<name>-permuted` instead of `<name>-pretrained`: the vectors of its texts are those of the model that is
    edited."""
    all_methods = {}
    for name, method in methods.items():
        if method and not VARIANT.search(name):
            if "task" not in sources(method):
                all_methods[name + OF_PRETRAINED] = _with(method, fitted_on="pretrained")
            if not isinstance(method, Mapping):
                draws = {"": list(range(draws_of(method)))} | {str(seed): seed for seed in range(SINGLE_DRAWS)}
                for number, control in draws.items():
                    all_methods[f"{name}{RANDOM}{number}"] = _with(method, control=control)
                    all_methods[f"{name}{RANDOM}{MATCHED}{number}"] = _with(method, control=control, matched=True)
                    if sources(method) == {"task"}:
                        seeds = control if number else control[:PASS_DRAWS]
                        all_methods[f"{name}{PERMUTED}{number}"] = _with(method, control=seeds, permuted=True)
    return {**all_methods, **methods}


def draws_of(method: Iterable[Mapping]) -> int:
    """How many draws the control of a method (its interventions) has: SHARED_DRAWS if all act in the last layer."""
    return SHARED_DRAWS if all(step["places"] in LAST_LAYER for step in method) else PASS_DRAWS


def _with(method: object, **keys: object) -> object:
    if isinstance(method, Mapping):
        return {**method, **keys}
    return [{**step, **keys} for step in method]


def unfitting_methods(methods: Mapping[str, object]) -> Faults:
    """What is wrong with methods: an eraser, option or place that does not exist or does not fit."""
    for name, method in methods.items():
        if isinstance(method, Mapping):
            yield from _unfitting_grid(method, f"methods.{name}")
            continue
        steps = {f"methods.{name}.{number}": step for number, step in enumerate(method)}
        for key, step in steps.items():
            yield from _unfitting_step(step, key)
            if step["places"] == "each" and len(steps) > 1:
                yield f"{key}.places", "each stands for one intervention alone; make it a method of its own"


def _unfitting_grid(grid: Mapping, key: str) -> Faults:
    _check_eraser(grid, key)
    if "components" in grid["options"]:
        yield f"{key}.options.components", "a grid takes as many as each setting needs; leave it out"
    if not ERASERS[grid["eraser"]].ordered:
        ordered = ", ".join(eraser for eraser, entry in ERASERS.items() if entry.ordered)
        yield (
            f"{key}.eraser",
            "the grid takes the first or second direction, weighted by explained variance, and "
            f"{grid['eraser']} has no such order; choose {ordered}",
        )
    with naming(f"{key}.settings"):
        chosen_settings(grid["settings"])


def _unfitting_step(step: Mapping, key: str) -> Faults:
    _check_eraser(step, key)
    places, can = step["places"], ERASERS[step["eraser"]].fitted_to
    fitted_to = step["fitted_to"] or can[0]
    if not PLACE.fullmatch(places):
        known = "all, last, last.cls, pooled, sentence, each, layer[3] or layer[3].attention.query"
        yield f"{key}.places", f"{places!r} is no place; write {known}"
    if fitted_to not in can:
        yield f"{key}.fitted_to", f"{step['eraser']} can be fitted to {', '.join(can)}"
    if fitted_to == "task" and places not in ("last.cls", "pooled", SENTENCE_PLACE):
        why = "what is fitted to a task acts at last.cls, at sentence, or at pooled in a classifier that is given"
        yield f"{key}.places", f"{why}; write places: last.cls"
    if fitted_to == "task" and step["fitted_on"] == "pretrained":
        yield f"{key}.fitted_on", "what is fitted to the task is fitted on the model; leave it out"
    for option in ("balanced", "class_centred", "permuted"):
        if step.get(option) and fitted_to != "task":
            yield f"{key}.{option}", "only a task's vectors have classes; write fitted_to: task"
    if step.get("class_centred") and not ERASERS[step["eraser"]].class_centred:
        can_centre = ", ".join(name for name, entry in ERASERS.items() if entry.class_centred)
        yield f"{key}.class_centred", f"{step['eraser']} cannot be; write balanced: true, or take {can_centre}"
    if fitted_to == "words" and places.endswith(("cls", "pooled")):
        yield f"{key}.places", f"{places} has no states of words; write fitted_to: pairs"


def _check_eraser(step: Mapping, key: str) -> None:
    eraser = step["eraser"]
    require(eraser, ERASERS, f"{key}.eraser", "erasers")
    known = ERASERS[eraser].options
    for option, value in step["options"].items():
        require(option, known, f"{key}.options", f"options of {eraser}")
        if problem := fault(value, known[option], key=f"{key}.options.{option}"):
            raise BiasflowError(f"config: {problem}")


def steps_of(method: object) -> list[Mapping]:
    """The interventions of a method; of a grid the grid itself, which has an eraser and its options as they do."""
    return [method] if isinstance(method, Mapping) else method


def resolved(method: object) -> object:
    """Return a method as fits take it: what it leaves open is filled in from the registry entry of its eraser."""
    if isinstance(method, Mapping):
        return {**method, "module": module_of(ERASERS[method["eraser"]])}
    steps = []
    for step in method:
        eraser = ERASERS[step["eraser"]]
        steps.append({**step, "fitted_to": step["fitted_to"] or eraser.fitted_to[0], "module": module_of(eraser)})
        steps[-1] |= {"needs_labels": True} if eraser.needs_labels else {}
    return steps


def eraser_modules(methods: Iterable[object]) -> set[str]:
    """The modules of the erasers of methods."""
    return {module_of(ERASERS[step["eraser"]]) for method in methods for step in steps_of(method)}


def sources(method: object) -> set[str]:
    """What a method is fitted to: words, pairs, task."""
    if isinstance(method, Mapping):
        return {"pairs"}
    return {step.get("fitted_to") or ERASERS[step["eraser"]].fitted_to[0] for step in method}


def places_of(method: object) -> set[str]:
    """The places of what a method has fitted to a task."""
    return {step["places"] for step in steps_of(method) if "task" in sources([step])}


def note_of(method: object, reads_states: str, groups: str | None = None, pair: Sequence[object] = WOMEN_FIRST) -> str:
    """Return what must be known of a method's score, or "": that the method was fitted to women and men where another
    `pair` of groups is compared; that it was fitted to the user's words (of `groups`), or to other states than the
    metric reads (registry.Metric.reads_states), so that it may leave most of what is in them: a probe of the first
    token loses little by LEACE that was fitted to words; or to a task's texts as they are, where it may mix gender and
    classes (docs/real_encoders.md)."""
    fitted_to = sources(method) if method else set()
    if fitted_to and not groups and tuple(pair) != WOMEN_FIRST:
        return "; ".join(filter(None, ["fitted to women and men", note_of(method, reads_states)]))
    if "task" in fitted_to and not all(step.get("balanced") or step.get("class_centred") for step in steps_of(method)):
        return UNBALANCED
    of = f" of {groups}" if groups and "words" in fitted_to else ""
    elsewhere = ELSEWHERE if reads_states in (SENTENCE, FIRST_TOKEN) and fitted_to == {"words"} else ""
    return f"fitted to words{of}{elsewhere}" if of or elsewhere else ""


def needs_origin(method: object) -> bool:
    """Whether a method is fitted on the encoder before training."""
    return any(step["fitted_on"] == "pretrained" for step in steps_of(method))


def missing_layer(method: object, depth: int) -> str | None:
    """Return the first place of a method that an encoder of `depth` layers lacks, or None."""
    if isinstance(method, Mapping):
        return "the second-to-last layer" if depth < 2 else None
    for step in method:
        layer = PLACE.fullmatch(step["places"])["layer"]
        if layer is not None and not -depth <= int(layer) < depth:
            return step["places"]
    return None


def acts_at_sentence(method: object) -> bool:
    """Whether a method acts at the vector of a sentence encoder, and nowhere else."""
    return all(place == SENTENCE_PLACE for _, at in _places_by_setting(method) for place in at)


def acts_in_attention(method: object) -> bool:
    """Whether a method acts at queries, keys or values in any setting."""
    return any(".attention." in place for _, places in _places_by_setting(method) for place in places)


def largest_rank(method: object) -> tuple[str, int]:
    """The eraser of a method that takes out the most directions, and how many; ("", 0) where no option says it."""
    ranks = [(step["eraser"], step["options"].get("components", 0)) for step in steps_of(method)]
    return max(ranks, key=itemgetter(1), default=("", 0))


def not_in_training(method: object) -> str | None:
    """Return why a method cannot be active in a training, or None if it can."""
    if not method:
        return "leaves the model as it is; that is the strategy plain"
    settings = list(_places_by_setting(method))
    if len(settings) > 1 or settings[0][1] == ["each"]:
        return "has several settings; a training takes one, so name one draw of a control, or a method that has one"
    return "is fitted to a task, of which nothing is trained yet" if "task" in sources(method) else None


def unseen_setting(method: object, reads_states: str, depth: int | None) -> tuple[str, str] | None:
    """Return a setting of the method ("-": its only one) and its place, if that comes after all states that a metric
    reads of the last layer (registry.Metric), so that no score can change; else None. depth: in layers, if known."""
    for setting, places in _places_by_setting(method):
        if not any(_is_seen(place, reads_states, depth) for place in places):
            return setting, " and ".join(places)
    return None


def _places_by_setting(method: object) -> Iterator[tuple[str, list[str]]]:
    if isinstance(method, Mapping):
        for setting in chosen_settings(method["settings"]):
            yield name_of_setting(setting), [PLACES[name] for name in setting.subspaces]
    elif method:
        draws = method[0].get("control")
        for setting in map(draw_name, draws) if isinstance(draws, list) else ["-"]:
            yield setting, [step["places"] for step in method]


def _is_seen(place: str, reads_states: str, depth: int | None) -> bool:
    if place in BEHIND:
        return reads_states == BEHIND[place]
    if not place.endswith(".cls"):
        return True
    layer = PLACE.fullmatch(place)["layer"]
    is_last = layer is None or int(layer) == -1 or (depth is not None and int(layer) == depth - 1)
    return not is_last or reads_states != WORDS
