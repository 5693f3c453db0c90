"""Pairs of sentences that differ only in binary gender: templates x word pairs of biasflow/data/sentence_pairs.yaml."""

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import yaml

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_text

SLOT = re.compile(r"\{(\w+)\}")
TEMPLATE_SETS = ("interventions", "sentence-debias")


def load_sentence_pairs(path: str | Path) -> dict[str, pd.DataFrame]:
    """Read the pair file: template set -> table with columns template, words, masculine, feminine.

    The file has `words`: slot -> list of [masculine, feminine], and `templates`: set -> list of sentences with slots
    in braces. Errors name the file and the entry."""
    try:
        content = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        raise BiasflowError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or set(content) != {"words", "templates"}:
        raise BiasflowError(f"{path}: it must have exactly the keys `words` and `templates`")
    words, templates = content["words"], content["templates"]
    if not isinstance(words, dict) or not isinstance(templates, dict):
        raise BiasflowError(f"{path}: `words` and `templates` must be mappings: slot -> pairs, set -> sentences")
    for slot, pairs in words.items():
        for pair in pairs or [None]:
            if not isinstance(pair, list) or len(pair) != 2 or pair[0] == pair[1]:
                raise BiasflowError(f"{path}: words: {slot}: {pair!r} is not a pair of two different words")
    if set(templates) != set(TEMPLATE_SETS):
        raise BiasflowError(f"{path}: templates: the sets must be {' and '.join(TEMPLATE_SETS)}")
    return {name: expand(templates[name] or [], words, where=f"{path}: templates: {name}") for name in TEMPLATE_SETS}


def expand(templates: Sequence[str], words: Mapping[str, Sequence[Sequence[str]]], *, where: str) -> pd.DataFrame:
    """Every template with every choice of word pair for each of its slots; one row per sentence pair."""
    rows = []
    for template in templates:
        slots = list(dict.fromkeys(SLOT.findall(template)))
        unknown = [slot for slot in slots if slot not in words]
        if not slots or unknown:
            problem = f"unknown slot {{{unknown[0]}}}" if unknown else "no slot in braces"
            raise BiasflowError(f"{where}: {template!r} has {problem}; slots are {', '.join(words)}")
        for choice in itertools.product(*(words[slot] for slot in slots)):
            members = [_fill(template, dict(zip(slots, side, strict=True))) for side in zip(*choice, strict=True)]
            rows.append((template, " ".join("/".join(pair) for pair in choice), *members))
    if not rows:
        raise BiasflowError(f"{where}: no sentence pair; give at least one template")
    return pd.DataFrame(rows, columns=["template", "words", "masculine", "feminine"])


def _fill(template: str, values: Mapping[str, str]) -> str:
    sentence = SLOT.sub(lambda match: values[match[1]], template)
    return sentence[0].upper() + sentence[1:]


def check_pairs(pairs: pd.DataFrame, encode, *, encoder: str) -> pd.DataFrame:
    """Mark which pairs an encoder's tokenizer can use: adds `kept` (bool) and `reason` ("" where kept).

    encode: list of sentences -> list of token-id lists. A pair is kept if both members have the same number of
    tokens (states are aligned by position) and the tokens are not all equal (unknown words can fall together)."""
    masculine, feminine = encode(list(pairs["masculine"])), encode(list(pairs["feminine"]))
    reasons = [_reason(a, b) for a, b in zip(masculine, feminine, strict=True)]
    checked = pairs.assign(kept=[not reason for reason in reasons], reason=reasons)
    if not checked["kept"].any():
        raise BiasflowError(
            f"{encoder}: none of {len(pairs)} sentence pairs tokenises alike in both genders "
            f"({pairs['masculine'].iloc[0]!r}: {reasons[0]}); change biasflow/data/sentence_pairs.yaml"
        )
    return checked


def _reason(masculine: Sequence[int], feminine: Sequence[int]) -> str:
    if len(masculine) != len(feminine):
        return f"{len(masculine)} tokens against {len(feminine)}"
    return "the same tokens in both genders" if list(masculine) == list(feminine) else ""
