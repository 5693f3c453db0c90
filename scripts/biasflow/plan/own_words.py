"""Warnings about the user's word lists before the first job: words that an encoder's vocabulary splits, and methods
that are fitted to other groups than those of the lists."""

from collections.abc import Iterator

from biasflow.base.errors import printable
from biasflow.corpora.word_sets import read_word_pairs, read_word_sets, split_words
from biasflow.encoders.stored import tokenizer_of
from biasflow.plan.datasets import own_pairs
from biasflow.plan.jobs import Plan
from biasflow.plan.methods import sources
from biasflow.plan.setup import Setup

SHOWN = 5  # words that a warning names


def warnings(setup: Setup, plan: Plan) -> list[str]:
    """One line each: how many words of a list the vocabulary of a local encoder splits into pieces (that of another is
    not there yet: scores have their number), and which methods are not fitted to the user's pairs of words."""
    return [*_splits(setup, plan), *_other_groups(setup, plan)]


def _splits(setup: Setup, plan: Plan) -> Iterator[str]:
    lists = {
        (reading.model.encoder, reading.dataset.files["own"][0]): "WEAT takes the mean of the pieces, CEAT the last one"
        for reading in plan.readings.values()
        if "own" in reading.dataset.files
    }
    pairs = own_pairs(setup.config["fitting"])
    for job in plan.fits if pairs else ():
        lists[job.encoder, pairs["file"]] = "erasers are not fitted to these"
    for encoder, file in lists:
        folder = setup.encoders[encoder].folder
        tokenizer = tokenizer_of(folder) if folder else None
        words = _words(file, is_pairs=bool(pairs) and file == pairs["file"])
        if tokenizer and (split := split_words(tokenizer, words)):
            named = ", ".join([*map(printable, split[:SHOWN]), *(["..."] if len(split) > SHOWN else [])])
            counted = f"the vocabulary of {encoder} splits {len(split)} of {len(words)} words ({named})"
            yield f"{file}: {counted}; {lists[encoder, file]}"


def _words(file: str, *, is_pairs: bool) -> list[str]:
    if is_pairs:
        return [word for words in read_word_pairs(file).words for word in dict.fromkeys(words)]
    test = read_word_sets(file, file)
    return [word for role in "XYAB" for word in getattr(test, role).examples]


def _other_groups(setup: Setup, plan: Plan) -> Iterator[str]:
    fitting = setup.config["fitting"]
    if (pairs := own_pairs(fitting)) and fitting["sentence_pairs"] is None:
        names = dict.fromkeys(name for methods in plan.fits.values() for name in methods)
        others = [name for name in names if "pairs" in sources(setup.methods[name])]
        if others:
            yield (
                f"methods {', '.join(others)}: fitted to pairs of sentences, which are of gender, not of "
                f"{pairs['name']}; give others in fitting.sentence_pairs, or leave them out"
            )
