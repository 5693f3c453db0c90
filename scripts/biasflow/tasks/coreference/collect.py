"""The documents of a coreference task, from files or embedded with a known bias, and baselines without training."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pandas as pd

from biasflow.base.tabular import write_csv
from biasflow.corpora.conll import Clusters, Document, Span, read_conll, without_singletons, write_conll
from biasflow.planted.coreference import coreference_documents
from biasflow.tasks.coreference.f1 import CONLL, conll_f1

PARTS = ("train", "validation", "test")
RULES, BEST = "rules", "best possible"


@dataclass(frozen=True)
class Part:
    """Documents. sources: a row for each file; best: the clusters of the best possible predictor, if known."""

    documents: Sequence[Document]
    sources: Sequence[Mapping[str, object]]
    best: Sequence[Clusters] | None = None


def prepare(
    sources: Mapping[str, Sequence[Path]],
    outputs: Mapping[str, Path],
    *,
    planted: Mapping[str, object] | None,
    broken: str,
) -> dict[str, object]:
    """Write the documents of train, validation and test, the table of their sources, and that of the baselines.

    planted: bias, seed, and how many documents each part has, of embedded ones; None for the files of each part in
    `sources`; broken: see `corpora.conll.read_conll`. BiasflowError: what reading and writing refuse, such as two
    documents of one name."""
    parts = from_files(sources, broken=broken) if planted is None else from_world(**planted)
    for name, part in parts.items():
        write_conll(part.documents, outputs[name])
    rows = [{"part": name, **row} for name, part in parts.items() for row in part.sources]
    write_csv(pd.DataFrame(rows), outputs["sources"])
    write_csv(baselines({name: parts[name] for name in PARTS[1:]}), outputs["baseline"])
    return {"documents": {name: len(part.documents) for name, part in parts.items()}}


def from_files(files: Mapping[str, Sequence[Path]], *, broken: str) -> dict[str, Part]:
    """Read the documents of the CoNLL files of all PARTS, with a row of sources for each file; best is unknown.

    files: paths by part; broken: see `corpora.conll.read_conll`, whose BiasflowError it passes on."""
    result = {}
    for part in PARTS:
        corpora = {path: read_conll(path, broken=broken) for path in files[part]}
        rows = [
            source_row(path.name, corpus.documents, repeated=corpus.repeated, dropped=corpus.dropped)
            for path, corpus in corpora.items()
        ]
        result[part] = Part([document for corpus in corpora.values() for document in corpus.documents], rows)
    return result


def from_world(*, bias: float, seed: int, **sizes: int) -> dict[str, Part]:
    """Make the embedded documents; each part is drawn with its own seed."""
    result = {}
    for number, part in enumerate(PARTS):
        answered = coreference_documents(bias=bias, seed=3 * seed + number, n=sizes[part], name=part)
        row = source_row(f"planted, bias {bias:g}", answered.documents)
        result[part] = Part(answered.documents, [row], answered.best)
    return result


def source_row(
    source: str, documents: Sequence[Document], *, repeated: int = 0, dropped: Sequence[str] = ()
) -> dict[str, object]:
    """Return the row of a file in the table of sources. source, documents, words, clusters, mentions: of two mentions
    and more; singletons: clusters of one, which are left out of training and scoring; repeated: mentions with the span
    of another, whose clusters were made one; dropped: how many broken documents were, and dropped_documents: their
    names."""
    clusters = [cluster for document in documents for cluster in document.clusters]
    several = without_singletons(clusters)
    return {
        "source": source,
        "documents": len(documents),
        "words": sum(len(document.words) for document in documents),
        "clusters": len(several),
        "mentions": sum(map(len, several)),
        "singletons": len(clusters) - len(several),
        "repeated": repeated,
        "dropped": len(dropped),
        "dropped_documents": "; ".join(dropped),
    }


def baselines(parts: Mapping[str, Part]) -> pd.DataFrame:
    """Return the scores that a model must be compared with: columns part, predictor, metric, value (in [0, 1]), n
    (documents).

    predictor: "rules" (`rule_clusters`), and "best possible", of documents whose best answer is known."""
    rows = [
        {"part": name, "predictor": predictor, "metric": metric, "value": value, "n": len(part.documents)}
        for name, part in parts.items()
        for predictor, clusters in predictions(part)
        for metric, value in f1s(part.documents, clusters).items()
    ]
    return pd.DataFrame(rows)


def predictions(part: Part) -> Iterator[tuple[str, Sequence[Clusters]]]:
    """Yield (predictor, clusters of each document): the rules', and the best possible ones where these are known."""
    yield RULES, [rule_clusters(document) for document in part.documents]
    if part.best is not None:
        yield BEST, part.best


def f1s(documents: Sequence[Document], clusters: Sequence[Clusters]) -> dict[str, float]:
    """conll_f1, muc_f1, b_cubed_f1 and ceafe_f1 in [0, 1] (`f1.conll_f1`) of predicted clusters, document by document,
    against the gold ones; clusters of one mention are left out of the gold ones.

    BiasflowError: what `f1.conll_f1` refuses."""
    gold = [without_singletons(document.clusters) for document in documents]
    scores = conll_f1(gold, clusters, names=[document.name for document in documents])
    return {"conll_f1": scores.average} | {f"{name}_f1": getattr(scores, name).f1 for name in CONLL}


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
    run = takewhile(lambda number: document.pos[number] in INSIDE, numbers)
    return max((number for number in run if document.pos[number] in PROPER + COMMON), default=None)
