"""The documents of a coreference task, from files or embedded with a known bias, and baselines without training."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from biasflow.base.tabular import write_csv
from biasflow.corpora.conll import Clusters, Document, read_conll, without_singletons, write_conll
from biasflow.planted.coreference import coreference_documents
from biasflow.tasks.coreference.f1 import conll_f1
from biasflow.tasks.coreference.rules import rule_clusters

PARTS = ("train", "validation", "test")
RULES, BEST = "rules", "best possible"
F1S = {"conll_f1": lambda scores: scores.average} | {
    f"{name}_f1": lambda scores, name=name: getattr(scores, name).f1 for name in ("muc", "b_cubed", "ceafe")
}


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

    predictor: "rules" (`rules.rule_clusters`), and "best possible", of documents whose best answer is known."""
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
    return {name: float(f1_of(scores)) for name, f1_of in F1S.items()}
