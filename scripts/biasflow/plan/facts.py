"""Reads the files that decide what can be run, such as the config.json of local encoders. Planning itself reads no
file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from biasflow.asking.paths import Paths
from biasflow.asking.sources import given_files, is_external, local_folder, origin
from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json
from biasflow.encoders.families import FAMILIES
from biasflow.encoders.recipes import MASKED_LM
from biasflow.encoders.stored import WEIGHTS, check_stored, has_mask
from biasflow.plan.asked import Part, read_asked
from biasflow.plan.pooling import FIRST_TOKEN, own_pooling
from biasflow.plan.tasks import task_of

HEADS = {"masked_lm": "ForMaskedLM", "next_sentence": "ForNextSentencePrediction"}  # head -> how its classes are called
_NARROW = 256  # hidden sizes up to this gain nothing from a second thread
_BERT = "bert"  # the model type where config.json names none, and of those that are pre-trained here
# What the folder of an encoder holds, and how the files are called.
_HELD = {
    "config.json": ("config.json",),
    "weights in safetensors": (WEIGHTS,),
    "tokenizer": ("tokenizer.json", "vocab.txt", "vocab.json", "*.model"),
}


@dataclass(frozen=True)
class Facts:
    """architectures: local encoder -> its config.json; missing: encoder -> why it, or the local one that it continues,
    cannot be had; absent: file of a task's data -> why it cannot be had; poolings: local encoder -> what stands for a
    sentence, as its folder says; asked: in which parts blocks were asked for by earlier runs (plan.asked);
    without_mask: local encoders whose tokenizer has no mask token."""

    architectures: Mapping[str, Mapping] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    poolings: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[Part, ...] = ()
    without_mask: frozenset[str] = frozenset()


def gather(config: Mapping) -> Facts:
    """Read the config.json of every local encoder, check what its folder says of itself (encoders.stored), and look for
    the files of external ones and for the data of tasks. BiasflowError for an encoder that is absent and not optional,
    refused, or continued from one without a masked-LM head, and for files that are named, but not there."""
    architectures, missing, poolings, without_mask = {}, {}, {}, set()
    for name, encoder in config["encoders"].items():
        if is_external(config, name):
            _check_given(name, encoder)
        if encoder["source"] != "local":
            continue
        folder = local_folder(encoder, config["mirror"])
        reason = _why_not(encoder, folder)
        if reason is None:
            architectures[name] = _architecture(name, folder)
            poolings[name] = own_pooling(folder)
            without_mask |= set() if has_mask(folder) else {name}
        elif encoder["optional"]:
            missing[name] = f"encoders.{name}.path: {reason}"
        else:
            raise BiasflowError(f"config: key 'encoders.{name}.path': {reason}")
    for name, encoder in config["encoders"].items():
        if encoder["source"] != "continued":
            continue
        if (first := origin(config, name)) in missing:
            missing[name] = missing[first]
        else:
            _check_heads(config, Facts(architectures), name)
    tasks = (task_of(config, name) for name in config["tasks"])
    steps = ((task, step, step.absent(task)) for task in tasks for step in task.kind.steps)
    absent = {task.file(name): reason for task, step, reason in steps if reason for name in step.outputs.values()}
    return Facts(
        architectures, missing, absent, poolings, read_asked(Paths(config["run"]).asked), frozenset(without_mask)
    )


def _check_heads(config: Mapping, facts: Facts, name: str) -> None:
    """BiasflowError, naming the key, for a recipe that trains on a head which the encoder lacks, and for a
    next-sentence head that it cannot have."""
    about = config["encoders"][name]
    if about["recipe"] != MASKED_LM and not has_head(config, facts, about["from"], "masked_lm"):
        raise BiasflowError(
            f"config: key 'encoders.{name}.from': encoder {about['from']} has no masked-LM head, which recipe "
            f"{about['recipe']} trains further; give it one first, by an entry with the recipe {MASKED_LM}"
        )
    if about["head_steps"] and not about["next_sentence"] and has_head(config, facts, about["from"], "masked_lm"):
        raise BiasflowError(
            f"config: key 'encoders.{name}.head_steps': encoder {about['from']} has a masked-LM head already; leave it "
            "out, and name steps"
        )
    kind = model_type(config, facts, name)
    if about["next_sentence"] and kind and "next_sentence" not in _of_pretraining(kind):
        raise BiasflowError(
            f"config: key 'encoders.{name}.next_sentence': an encoder of the type {kind} has no such head; leave it out"
        )


def new_heads(config: Mapping, facts: Facts, encoder: str) -> list[str]:
    """The heads ("masked_lm", "next_sentence") that an encoder, or one that it was continued from, got in this run."""
    about = config["encoders"][encoder]
    if about["source"] != "continued":
        return []
    lacking = [head for head in HEADS if not has_head(config, facts, about["from"], head)]
    gained = [head for head in lacking if has_head(config, facts, encoder, head)]
    kept = [head for head in new_heads(config, facts, about["from"]) if has_head(config, facts, encoder, head)]
    return [head for head in HEADS if head in (*gained, *kept)]


def _check_given(name: str, encoder: Mapping) -> None:
    for readout, files in given_files(encoder).items():
        for file in files:
            if not Path(file).is_file():
                raise BiasflowError(f"config: key 'encoders.{name}.{readout}': there is no file {file}")


def _why_not(encoder: Mapping, folder: Path | None) -> str | None:
    if folder is None:
        return f"its path {encoder['path']} needs the config key mirror"
    if not folder.is_dir():
        return f"there is no folder {folder}"
    for what, names in _HELD.items():
        if not any(any(folder.glob(name)) for name in names):
            return f"there is no encoder in {folder} (no {what}); save it with save_pretrained of transformers"
    return None


def _architecture(name: str, folder: Path) -> Mapping:
    try:
        check_stored(folder)
    except BiasflowError as error:
        raise BiasflowError(f"config: key 'encoders.{name}.path': {error}") from error
    return read_json(folder / "config.json")


def has_head(config: Mapping, facts: Facts, encoder: str, head: str) -> bool:
    """Whether an encoder has a next-sentence ("next_sentence") or a masked-LM head ("masked_lm"), as far as can be
    known: a local encoder's config.json names its architecture, a hub encoder's entry says it, an external one has no
    weights at all, our own have both; a continued one has a masked-LM head always (`_check_heads`)."""
    about = config["encoders"][encoder]
    if about["source"] == "hub":
        return about[head]
    if about["source"] == "continued":
        return head == "masked_lm" or about["next_sentence"]
    if about["source"] == "local":
        names = facts.architectures.get(encoder, {}).get("architectures") or ["ForPreTraining"]
        both = head in _of_pretraining(model_type(config, facts, encoder))
        return any(name.endswith(HEADS[head]) or (both and name.endswith("ForPreTraining")) for name in names)
    return not is_external(config, encoder)


def _of_pretraining(kind: str) -> Iterable[str]:
    """The heads of a model whose class is called ...ForPreTraining, by its type; of an unknown type it may have all."""
    return FAMILIES[kind].heads if kind in FAMILIES else HEADS


def model_type(config: Mapping, facts: Facts, encoder: str) -> str | None:
    """The architecture of an encoder as its config.json names it, where that can be known before the first job."""
    first = origin(config, encoder)
    known = _BERT if first in facts.architectures or config["encoders"][first]["source"] == "pretrain" else None
    return facts.architectures.get(first, {}).get("model_type", known)


def depth(config: Mapping, facts: Facts, encoder: str) -> int | None:
    """The number of layers, where it can be known before the first job."""
    about = config["encoders"][encoder]
    if about["source"] == "pretrain":
        return about["layers"]
    if about["source"] == "continued":
        return depth(config, facts, about["from"])
    known = facts.architectures.get(encoder, {})
    return known.get("num_hidden_layers", known.get("n_layers"))


def pooling(config: Mapping, facts: Facts, encoder: str) -> str:
    """What stands for a sentence in an encoder, by its folder or that of the encoder which it continues."""
    return facts.poolings.get(origin(config, encoder), FIRST_TOKEN)


def positions(config: Mapping, facts: Facts, encoder: str) -> int | None:
    """The most tokens that an encoder takes, where they can be known before the first job."""
    first = origin(config, encoder)
    if config["encoders"][first]["source"] == "pretrain":
        return config["encoders"][first]["max_length"]
    known = facts.architectures.get(first, {})
    longest = known.get("max_position_embeddings")
    family = FAMILIES.get(known.get("model_type"))
    return longest and longest - (known.get("pad_token_id", 1) + 1 if family and family.reserved else 0)


def is_narrow(config: Mapping, facts: Facts, encoder: str) -> bool:
    """Whether an encoder is known to be so small that its jobs take little more than their start."""
    hidden = width(config, facts, encoder)
    return hidden is not None and hidden <= _NARROW


def width(config: Mapping, facts: Facts, encoder: str) -> int | None:
    """The dimensions of a token's vector, where they can be known before the first job."""
    first = origin(config, encoder)
    known = facts.architectures.get(first, {})
    return config["encoders"][first].get("hidden") or known.get("hidden_size", known.get("dim"))
