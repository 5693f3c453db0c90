"""Made-up CoNLL-2012 documents, as text."""

from collections.abc import Sequence
from pathlib import Path

from biasflow.corpora.conll import Document, read_conll

Span = tuple[int, int]


def conll_text(
    key: str,
    sentences: Sequence[Sequence[str]],
    clusters: Sequence[Sequence[Span]] = (),
    *,
    part: str = "000",
    pos: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    separator: str = "\t",
    between: str = "|",
) -> str:
    """A document with 12 columns a token, its clusters numbered from 1; `between`: what parts two brackets."""
    n = sum(map(len, sentences))
    pos, names = pos or ["-"] * n, names or ["*"] * n
    closing, single, opening = ([[] for _ in range(n)] for _ in range(3))
    for id, cluster in enumerate(clusters, start=1):
        for first, last in cluster:
            if first == last:
                single[first].append(f"({id})")
            else:
                opening[first].append(f"({id}")
                closing[last].append(f"{id})")
    lines, number = [f"#begin document ({key}); part {part}"], 0
    for sentence in sentences:
        for place, word in enumerate(sentence):
            cell = between.join(closing[number] + single[number] + opening[number]) or "-"
            cells = [key, "0", str(place), word, pos[number], "*", "-", "-", "-", "Speaker#1", names[number], cell]
            lines.append(separator.join(cells))
            number += 1
        lines.append("")
    return "\n".join([*lines, "#end document", ""])


def documents_of(folder: Path, *texts: str) -> tuple[Document, ...]:
    """The documents with these texts, read from a file in `folder`."""
    path = folder / "made-up.conll"
    path.write_text("".join(texts), encoding="utf-8", newline="")
    return read_conll(path).documents
