"""What methods are fitted to, read from the files that a job is given."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from biasflow.corpora.documents import read_sentences
from biasflow.stimuli.gendered_words import read_word_groups
from biasflow.text.sentence_pairs import load_sentence_pairs

Files = Mapping[str, Sequence[str | Path]]


def fitting_arguments(fit: Mapping, files: Files) -> dict[str, object]:
    """The arguments of `fitting.fit_block` but for models and the vectors of a task.

    fit: methods, words ("planted", "family" or "own") and contexts (n, cap_per_word, max_length, batch_size); files by
    role: sentence_pairs, and where methods are fitted to words text and, unless the words are embedded, words."""
    found = {"methods": fit["methods"], **fit["contexts"]}
    found["sentence_pairs"] = load_sentence_pairs(files["sentence_pairs"][0])
    if files.get("text"):
        found["sentences"] = read_sentences(files["text"][0])
        found["groups"], found["words"] = read_word_groups(fit["words"], files.get("words", ()))
    return found
