"""Reads the files that decide what can be run, such as the config.json of local encoders. Planning itself reads no
file."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import check_path, no_folder
from biasflow.base.names import Faults, naming, refuse
from biasflow.base.paths import is_corpus_file, package_file
from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.documents import NEEDED, count_documents
from biasflow.corpora.download import at_hand
from biasflow.corpora.predictions import read_predictions
from biasflow.corpora.published_scores import read_scores
from biasflow.encoders.configured import ANY, PREDICTIONS, VECTORS, Encoder
from biasflow.encoders.described import check_classifier, describe
from biasflow.encoders.families import FAMILIES
from biasflow.encoders.recipes import MASKED_LM, PLANTED_BIAS, PLANTED_SEARCH
from biasflow.encoders.sentence_transformers import encoder_folder, is_static
from biasflow.encoders.stored import CARRIED, CONFIG, INDEX, MERGE, WEIGHTS, adapter_of, check_config
from biasflow.plan.asked import read_asked
from biasflow.plan.datasets import BIOGRAPHIES, text_file
from biasflow.plan.setup import Facts, Setup
from biasflow.registry import GIVEN

CONVERT = "docs/howto/encoder.md shows how"
# What the folder of an encoder holds, and how the files are called.
_HELD = {
    "config.json": ("config.json",),
    "weights in safetensors": (WEIGHTS, INDEX),
    "tokenizer": ("tokenizer.json", "vocab.txt", "vocab.json", "*.model"),
}


def gather(config: Mapping) -> Facts:
    """Check the folder of every local encoder and read what it says (encoders.described), and look for the files of
    external ones and for the data of tasks. BiasflowError for an encoder that is absent and not optional,
    refused, or continued from one without a masked-LM head, and for files that are named, but not there."""
    setup, described, missing, no_documents = Setup(config), {}, {}, {}
    blocks = (block for block in config["ask"].values() if GIVEN in block["strategies"])
    given = {name for block in blocks for name in block["encoders"]}
    for name, encoder in setup.encoders.items():
        if encoder.is_external:
            _check_given(encoder)
        if encoder.source != "local":
            continue
        with naming(f"encoders.{name}.path"):
            reason = _why_not(encoder)
            if reason is None:
                described[name] = describe(encoder.folder)
                if (encoder.folder / CARRIED).is_file():
                    raise BiasflowError(
                        f"{encoder.folder} was trained with a method active ({CARRIED}), without which it is never "
                        "read; measure it in the run that trained it"
                    )
                if name in given:
                    check_classifier(described[name])
            elif encoder.about["optional"]:
                missing[name] = f"encoders.{name}.path: {reason}"
            else:
                raise BiasflowError(reason)
    for name, encoder in Setup(config, Facts(described)).encoders.items():
        if encoder.continues and encoder.origin.name in missing:
            missing[name] = missing[encoder.origin.name]
        elif encoder.continues:
            refuse(_unfitting_heads(encoder))
            no_documents |= _no_documents(encoder)
    _check_examples(setup)
    tasks = map(setup.task, config["tasks"])
    steps = ((task, step, step.absent(task)) for task in tasks for step in task.kind.steps)
    absent = {task.file(name): reason for task, step, reason in steps if reason for name in step.outputs.values()}
    return Facts(described, missing, absent, read_asked(setup.paths.asked), no_documents)


def _unfitting_heads(encoder: Encoder) -> Faults:
    """A recipe that trains on a head which the encoder lacks, and a next-sentence head that it cannot have."""
    about, above, key = encoder.about, encoder.continues, f"encoders.{encoder.name}"
    recipe, kind = about["recipe"], encoder.model_type
    if recipe == PLANTED_SEARCH:
        if not above.is_sentence_encoder:
            lacking = f"encoder {above.name} is no sentence encoder (it lacks modules.json)"
            yield f"{key}.from", f"{lacking}, which recipe {recipe} trains further; take recipe {PLANTED_BIAS}"
        return
    if recipe != MASKED_LM and not above.has_head("masked_lm"):
        lacking = f"encoder {above.name} has no masked-LM head, which recipe {recipe} trains further"
        yield f"{key}.from", f"{lacking}; give it one first, by an entry with the recipe {MASKED_LM}"
    if about["head_steps"] and not about["next_sentence"] and above.has_head("masked_lm"):
        yield (
            f"{key}.head_steps",
            f"encoder {above.name} has a masked-LM head already; leave it out, and name steps",
        )
    if about["next_sentence"] and kind and not (kind in FAMILIES and FAMILIES[kind].next_sentence):
        yield f"{key}.next_sentence", f"an encoder of the type {kind} has no such head; leave it out"


def _check_examples(setup: Setup) -> None:
    """BiasflowError, naming the key, for so few examples of an occupation that too few texts can be planted in, as far
    as that can be known before the first job: a text that is there is read if so few are asked for."""
    texts: dict[tuple[str, str, int], str] = {}
    for name, encoder in setup.encoders.items():
        about = encoder.about
        planting = encoder.continues and about["recipe"] == PLANTED_BIAS
        if planting and about.get("examples") and not Path(setup.paths.encoder(name)).exists():
            text = about["text"] or BIOGRAPHIES[1]
            file = text_file(setup.paths, encoder, text)
            if text in BIOGRAPHIES:
                near = at_hand(read_catalogue().entry(text), file, setup.config["files"], setup.config["mirror"])
                file = str(near or file)
            labour = about.get("labour", package_file("data/labour_statistics.csv"))
            texts.setdefault((file, labour, about["examples"]), f"encoders.{name}")
    for (file, labour, examples), key in texts.items():
        bring = (paper for paper, of in setup.config["papers"].items() if of.get("examples") == examples)
        with naming(f"{next((f'papers.{paper}' for paper in bring), key)}.examples"):
            from biasflow.planted.units import check_examples  # slow to load, and needed for such encoders alone

            check_examples(file, labour, most=examples)


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
    """BiasflowError, naming the key, for a file of the user's that is not there, or cannot be read; those of the
    catalogue are not there yet."""
    for readout, by_metric in encoder.given_files.items():
        for metric, files in by_metric.items():
            for file in (file for file in files if not is_corpus_file(file.file)):
                with naming(".".join(filter(None, ("encoders", encoder.name, readout, metric)))):
                    if not Path(file.file).is_file():
                        raise BiasflowError(f"there is no file {file.file}")
                    if metric != ANY and readout != VECTORS:
                        read_scores(file.file, metric, column=file.column, part=metric)
    files, groups = encoder.predictions
    if files:
        with naming(f"encoders.{encoder.name}.{PREDICTIONS}"):
            read_predictions(files, **({"groups": groups} if groups else {}))


def _why_not(encoder: Encoder) -> str | None:
    """Why there is no encoder in a folder, or None. BiasflowError for one that cannot be used."""
    folder = encoder.folder
    if folder is None:
        return f"its path {encoder.about['path']} needs the config key mirror"
    if not folder.is_dir():
        return no_folder(folder)
    if not os.access(folder, os.R_OK | os.X_OK):
        raise BiasflowError(f"{folder}: you may not read this folder; change its permissions, or ask its owner")
    folder = encoder_folder(folder)
    weights = any((folder / name).exists() for name in (WEIGHTS, INDEX))
    if not weights and (base := adapter_of(folder)):
        return f"{folder} holds an adapter of {base}, and no encoder: {MERGE}"
    without = (CONFIG,) if is_static(folder) else ()
    if (folder / CONFIG).exists() and not without:  # whatever else is missing: a decoder need not be made whole
        check_config(folder / CONFIG)
    for part, names in _HELD.items():
        if names != without and not any(any(folder.glob(name)) for name in names):
            if WEIGHTS in names and (pickled := next(folder.glob("pytorch_model*.bin"), None)):
                return f"the weights in {folder} are {pickled.name}; convert them to safetensors ({CONVERT})"
            inside = sorted(path.parent.name for path in folder.glob(f"*/{CONFIG}"))
            advice = f"did you mean its folder {' or '.join(inside)}?" if inside else "save it with save_pretrained"
            return f"there is no encoder in {folder} (no {part}); {advice}"
    for path in replace(encoder, folder=folder).local_files:
        check_path(path)
    return None
