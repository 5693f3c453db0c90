"""Clusters that somebody's system predicts, from CoNLL files, in place of those of a model. Imports no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import write_parquet
from biasflow.corpora.conll import Clusters, Document, plain_word, read_conll, read_predictions
from biasflow.readouts.predicted_clusters import NA, OWN, TEXTS, cluster_rows

Files = Mapping[Path, Sequence[Document]]


def read(given: Sequence[Path], data: Mapping[str, Sequence[Path]], output: Path) -> dict[str, object]:
    """Write the table of `predicted_clusters`, of the own head under no method, from the files `given`.

    data: by role, the file of each of TEXTS. A text of which no document is given has no rows. BiasflowError as in
    `matched`, and for what is no CoNLL file."""
    texts = {text: data[text][0] for text in TEXTS}
    gold = {path: read_conll(path).documents for path in texts.values()}
    found = matched({path: read_predictions(path) for path in given}, gold)
    predicted = {text: found[path] for text, path in texts.items() if path in found}
    names = {"method": "none", "setting": NA, "head": OWN, "head_seed": NA}
    write_parquet(cluster_rows(predicted, **names), output)
    return {"documents": {text: len(clusters) for text, clusters in predicted.items()}}


def matched(given: Files, gold: Files) -> dict[Path, list[Clusters]]:
    """File of the data -> the clusters that are given for its documents, in their order; no file of which none is. A
    span that a cluster has twice is there once.

    A document is found by its name and its words together: where pro- and anti-stereotypical files have the same names,
    the words tell which is meant. BiasflowError names file and document: given in two files; not of the data; of other
    words than the data's; missing, where others of its file are given."""
    found: dict[tuple, tuple[Path, Document]] = {}
    for path, documents in given.items():
        for document in documents:
            earlier, _ = found.setdefault(_identity(document), (path, document))
            if earlier != path:
                raise BiasflowError(f"{path}: document {document.name}: is in {earlier} as well; give it once.")
    known = {_identity(document) for documents in gold.values() for document in documents}
    for identity, (path, document) in found.items():
        if identity not in known:
            raise BiasflowError(f"{path}: document {document.name}: {_difference(document, gold)}")
    clusters = {}
    for path, documents in gold.items():
        missing = [document for document in documents if _identity(document) not in found]
        if 0 < len(missing) < len(documents):
            raise BiasflowError(
                f"{path}: document {missing[0].name}: is missing, as the first of {len(missing)}, in "
                f"{', '.join(map(str, given))}; predict all {len(documents)} documents, or none."
            )
        if not missing:
            clusters[path] = [_spans_once(found[_identity(document)][1].clusters) for document in documents]
    return clusters


def _identity(document: Document) -> tuple:
    return _name(document), tuple(map(plain_word, document.words))


def _name(document: Document) -> tuple[str, str]:
    """Key and part; the zeros that a part begins with are not always written."""
    return document.key, document.part.lstrip("0")


def _difference(document: Document, gold: Files) -> str:
    """What tells a predicted document from all of the data."""
    alike = [(path, each) for path, documents in gold.items() for each in documents if _name(each) == _name(document)]
    if not alike:
        return f"is in none of {', '.join(map(str, gold))}; leave it out."
    path, other = alike[0]
    for number, (theirs, ours) in enumerate(zip(document.words, other.words, strict=False), start=1):
        if plain_word(theirs) != plain_word(ours):
            return f"word {number} is {theirs!r}, not {ours!r} as in {path}; predict the documents of the data."
    return f"has {len(document.words)} words, not {len(other.words)} as in {path}; write the words of the data."


def _spans_once(clusters: Clusters) -> Clusters:
    return tuple(tuple(dict.fromkeys(cluster)) for cluster in clusters)
