"""Reads the files that decide what can be run, such as the config.json of local encoders. Planning itself reads no
file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from biasflow.asking.encoders import ANY, VECTORS, Encoder
from biasflow.asking.paths import Paths, is_corpus_file
from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json
from biasflow.corpora.documents import NEEDED, count_documents
from biasflow.corpora.published_scores import check_kind
from biasflow.encoders.families import FAMILIES
from biasflow.encoders.recipes import MASKED_LM
from biasflow.encoders.stored import CONFIG, WEIGHTS, check_config, check_stored, has_mask
from biasflow.plan.asked import Part, read_asked
from biasflow.plan.pooling import FIRST_TOKEN, own_pooling
from biasflow.plan.tasks import task_of

# What the folder of an encoder holds, and how the files are called.
CONVERT = "docs/howto/encoder.md shows how"
_HELD = {
    "config.json": ("config.json",),
    "weights in safetensors": (WEIGHTS,),
    "tokenizer": ("tokenizer.json", "vocab.txt", "vocab.json", "*.model"),
}


@dataclass(frozen=True)
class Facts:
    """What files and earlier runs say about a configuration. architectures: local encoder -> its config.json; missing:
    encoder -> why it, or the local one that it continues, cannot be had; absent: file of a task's data -> why it cannot
    be had; poolings: local encoder -> what stands for a sentence, as its folder says; asked: in which parts blocks were
    asked for by earlier runs (plan.asked); without_mask: local encoders whose tokenizer has no mask token;
    no_documents: continued encoder -> why it is trained without the next-sentence head that the configuration asks
    for."""

    architectures: Mapping[str, Mapping] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    poolings: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[Part, ...] = ()
    without_mask: frozenset[str] = frozenset()
    no_documents: Mapping[str, str] = field(default_factory=dict)


def encoder_of(config: Mapping, name: str, facts: Facts = Facts()) -> Encoder:
    """An encoder of the configuration, with what is known of it and of those that it is continued from."""
    about, no_documents = config["encoders"][name], facts.no_documents.get(name, "")
    if no_documents:
        about = {**about, "next_sentence": False}
    above = encoder_of(config, about["from"], facts) if about["source"] == "continued" else None
    first = above.origin.name if above else name
    return Encoder(
        name,
        about,
        above,
        folder=_folder(about["path"], config["mirror"]) if about["source"] == "local" else None,
        architecture=facts.architectures.get(name),
        pooling=facts.poolings.get(first, FIRST_TOKEN),
        has_mask=first not in facts.without_mask,
        missing=facts.missing.get(name, ""),
        no_documents=no_documents,
    )


def _folder(path: str, mirror: str | None) -> Path | None:
    """The folder of a local encoder; None if its path names the mirror and there is no mirror."""
    return None if "{mirror}" in path and mirror is None else Path(path.replace("{mirror}", str(mirror)))


def gather(config: Mapping) -> Facts:
    """Read the config.json of every local encoder, check what its folder says of itself (encoders.stored), and look for
    the files of external ones and for the data of tasks. BiasflowError for an encoder that is absent and not optional,
    refused, or continued from one without a masked-LM head, and for files that are named, but not there."""
    architectures, missing, poolings, without_mask, no_documents = {}, {}, {}, set(), {}
    for name in config["encoders"]:
        encoder = encoder_of(config, name)
        if encoder.is_external:
            _check_given(encoder)
        if encoder.source != "local":
            continue
        reason = _why_not(encoder)
        if reason is None:
            architectures[name] = _architecture(encoder)
            poolings[name] = own_pooling(encoder.folder)
            without_mask |= set() if has_mask(encoder.folder) else {name}
        elif encoder.about["optional"]:
            missing[name] = f"encoders.{name}.path: {reason}"
        else:
            raise BiasflowError(f"config: key 'encoders.{name}.path': {reason}")
    for name in config["encoders"]:
        encoder = encoder_of(config, name, Facts(architectures))
        if encoder.continues and encoder.origin.name in missing:
            missing[name] = missing[encoder.origin.name]
        elif encoder.continues:
            _check_heads(encoder)
            no_documents |= _no_documents(encoder)
    tasks = (task_of(config, name) for name in config["tasks"])
    steps = ((task, step, step.absent(task)) for task in tasks for step in task.kind.steps)
    absent = {task.file(name): reason for task, step, reason in steps if reason for name in step.outputs.values()}
    return Facts(
        architectures,
        missing,
        absent,
        poolings,
        read_asked(Paths(config["run"]).asked),
        frozenset(without_mask),
        no_documents,
    )


def _check_heads(encoder: Encoder) -> None:
    """BiasflowError, naming the key, for a recipe that trains on a head which the encoder lacks, and for a
    next-sentence head that it cannot have."""
    about, above, key = encoder.about, encoder.continues, f"encoders.{encoder.name}"
    if about["recipe"] != MASKED_LM and not above.has_head("masked_lm"):
        raise BiasflowError(
            f"config: key '{key}.from': encoder {above.name} has no masked-LM head, which recipe "
            f"{about['recipe']} trains further; give it one first, by an entry with the recipe {MASKED_LM}"
        )
    if about["head_steps"] and not about["next_sentence"] and above.has_head("masked_lm"):
        raise BiasflowError(
            f"config: key '{key}.head_steps': encoder {above.name} has a masked-LM head already; leave it "
            "out, and name steps"
        )
    kind = encoder.model_type
    if about["next_sentence"] and kind and "next_sentence" not in (FAMILIES[kind].heads if kind in FAMILIES else ()):
        raise BiasflowError(
            f"config: key '{key}.next_sentence': an encoder of the type {kind} has no such head; leave it out"
        )


def _no_documents(encoder: Encoder) -> dict[str, str]:
    """The encoder's name with a reason, where it is to get a next-sentence head from a file of the user's that has too
    few documents to draw pairs from; texts that the run makes have them."""
    text = encoder.about.get("text")
    if not (encoder.about["next_sentence"] and text and Path(text).is_file()):
        return {}
    documents = count_documents(text, NEEDED)
    if documents == NEEDED:
        return {}
    return {
        encoder.name: f"encoders.{encoder.name}.text: {text} has {documents} documents of two sentences or more, and "
        f"pairs of sentences need {NEEDED}; write a sentence a line and an empty line between documents"
    }


def _check_given(encoder: Encoder) -> None:
    """BiasflowError, naming the key, for a file of the user's that is not there, or whose first line says that it
    cannot be read; those of the catalogue are not there yet."""
    for readout, by_metric in encoder.given_files.items():
        for metric, files in by_metric.items():
            key = ".".join(filter(None, ("encoders", encoder.name, readout, metric)))
            for file in files:
                if is_corpus_file(file.file):
                    continue
                if not Path(file.file).is_file():
                    raise BiasflowError(f"config: key '{key}': there is no file {file.file}")
                try:
                    if metric != ANY and readout != VECTORS:
                        check_kind(file.file, file.column)
                except BiasflowError as error:
                    raise BiasflowError(f"config: key '{key}': {error}") from error


def _why_not(encoder: Encoder) -> str | None:
    folder = encoder.folder
    if folder is None:
        return f"its path {encoder.about['path']} needs the config key mirror"
    if not folder.is_dir():
        return f"there is no folder {folder}"
    if (folder / CONFIG).exists():  # whatever else is missing: a decoder need not be made whole
        _check(encoder, check_config, folder / CONFIG)
    for part, names in _HELD.items():
        if not any(any(folder.glob(name)) for name in names):
            if names == (WEIGHTS,) and (pickled := next(folder.glob("*.bin"), None)):
                return f"the weights in {folder} are {pickled.name}; convert them to safetensors ({CONVERT})"
            return f"there is no encoder in {folder} (no {part}); save it with save_pretrained of transformers"
    return None


def _architecture(encoder: Encoder) -> Mapping:
    _check(encoder, check_stored, encoder.folder)
    return read_json(encoder.folder / CONFIG)


def _check(encoder: Encoder, check: Callable[[Path], None], path: Path) -> None:
    """BiasflowError, naming the key, for what a check of encoders.stored refuses."""
    try:
        check(path)
    except BiasflowError as error:
        raise BiasflowError(f"config: key 'encoders.{encoder.name}.path': {error}") from error
