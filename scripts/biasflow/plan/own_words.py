"""What is said of the user's word lists before the first job: words that an encoder's vocabulary splits, words and
templates of two languages, methods that are fitted to other groups than those of the lists, and texts with too few of
the words."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from biasflow.base.errors import BiasflowError, printable
from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.documents import read_texts
from biasflow.corpora.download import at_hand
from biasflow.corpora.seat import is_english, said, words_in
from biasflow.corpora.stereoset import filling_words
from biasflow.corpora.wikitext import running_text
from biasflow.corpora.word_sets import SINGLE, read_word_pairs, read_word_sets, split_words
from biasflow.encoders.described import FOREIGN, english_split
from biasflow.encoders.stored import tokenizer_of
from biasflow.plan.datasets import (
    ANALOGIES,
    SENTENCES,
    WIKITEXT,
    fitting_contexts,
    fitting_files,
    fitting_words,
    own_pairs,
    sources_of_data,
)
from biasflow.plan.jobs import Plan
from biasflow.plan.methods import sources
from biasflow.plan.setup import Setup
from biasflow.stimuli.densray_sets import read_occupation_set
from biasflow.stimuli.gendered_words import read_word_groups
from biasflow.tasks.classification.plan import READ_FIRST

SHOWN = 5  # words that a warning names
APART = 0.3  # shares of split words of two languages differ by so much: rare names of one language do by less
CJK = "\u2e80"  # from here on letters of a script without spaces between words
NOTHING = r"(?!)"  # matches nothing


def warnings(setup: Setup, plan: Plan) -> list[str]:
    """One line each: how many words of a list the vocabulary of a local encoder splits into pieces (that of another is
    not there yet: scores have their number), which lists seem to be of another language than the sentences that they
    are put into, and which methods are not fitted to the user's pairs of words. BiasflowError of `check_occurrences`.
    """
    check_occurrences(setup, plan)
    return [*_splits(setup, plan), *_other_languages(setup, plan), *_other_groups(setup, plan)]


def check_occurrences(setup: Setup, plan: Plan) -> None:
    """Raise BiasflowError, naming the key, where a text that is there holds too few of the words that methods are
    fitted to, as far as a local encoder's vocabulary has them in one piece; what is fitted already is not checked.
    """
    for job, methods in plan.fits.items():
        encoder, fitting = setup.encoders[job.encoder], setup.config["fitting"]
        on_words = any("words" in sources(setup.methods[name]) for name in methods)
        if not on_words or encoder.folder is None or Path(setup.paths.methods(*job)).exists():
            continue
        files, n = fitting_files(fitting, setup.paths, encoder), fitting_contexts(fitting, encoder)["n"]
        texts, tokenizer = _texts(setup, *files["text"]), tokenizer_of(encoder.folder)
        lists = [_at_hand(setup, ANALOGIES, file) for file in files.get("words", ())]
        if texts is None or tokenizer is None or None in lists:
            continue
        groups, words = read_word_groups(fitting_words(fitting, encoder), lists)
        counts = _most_occurrences(tokenizer, texts, words, n // 2)
        if counts and min(counts) < n // 2:
            have = " and ".join(f"{count} of {group}" for count, group in zip(counts, groups, strict=True))
            advice = f", or lower fitting.n to {2 * min(counts)}" if min(counts) else ""
            raise BiasflowError(
                f"config: key 'fitting.n': {n:,} occurrences are {n // 2:,} of either group, and {files['text'][0]} "
                f"has at most {have} that {encoder.name} has in one piece; give a longer text (fitting.text) or more "
                f"words (fitting.words){advice}"
            )


def _texts(setup: Setup, path: str) -> Iterator[str] | None:
    """The sentences of a text or, where the run has yet to make them, the lines of the file that they are made of; None
    where neither is there."""
    if Path(path).is_file():
        return read_texts(path)
    for name in sources_of_data(setup.paths).get(path, ())[:1]:
        file = _at_hand(setup, name, setup.paths.corpus(name))
        if name.startswith(WIKITEXT) and file:
            return iter(running_text(file).splitlines())
    return None


def _at_hand(setup: Setup, name: str, path: str) -> Path | None:
    """A file as it can be read before the first job: the user's own, or that of the catalogue under this name."""
    if Path(path).is_file():
        return Path(path)
    return at_hand(read_catalogue().entry(name), path, setup.config["files"], setup.config["mirror"])


def _most_occurrences(
    tokenizer, texts: Iterator[str], words: Sequence[Sequence[str]], enough: int
) -> tuple[int, int] | None:
    """How often words of either group occur at most, counted until both are `enough`; None where a text is too long to
    read it before the first job. (Where a word has to begin and end, the vocabulary says, and a fit is exact.)"""
    patterns = []
    for group in words:
        one_piece = [word for word in group if not _is_split(tokenizer, word)]
        ends = [rf"(?<!\w){re.escape(word)}(?!\w)" if max(word) < CJK else re.escape(word) for word in one_piece]
        patterns.append(re.compile("|".join(ends) or NOTHING, re.IGNORECASE))
    counts, read = [0, 0], 0
    for text in texts:
        counts = [count + len(pattern.findall(text)) for count, pattern in zip(counts, patterns, strict=True)]
        read += len(text)
        if min(counts) >= enough:
            break
        if read > READ_FIRST:
            return None
    return tuple(counts)


def _is_split(tokenizer, word: str) -> bool:
    """Whether a vocabulary has a word in one piece in none of its forms, at the beginning of a text or within it."""
    forms = (word, word.capitalize(), f" {word}", f" {word.capitalize()}")
    tokens = [tokenizer.encode(form, add_special_tokens=False).tokens for form in forms]
    unknown = getattr(tokenizer.model, "unk_token", None)
    return all(len(pieces) != 1 or pieces[0] == unknown for pieces in tokens)


def _splits(setup: Setup, plan: Plan) -> Iterator[str]:
    lists: dict[tuple[str, str], tuple[Sequence[str], str]] = {}  # encoder and list -> words, what is made of pieces
    for reading in plan.readings.values():
        encoder, files, options = reading.model.encoder, reading.dataset.files, reading.dataset.options
        if "own" in files:
            rule = "WEAT takes the mean of the pieces, CEAT the last one"
            lists[encoder, files["own"][0]] = _words(files["own"][0]), rule
        elif "pronouns" in options:
            rule = "log p of a word is the sum over its pieces; compare words of as many"
            lists[encoder, f"metrics.occtmp.own.{reading.dataset.name}.pronouns"] = options["pronouns"], rule
        elif reading.dataset.scoring.get("own"):
            rule = "a word scores the mean log p of its pieces, of which the later ones are easier"
            lists[encoder, files["stereoset"][0]] = filling_words(files["stereoset"][0]), rule
    pairs = own_pairs(setup.config["fitting"])
    for job in plan.fits if pairs else ():
        words = [word for group in read_word_pairs(pairs["file"]).words for word in dict.fromkeys(group)]
        lists[job.encoder, pairs["file"]] = words, "erasers are not fitted to these"
    for (encoder, name), (words, rule) in lists.items():
        folder = setup.encoders[encoder].folder
        tokenizer = tokenizer_of(folder) if folder else None
        split = split_words(tokenizer, words) if tokenizer else []
        if name.endswith(".pronouns"):  # which stand at the beginning of a sentence, too
            split = [word for word in split if _is_split(tokenizer, word)]
        if split:
            named = ", ".join([*map(printable, split[:SHOWN]), *(["..."] if len(split) > SHOWN else [])])
            counted = f"the vocabulary of {encoder} splits {len(split)} of {len(words)} words ({named})"
            yield f"{name}: {counted}; {rule}"


def _other_languages(setup: Setup, plan: Plan) -> Iterator[str]:
    """One line for each list of which a local encoder's vocabulary splits most words, and few of the templates, or the
    other way round: one of them seems to be of another language than the encoder."""
    scores = (score for of_job in plan.scored.values() for score in of_job if "templates" in score.dataset.options)
    lists = {(score.model.encoder, score.metric, score.dataset.name): score.dataset for score in scores}
    for (encoder, metric, name), dataset in lists.items():
        folder, templates = setup.encoders[encoder].folder, dataset.options["templates"]
        tokenizer = tokenizer_of(folder) if folder else None
        if tokenizer is None:
            continue
        if "own" in dataset.files:
            (file,) = dataset.files["own"]
            texts = _words(file)
        else:
            (file,) = dataset.files["occupations"]
            pronouns = dataset.options["pronouns"]
            texts = read_occupation_set(name, file, templates=templates, pronouns=pronouns).occupations
        of_list, of_templates = _share_split(tokenizer, SINGLE.findall(" ".join(texts))), english_split(folder)
        if not is_english(templates):
            of_templates = _share_split(tokenizer, words_in(templates))
        if (of_list >= FOREIGN) != (of_templates >= FOREIGN) and abs(of_list - of_templates) >= APART:
            what = "common English words" if is_english(templates) else "those of the templates"
            yield (
                f"metrics.{metric}.own.{name.removeprefix(SENTENCES)}.templates: the vocabulary of {encoder} splits "
                f"{of_list:.0%} of the words of {file}, and {of_templates:.0%} of {what}: words and sentences "
                f"({said(templates)}) seem to be of two languages, or the words are rare; put the words into sentences "
                "of their own language"
            )


def _share_split(tokenizer, words: Sequence[str]) -> float:
    """The share of words that a tokenizer splits, or does not know."""
    return len(split_words(tokenizer, words)) / max(1, len(set(words)))


def _words(file: str) -> list[str]:
    """The words of a test."""
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
