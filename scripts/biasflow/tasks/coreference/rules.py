"""A baseline without learning: clusters by rules on words and parts of speech."""

from collections import defaultdict
from collections.abc import Iterator

from biasflow.corpora.conll import Clusters, Document, Span, without_singletons

PARADIGMS = (
    "i me my mine myself",
    "we us our ours ourselves",
    "you your yours yourself yourselves",
    "he him his himself",
    "she her hers herself",
    "it its itself",
    "they them their theirs themselves",
)
PARADIGM = {word: number for number, words in enumerate(PARADIGMS) for word in words.split()}
PROPER, COMMON = ("NNP", "NNPS"), ("NN", "NNS")
INSIDE = (*PROPER, *COMMON, "JJ", "JJR", "JJS", "CD", "VBG", "VBN", "HYPH", "POS")
DEFINITE = ("the", "this", "that", "these", "those")
OWNER = "PRP$"  # makes the following noun definite, and is itself a mention


def rule_clusters(document: Document) -> Clusters:
    """Return clusters of two or more mentions: all pronouns of one paradigm (she, her, hers, herself), and all proper
    names and definite noun phrases that end in the same word, in any case.

    A proper name is a run of words tagged NNP or NNPS, with the possessive mark behind it. A definite noun phrase
    is the, this, that, these, those or a possessive pronoun, and the run of nouns, adjectives, participles and numbers
    behind it up to its last noun. Parts of speech are those of the Penn Treebank; where a document has none, only
    pronouns are found."""
    clusters: dict[tuple, list[Span]] = defaultdict(list)
    for words in document.sentence_words():
        for shared, span in _mentions(document, words):
            clusters[shared].append(span)
    return without_singletons(tuple(map(tuple, clusters.values())))


def _mentions(document: Document, numbers: range) -> Iterator[tuple[tuple, Span]]:
    """(what all mentions of a cluster share, the span of one of them) in a sentence."""
    at = numbers.start
    while at < numbers.stop:
        word, tag = document.words[at].lower(), document.pos[at]
        stop = at + 1
        if word in PARADIGM and tag not in PROPER:  # US is no pronoun
            yield ("pronoun", PARADIGM[word]), (at, at)
        if word in DEFINITE or tag == OWNER:
            last = _last_noun(document, range(stop, numbers.stop))
            if last is not None:
                yield ("noun", document.words[last].lower()), (at, last)
                stop = last + 1
        elif tag in PROPER:
            while stop < numbers.stop and document.pos[stop] in PROPER:
                stop += 1
            name = document.words[stop - 1].lower()
            stop += stop < numbers.stop and document.pos[stop] == "POS"
            yield ("noun", name), (at, stop - 1)
        at = stop


def _last_noun(document: Document, numbers: range) -> int | None:
    """The last noun of the run of words of a noun phrase at the start of `numbers`; None without one."""
    last = None
    for number in numbers:
        if document.pos[number] not in INSIDE:
            break
        if document.pos[number] in PROPER + COMMON:
            last = number
    return last
