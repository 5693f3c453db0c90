"""Read the data to which methods are fitted from the files of a job."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from biasflow.corpora.documents import read_sentences
from biasflow.stimuli.gendered_words import read_word_groups
from biasflow.text.sentence_pairs import load_sentence_pairs

Files = Mapping[str, Sequence[str | Path]]


def fitting_arguments(fit: Mapping, files: Files) -> dict[str, object]:
    """Return the arguments of `fitting.fit_block`, without the models and the vectors of a task.

    fit: methods, words ("planted", "family" or "own") and contexts (n, cap_per_word, max_length, batch_size); files by
    role: sentence_pairs, and where methods are fitted to words text and, unless the words are embedded, words."""
    arguments = {"methods": fit["methods"], **fit["contexts"]}
    arguments["sentence_pairs"] = load_sentence_pairs(files["sentence_pairs"][0])
    if files.get("text"):
        arguments["sentences"] = read_sentences(files["text"][0])
        arguments["groups"], arguments["words"] = read_word_groups(fit["words"], files.get("words", ()))
    return arguments
