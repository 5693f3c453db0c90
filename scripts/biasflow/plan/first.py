"""The smallest configuration for the encoder in a folder: what `biasflow init` writes."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from biasflow.encoders.families import FAMILIES
from biasflow.plan.choices import ENCODER, reasons, with_folder
from biasflow.plan.datasets import DATASETS
from biasflow.registry import METRICS

METHODS = ("none", "leace", "leace-random0")  # the first alone where the layers of an architecture are not known
CONTROL = "leace-random0 is a control: random directions in place of those of leace."
UNEDITED = "No method can act, because the layers of the model type {kind} are not known."
SLOW = ("ceat",)  # reads words in thousands of contexts: a user may want to see the others first
TEXT = """\
# Measures gender bias in the encoder in {folder}; made by `biasflow init`. Start it with
#   snakemake --cores 2 --configfile {file}
# What else may be written here: biasflow list encoders|tasks|methods|metrics|keys
run: {name}  # everything is written to results/{name}

encoders:
  {name}: {{source: local, path: {path}}}

ask:
  inside:
    encoders: [{name}]
    # {about}
    methods: [{methods}]
    metrics:
{metrics}
    # Slow, and therefore left out: {slow}
{lacking}"""


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
    why = {name: reason for name, reason in reasons(setup).items() if _is_of_encoders(name)}
    kind = setup.encoders[ENCODER].model_type
    editable = kind in FAMILIES
    asked = [name for name, reason in why.items() if not reason and METRICS[name].measures]
    lacking = {name: reason for name, reason in why.items() if reason}
    width = max(len(name) for name in asked) + 1
    unedited = "" if editable else UNEDITED.format(kind=kind)
    text = TEXT.format(
        folder=" ".join(folder.split()),
        file=file,
        name=_run_name(folder),
        path=json.dumps(folder, ensure_ascii=False),
        methods=", ".join(METHODS if editable else METHODS[:1]),
        about=f"none: the encoder as it is. {unedited or CONTROL}",
        metrics="\n".join(f"      - {name:{width}}# {METRICS[name].label}" for name in asked if name not in SLOW),
        slow=", ".join(name for name in asked if name in SLOW),
        lacking="".join(f"    # Cannot be measured: {name}, because {reason}\n" for name, reason in lacking.items()),
    )
    return First(text, lacking, unedited, setup.encoders[ENCODER].not_applied)


def _is_of_encoders(metric: str) -> bool:
    """Whether a metric is measured on a pretrained encoder, without a task."""
    return METRICS[metric].pretrained and METRICS[metric].datasets in DATASETS


def _run_name(folder: str) -> str:
    """A name for run and encoder, which is part of paths: small letters, digits and hyphens."""
    name = re.sub(r"[^a-z0-9]+", "-", Path(folder).resolve().name.lower()).strip("-")[:50]
    return name if name and name not in ("corpora", "null", "true", "false") and not name.isdigit() else "mine"
