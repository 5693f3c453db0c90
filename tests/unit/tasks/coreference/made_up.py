"""Tiny documents whose coreference can be learnt, an encoder for them, and recipes that take seconds."""

from collections.abc import Sequence
from pathlib import Path

from transformers import BertConfig, BertModel

from biasflow.corpora.conll import Document
from tests.unit.conftest import SIZES, save_random
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.synthetic_conll import conll_text, documents_of

MEN, WOMEN, VERBS = ("john", "paul", "mark"), ("mary", "anna", "ruth"), ("saw", "met", "knew")
WORDS = [*MEN, *WOMEN, *VERBS, "he", "she", "smiled", "the", "nurse", "."]
TOKENIZER = word_tokenizer(WORDS)
ENCODER = SIZES | {"max_position_embeddings": 32, "initializer_range": 0.05, "hidden_dropout_prob": 0.0}
SIZES_OF_SCORER = {
    "max_width": 4, "ffnn": 64, "antecedents": 6, "span_ratio": 0.5, "most_spans": 3900, "feature": 4, "dropout": 0.1,
}  # fmt: skip
RECIPE = {
    "epochs": 2, "encoder_rate": 1e-3, "task_rate": 3e-3, "warmup": 0.1, "weight_decay": 0.01, "adam_epsilon": 1e-6,
    "clip": 1.0, "most_segments": 2, "mention_loss": 1.0, "keep": "best", "checkpoint_steps": 3,
    "scorer": SIZES_OF_SCORER, "reading": {"segment_length": 16, "word_prefix_space": True},
}  # fmt: skip


def text(number: int, sentences: int = 2) -> str:
    """A man meets a woman; then each sentence is about the one that its pronoun says."""
    man, woman, verb = MEN[number % 3], WOMEN[number // 3 % 3], VERBS[number // 2 % 3]
    words = [[man, verb, woman, "."]]
    mentions: dict[str, list[tuple[int, int]]] = {"he": [(0, 0)], "she": [(2, 2)]}
    for sentence in range(sentences):
        pronoun = ("he", "she")[(number + sentence) % 2]
        mentions[pronoun].append((4 + 3 * sentence, 4 + 3 * sentence))
        words.append([pronoun, "smiled", "."])
    return conll_text(f"nw/{number}", words, list(mentions.values()))


def documents(folder: Path, numbers: Sequence[int], sentences: int = 2) -> tuple[Document, ...]:
    return documents_of(folder, *(text(number, sentences) for number in numbers))


def save_file(path: Path, *texts: str) -> Path:
    path.write_text("".join(texts), encoding="utf-8")
    return path


def save_encoder(folder: Path) -> Path:
    return save_random(folder, lambda: BertModel(BertConfig(**ENCODER)), TOKENIZER)
