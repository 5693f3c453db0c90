"""Biographies whose content is known, vectors and a model for them, methods, and the strategies of the registry."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from hypothesis import strategies as st
from transformers import BertConfig, BertModel

from biasflow import registry
from biasflow.encoders.linear_head import save_head
from biasflow.erasers.eraser import Eraser
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.plan.setup import kind_of
from biasflow.readouts.files import array_on_disk
from biasflow.readouts.source import Source
from biasflow.strategies import Strategy
from tests.unit.conftest import SIZES, save_random
from tests.unit.fake_tokenizer import word_tokenizer

STRATEGIES = {
    name: Strategy(name, entry.module, entry.text)
    for name, entry in registry.STRATEGIES.items()
    if kind_of("occupation").has.issuperset(entry.needs)
}
PLAIN = STRATEGIES["plain"]
CLASSES = ["nurse", "surgeon", "teacher"]
WOMEN = {"nurse": 0.8, "surgeon": 0.2, "teacher": 0.5}


def labels_of(counts: dict[str, tuple[int, int]], seed: int = 0) -> pd.DataFrame:
    """labels and genders of counts {label: (women, men)}, shuffled."""
    pairs = [
        (name, gender) for name, both in counts.items() for gender, n in zip("FM", both, strict=True) for _ in range(n)
    ]
    order = np.random.default_rng(seed).permutation(len(pairs))
    return pd.DataFrame([pairs[k] for k in order], columns=["label", "gender"])


def tables_of(least: int, most: int) -> st.SearchStrategy[dict[str, tuple[int, int]]]:
    """Counts for `labels_of`: of each gender that many biographies."""
    sizes = st.integers(least, most)
    professions = st.sampled_from(["nurse", "dj", "poet", "model", "pastor"])
    return st.dictionaries(professions, st.tuples(sizes, sizes), min_size=2)


def cells(bios: pd.DataFrame, rows: np.ndarray) -> Counter:
    """(profession, gender) -> how many of the rows."""
    return Counter(zip(bios["label"].to_numpy()[rows], bios["gender"].to_numpy()[rows], strict=True))


def biographies(n: int = 900, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    professions = rng.choice(CLASSES, size=n)
    women = rng.random(n) < np.array([WOMEN[name] for name in professions])
    return pd.DataFrame(
        {
            "text": [f"text {number}" for number in range(n)],
            "label": professions,
            "gender": np.where(women, "F", "M"),
            "name": "",
            "scrubbed": [f"_ {number}" for number in range(n)],
        }
    )


def vectors_of(bios: pd.DataFrame, *, gender: float, noise: float = 0.3, seed: int = 0) -> torch.Tensor:
    """The profession one-hot, the gender in a dimension of its own (number 4), and noise: [n, 6]."""
    rng = np.random.default_rng(seed)
    found = rng.normal(scale=noise, size=(len(bios), 6))
    found[np.arange(len(bios)), [CLASSES.index(name) for name in bios["label"]]] += 1
    found[:, 4] += gender * np.where(bios["gender"] == "F", 1, -1)
    return torch.tensor(found, dtype=torch.float32)


FILLERS = ["works", "in", "the", "city", "and", "likes", "music"]
OWN_WORDS = {"nurse": "ward", "surgeon": "knife", "teacher": "school"}
LAYERS = SIZES["num_hidden_layers"]


def readable(n: int = 300, seed: int = 0) -> pd.DataFrame:
    """`biographies` with texts that an encoder can read: a pronoun (scrubbed: _), fillers, a word of the profession."""
    bios, rng = biographies(n, seed), np.random.default_rng(seed)
    middles = [[*rng.choice(FILLERS, size=rng.integers(1, 6)), OWN_WORDS[name]] for name in bios["label"]]
    pronouns = np.where(bios["gender"] == "F", "she", "he")
    return bios.assign(
        text=[" ".join([pronoun, *middle]) for pronoun, middle in zip(pronouns, middles, strict=True)],
        scrubbed=[" ".join(["_", *middle]) for middle in middles],
    )


def save_model(folder: Path) -> Path:
    """A small random BERT with a tokenizer for `readable`, and a linear head for three classes beside it."""
    tokenizer = word_tokenizer(["he", "she", "_", *FILLERS, *OWN_WORDS.values()])
    save_random(folder, lambda: BertModel(BertConfig(**SIZES)), tokenizer)
    save_head(torch.randn(3, SIZES["hidden_size"]), torch.randn(3), folder)
    return folder


def projection(seed: int = 0, d: int = SIZES["hidden_size"], k: int = 3) -> Eraser:
    """An oblique projection with a centre, as LEACE makes them."""
    rng = torch.Generator().manual_seed(seed)
    basis = torch.linalg.qr(torch.randn(d, k, generator=rng))[0].T
    return Eraser(basis.T + 0.1, basis, torch.ones(k), torch.randn(d, generator=rng))


METHODS = {
    "last": {"-": [("layer[-1]", projection(1))]},
    "cls": {"-": [(f"layer[{LAYERS - 1}].cls", projection(2))]},
    "deep": {"layer[0]": [("layer[0]", projection(3))], "layer[2]": [("layer[2]", projection(4))]},
    "both": {"-": [("layer[1]", projection(5)), ("layer[-1]", projection(6)), ("pooled", projection(7))]},
    "pooled": {"-": [("pooled", projection(8))]},
}


def fitted(*names: str) -> Fitted:
    """These METHODS, fitted to nothing."""
    settings = {name: METHODS[name].items() if name != "none" else [("-", ())] for name in names}
    methods = {
        name: tuple(Active(name, setting, tuple(edits)) for setting, edits in its) for name, its in settings.items()
    }
    return Fitted(methods, dict.fromkeys(names, ()))


def source(folder: Path, dataset: str = "bios-raw", *, methods: tuple[str, ...] = ("none",), **data: Path) -> Source:
    """The files `model`, `texts.parquet` and `methods.safetensors` of a folder, and those of other roles."""
    if not (folder / "methods.safetensors").is_file():
        save(fitted(*METHODS), folder / "methods.safetensors")
    roles = {"texts": folder / "texts.parquet"} | data
    files = {role: (path,) for role, path in roles.items()}
    return Source(folder / "model", methods, dataset, files, methods_file=folder / "methods.safetensors")


def save_states(path: Path, vectors: torch.Tensor, layers: int = LAYERS) -> Path:
    """The vectors [n, d] of an untouched model, as readouts.first_token writes them."""
    with array_on_disk(path, "vectors", (1, *vectors.shape), "float32", [("none", "-")]) as (array, meta):
        array[0] = vectors
        meta |= {"layers": layers, "truncated": 0}
    return path
