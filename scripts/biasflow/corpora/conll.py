"""CoNLL-2012 files: documents with coreference clusters (OntoNotes, OntoGUM, WinoBias), read, edited and written.

A token is a line of at least 12 columns, split at tabs where it has tabs and at blanks elsewhere. Read are the 4th
(word), 5th (part of speech), 10th (speaker), 11th (names) and the last one (coreference); all else is kept as it is. An
empty line ends a sentence. Every document starts with `#begin document (KEY); part NNN`, which names it, and ends with
`#end document`."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from pathlib import Path
from typing import Literal, Self

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_text, whole_file

Span = tuple[int, int]  # numbers of its first and of its last word in the document, from 0
Clusters = tuple[tuple[Span, ...], ...]

WORD, POS, SPEAKER, NAMES, LEAST = 3, 4, 9, 10, 12
NONE = ("", "-", "_", "*")  # cells of the last column that hold no bracket
BEGIN = re.compile(r"#begin document \((.+)\); part (\S+)\s*")
BRACKET = re.compile(r"(?P<opens>\()?(?P<id>[^()|\s]+)(?P<closes>\))?")
CELL = re.compile(r"(\|?(\([^()|\s]++\)?|[^()|\s]++\)))+")
LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True)
class Document:
    """One document of n words; its text is gaps[0] + words[0] + gaps[1] + ... + words[n - 1] + gaps[n].

    key, part   its name
    words, pos, speakers, names  the cells of these columns, [n]; sentences: the number of each word's sentence, from 0
    clusters    tuples of spans, first and last word included: sorted, and gold clusters by their first spans
    gaps        all that stands between the words in the file, [n + 1]"""

    key: str
    part: str
    words: tuple[str, ...]
    pos: tuple[str, ...]
    speakers: tuple[str, ...]
    names: tuple[str, ...]
    sentences: tuple[int, ...]
    clusters: Clusters
    gaps: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the document in messages: "(key); part 000"."""
        return f"({self.key}); part {self.part}"

    @property
    def text(self) -> str:
        """The document as it stands in its file."""
        return "".join(piece for pair in zip(self.gaps, (*self.words, ""), strict=True) for piece in pair)

    def sentence_words(self) -> Iterator[range]:
        """The numbers of the words of every sentence."""
        for _, numbers in groupby(range(len(self.words)), key=self.sentences.__getitem__):
            first, *others = numbers
            yield range(first, first + 1 + len(others))

    def with_words(self, words: Sequence[str]) -> Self:
        """The document with other words, one for each; BiasflowError where they would break its columns."""
        if len(words) != len(self.words):
            raise BiasflowError(f"document {self.name}: {len(words)} words for {len(self.words)}; give one for each.")
        for number, (old, new) in enumerate(zip(self.words, words, strict=True), start=1):
            if (not new and old) or re.findall(r"\s", new) != re.findall(r"\s", old):
                raise BiasflowError(
                    f"document {self.name}: word {number}: {new!r} is empty or has a blank in it; give one word."
                )
        return replace(self, words=tuple(words))

    def renamed(self, key: str) -> Self:
        """The document under another key, in its first line and in the first column; text before it is left out."""
        old = re.compile(rf"^(#begin document \()?{re.escape(self.key)}(?=[\t ]|\);)", re.MULTILINE)
        head = self.gaps[0][self.gaps[0].index("#begin document (") :]
        gaps = (old.sub(lambda match: f"{match[1] or ''}{key}", gap) for gap in (head, *self.gaps[1:]))
        return replace(self, key=key, gaps=tuple(gaps))


@dataclass(frozen=True)
class Corpus:
    """The documents of a file in their order.

    repeated  mentions whose span another mention of the document has too: their clusters were made one
    dropped   names of the documents left out because they were broken"""

    documents: tuple[Document, ...]
    repeated: int
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class _Lines:
    """The lines of one document (the first one is its #begin), `before` it, and the `number` of its first line."""

    key: str
    part: str
    before: str
    number: int
    lines: list[str]


def read_conll(path: str | Path, *, broken: Literal["error", "drop"] = "error") -> Corpus:
    """The documents of a CoNLL-2012 file with gold clusters.

    Coreference cells hold brackets `(7`, `7)`, `(7)`, apart by `|` or by nothing; `-`, `_`, `*` and an empty cell hold
    none. Brackets of one id nest. Clusters that share a span become one, and so on through all that they share spans
    with; clusters of one mention stay. A document without words is one.

    broken  what becomes of a document with a bracket closed but never opened or opened but never closed, another sign
            in its coreference column, too few columns, no `#end document`, or the name of one before it: "error", a
            BiasflowError that names file, document and line; or "drop": it is left out, and named in the result.

    BiasflowError always: a line outside documents that is neither empty nor a comment (`#`), a `#begin document` line
    without key and part, a file without documents or not in UTF-8."""
    documents, dropped = _read(Path(path), broken)
    repeated = sum(repeated_spans(document.clusters) for document in documents)
    return Corpus(tuple(replace(d, clusters=merge_clusters(d.clusters)) for d in documents), repeated, dropped)


def read_predictions(path: str | Path) -> tuple[Document, ...]:
    """The documents of a CoNLL file with the clusters that any system predicts, as they are: spans may repeat, and
    clusters stand in the order in which the file first names them (as the reference scorer orders them: of one cell,
    mentions of one word come first).

    A line may have fewer columns than a gold file's: two, which are word and coreference, or five and more, of which
    the word is the fourth and coreference the last. BiasflowError as in `read_conll`, and for three or four columns."""
    return tuple(_read(Path(path), "error", bare=True)[0])


def write_conll(documents: Iterable[Document], path: str | Path) -> None:
    """Write the documents as they were read, byte for byte but for words that were edited. Whole or absent.

    BiasflowError names a document whose name another one has."""
    names: set[str] = set()
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        last = "\n"
        for document in documents:
            if document.name in names:
                raise BiasflowError(
                    f"{path}: document {document.name}: another document has this name; rename one of the two."
                )
            names.add(document.name)
            stream.write(document.text if last.endswith("\n") else f"\n{document.text}")
            last = document.gaps[-1]


def new_document(
    key: str,
    sentences: Sequence[Sequence[str]],
    clusters: Clusters,
    *,
    pos: Sequence[str],
    names: Sequence[str],
    part: str = "000",
) -> Document:
    """A document of these words and clusters, in 12 columns apart by tabs; pos and names: the cells of every word.

    BiasflowError names two mentions of one cluster that cross: brackets of one id can only nest."""
    words = tuple(word for sentence in sentences for word in sentence)
    numbers = tuple(number for number, sentence in enumerate(sentences) for _ in sentence)
    clusters = merge_clusters(clusters)
    closing, single, opening = ([[] for _ in words] for _ in range(3))
    for id, cluster in enumerate(clusters):
        for mention, other in combinations(cluster, 2):
            if mention[0] < other[0] < mention[1] < other[1]:
                raise BiasflowError(
                    f"document ({key}); part {part}: {mention} and {other} of one cluster cross; mend the cluster."
                )
        for first, last in cluster:
            if first == last:
                single[first].append(f"({id})")
            else:
                opening[first].append(f"({id}")
                closing[last].append(f"{id})")
    gaps, gap = [], f"#begin document ({key}); part {part}\n"
    for sentence in sentences:
        for place in range(len(sentence)):
            number = len(gaps)
            brackets = "|".join(closing[number] + single[number] + opening[number]) or "-"
            gaps.append(f"{gap}{key}\t{int(part)}\t{place}\t")
            gap = f"\t{pos[number]}\t*\t-\t-\t-\t-\t{names[number]}\t{brackets}\n"
        gap += "\n"
    gaps.append(f"{gap}#end document\n")
    speakers = ("-",) * len(words)
    return Document(key, part, words, tuple(pos), speakers, tuple(names), numbers, clusters, tuple(gaps))


def merge_clusters(clusters: Clusters) -> Clusters:
    """Merge clusters that share a span, transitively; every span is kept once, in order."""
    merged: list[set[Span]] = []
    for cluster in map(set, clusters):
        apart = [other for other in merged if other.isdisjoint(cluster)]
        merged = [*apart, cluster.union(*(other for other in merged if not other.isdisjoint(cluster)))]
    return tuple(sorted(tuple(sorted(cluster)) for cluster in merged))


def without_singletons(clusters: Clusters) -> Clusters:
    """Return the clusters of two or more mentions, which alone are trained on and scored."""
    return tuple(cluster for cluster in clusters if len(cluster) > 1)


def plain_word(word: str) -> str:
    """Return the word without the sign of OntoNotes before a full stop and a question mark: `/.` is `.`."""
    return word[1:] if word in ("/.", "/?") else word


def repeated_spans(clusters: Clusters) -> int:
    """Return how many mentions have the span of an earlier mention of these clusters."""
    spans = [span for cluster in clusters for span in cluster]
    return len(spans) - len(set(spans))


def _read(path: Path, broken: str, *, bare: bool = False) -> tuple[list[Document], tuple[str, ...]]:
    """The documents with their clusters as the brackets say, and the names of those dropped; bare: columns may lack."""
    documents: dict[str, Document] = {}
    dropped = []
    after = ""
    for part in _parts(path):
        if isinstance(part, str):
            after = part
            continue
        name = f"({part.key}); part {part.part}"
        try:
            if name in documents:
                raise BiasflowError(
                    f"{path}: document {name}: line {part.number}: there is a second document of this name; rename one."
                )
            documents[name] = _document(path, name, part, bare)
        except BiasflowError:
            if broken == "error":
                raise
            dropped.append(name)
    if not documents:
        raise BiasflowError(f"{path}: no document that can be read ({len(dropped)} broken ones); is it a CoNLL file?")
    result = list(documents.values())
    result[-1] = replace(result[-1], gaps=(*result[-1].gaps[:-1], result[-1].gaps[-1] + after))
    return result, tuple(dropped)


def _parts(path: Path) -> Iterator[_Lines | str]:
    """The lines of each document; last, the text after all of them."""
    before, current = "", None
    for number, line in enumerate(LINE.findall(read_text(path, exact=True)), start=1):
        content = line.lstrip("\ufeff")
        if content.startswith("#begin document"):
            begin = BEGIN.fullmatch(content)
            if not begin:
                raise BiasflowError(f"{path}: line {number}: a document begins with '#begin document (KEY); part NNN'.")
            if current:
                yield current
            current, before = _Lines(begin[1], begin[2], before, number, [line]), ""
        elif current:
            current.lines.append(line)
            if content.startswith("#end document"):
                yield current
                current = None
        elif content.strip() and not content.startswith("#"):
            raise BiasflowError(f"{path}: line {number}: outside of any document; is a '#begin document' line missing?")
        else:
            before += line
    if current:
        yield current
    yield before


def _document(path: Path, name: str, source: _Lines, bare: bool) -> Document:
    def problem(line: int, text: str) -> BiasflowError:
        return BiasflowError(f"{path}: document {name}: line {line}: {text}")

    tokens: list[tuple[str, ...]] = []
    sentences: list[int] = []
    gaps = []
    gap, sentence, sentence_ended = source.before, -1, True
    opened: dict[str, list[tuple[int, int]]] = defaultdict(list)  # id -> (word, line) of open brackets
    clusters: dict[str, list[Span]] = {}
    for number, line in enumerate(source.lines, start=source.number):
        if line.startswith("#") or not line.strip() or number == source.number:
            gap += line
            sentence_ended |= not line.strip()
            continue
        cells, start = _filled(line, *_cells(line)) if bare else _cells(line)
        if len(cells) < LEAST:
            needs = f"2 (word and coreference), or {WORD + 2} or more" if bare else f"{LEAST} or more"
            raise problem(number, f"{len(cells)} columns; a token needs {needs}.")
        cell = cells[-1].strip()
        if cell not in NONE and not CELL.fullmatch(cell):
            raise problem(number, f"coreference {cell!r} holds a sign that is no bracket; write (7, 7) or (7).")
        brackets = [] if cell in NONE else list(BRACKET.finditer(cell))
        for bracket in brackets:
            if bracket["opens"] and bracket["closes"]:
                clusters.setdefault(bracket["id"], [])
        for bracket in brackets:
            id = bracket["id"]
            if bracket["opens"]:
                clusters.setdefault(id, [])
                opened[id].append((len(tokens), number))
            if bracket["closes"]:
                if not opened[id]:
                    raise problem(number, f"coreference {id!r} is closed, but was not opened.")
                clusters[id].append((opened[id].pop()[0], len(tokens)))
        sentence += sentence_ended
        sentence_ended = False
        sentences.append(sentence)
        tokens.append(tuple(cells[column] for column in (WORD, POS, SPEAKER, NAMES)))
        gaps.append(gap + line[:start])
        gap = line[start + len(cells[WORD]) :]
    still_open = [(line, id) for id, places in opened.items() for _, line in places]
    if still_open:
        line, id = min(still_open)
        raise problem(line, f"coreference {id!r} is opened, but never closed.")
    if not source.lines[-1].startswith("#end document"):
        raise problem(source.number + len(source.lines) - 1, "the document has no '#end document' line.")
    words, pos, speakers, names = zip(*tokens, strict=True) if tokens else [()] * 4
    spans = (tuple(sorted(cluster)) for cluster in clusters.values())
    ordered = tuple(spans if bare else sorted(spans))
    return Document(source.key, source.part, words, pos, speakers, names, tuple(sentences), ordered, (*gaps, gap))


def _cells(line: str) -> tuple[list[str], int]:
    """The cells of a line, and where its word starts."""
    line = line.rstrip("\r\n")
    if "\t" in line:
        cells = line.split("\t")
        return cells, sum(len(cell) + 1 for cell in cells[:WORD])
    matches = list(re.finditer("[^ ]+", line))
    return [cell[0] for cell in matches], matches[WORD].start() if len(matches) > WORD else 0


def _filled(line: str, cells: list[str], start: int) -> tuple[list[str], int]:
    """What `_cells` finds in a line that may lack columns, with empty cells in place of those."""
    if len(cells) == 2:
        cells, start = [*["-"] * WORD, *cells], line.index(cells[0])
    if len(cells) > WORD + 1:
        cells = [*cells[:-1], *["-"] * (LEAST - len(cells)), cells[-1]]
    return cells, start
