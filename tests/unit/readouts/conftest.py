"""A small model on disk whose weights follow from a formula, methods fitted to nothing, and sources made of them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import BertConfig, BertForPreTraining

from biasflow.erasers.eraser import Eraser
from biasflow.methods.fitted import Active, Fitted, Grid, save
from biasflow.methods.grid import ATTENTION, BEFORE, LAST, POOLED, SENTENCE_DEBIAS, Subspaces, chosen_settings
from biasflow.readouts.masked_words import tokens_of_words, word_log_probabilities
from biasflow.readouts.reader import Reader
from biasflow.readouts.source import Source
from tests.unit.conftest import HEADS, HIDDEN, SIZES
from tests.unit.fake_tokenizer import word_tokenizer

OCCUPATIONS = ["nurse", "chef", "judge", "maid", "pilot"]
WORDS = [
    *OCCUPATIONS, *"he she is a . , the man woman king queen it was late here said that now and very kind rich".split()
]  # fmt: skip
SETS = {"targ1": ["nurse", "maid"], "targ2": ["chef", "judge"], "attr1": ["woman", "queen"], "attr2": ["man", "king"]}
LABELS = {"stereotype": "kind", "anti-stereotype": "rich", "unrelated": "late"}
ORDINARY = ["none", "hard", "densray", "densray-each"]


def waves(*shape: int, shift: float = 0.0) -> torch.Tensor:
    """Numbers between -1 and 1 that no random state plays a part in."""
    return torch.from_numpy(np.cos(1.7 * np.arange(np.prod(shape)) ** 1.1 + shift)).float().reshape(shape)


def projection(components: int, *heads: int, dimension: int = HIDDEN, shift: float = 0.0) -> Eraser:
    rows = waves(*heads, dimension, components, shift=shift)
    basis = torch.linalg.qr(rows)[0].mT.contiguous()
    return Eraser.projection(basis, explained_variance=0.5 ** (1 + torch.arange(components)).expand(*heads, -1))


def save_model(folder: Path, words: list[str]) -> Path:
    """An encoder with both pre-training heads, and a tokenizer with these words, in a folder."""
    tokenizer = word_tokenizer(words, max_length=40)
    model = BertForPreTraining(BertConfig(**{**SIZES, "vocab_size": len(tokenizer)}))
    with torch.no_grad():
        for number, (name, parameter) in enumerate(model.named_parameters()):
            parameter.copy_(0.4 * waves(*parameter.shape, shift=number) + ("LayerNorm.weight" in name))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def fitted() -> Fitted:
    layers = tuple((f"layer[{i}]", Eraser.projection(projection(1, shift=i).left)) for i in range(3))
    erasers = {(name, "plain"): projection(2, shift=i) for i, name in enumerate((POOLED, LAST, BEFORE), start=5)}
    erasers[SENTENCE_DEBIAS, "plain"] = projection(1, shift=9)
    erasers |= {
        (part, "plain"): projection(1, HEADS, dimension=HIDDEN // HEADS, shift=i) for i, part in enumerate(ATTENTION)
    }
    methods = {
        "none": (Active("none"),),
        "hard": (Active("hard", edits=layers[-1:]),),
        "densray": (Active("densray", edits=layers),),
        "densray-each": tuple(Active("densray-each", edit[0], (edit,)) for edit in layers),
        "dawkins2024": Grid("dawkins2024", chosen_settings(), Subspaces(erasers)),
    }
    return Fitted(methods, {name: [] for name in methods})


def reader(model, tokenizer, *, batch_size=64, **methods) -> Reader:
    """The model read under edits (place, eraser) by method; untouched where there is none."""
    active = {name: (Active(name, edits=tuple(edits)),) for name, edits in (methods or {"none": ()}).items()}
    return Reader(model, tokenizer, Fitted(active, {name: [] for name in active}), batch_size)


def log_probabilities(reader: Reader, sentences: list[str], words: list[str], *, pieces: bool = False) -> np.ndarray:
    """log p(word | sentence) at the one [MASK] of each sentence that is not left out: [methods, sentences, words]."""
    _, tokens = tokens_of_words(reader, pd.DataFrame({"sentence": sentences}), words, pieces=pieces)
    return word_log_probabilities(reader, tokens)


def own_log_p(model, tokenizer):
    """The model's own log p(piece) at the first [MASK], or at a position, of a sequence of pieces."""

    def found(text: str, piece: str, at: int | None = None) -> float:
        pieces = ["[CLS]", *text.split(), "[SEP]"]
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([tokenizer.convert_tokens_to_ids(pieces)])).logits[0]
        place = pieces.index("[MASK]") if at is None else at
        return float(logits[place].double().log_softmax(-1)[tokenizer.convert_tokens_to_ids(piece)])

    return found


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """model/, methods.safetensors, and a file of each kind of data."""
    path = tmp_path_factory.mktemp("readouts")
    save_model(path / "model", WORDS)
    save(fitted(), path / "methods.safetensors")
    stimuli().to_csv(path / "stimuli.csv", index=False)
    (path / "occupations.txt").write_text("\n".join(OCCUPATIONS))
    examples = {key: {"category": key, "examples": words} for key, words in SETS.items()}
    (path / "words.json").write_text(json.dumps(examples))
    for key in SETS:
        examples[key]["examples"] = [f"the {word} is here ." for word in SETS[key]]
    (path / "sentences.json").write_text(json.dumps(examples))
    (path / "text.txt").write_text("\n".join(sentences()))
    return path


def stimuli() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "triple": occupation,
            "label": label,
            "context": f"the woman is a {occupation} .",
            "next_sentence": f"she is {word} .",
            "swapped_context": f"the man is a {occupation} .",
            "swapped_next_sentence": f"he is {word} .",
        }
        for occupation in OCCUPATIONS
        for label, word in LABELS.items()
    )


def sentences() -> list[str]:
    """Twenty sentences of six to nine words."""
    return [" ".join(WORDS[(7 * i + j * (i + 3)) % len(WORDS)] for j in range(6 + i % 4)) for i in range(20)]


@pytest.fixture
def source(folder):
    """A source: its dataset, its methods and its data, names of files of `folder` by role."""

    def made(dataset: str, methods=ORDINARY, **data: str) -> Source:
        files = {role: (folder / name,) for role, name in data.items()}
        return Source(folder / "model", tuple(methods), dataset, files, folder / "methods.safetensors")

    return made
