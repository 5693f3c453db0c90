"""Debiased training documents: names removed, gender-swapped copies added, or both.

Only words change: their number, the brackets and all other columns stay. Documents to select and to test on are left
as they are.

Sources: Zhao et al. (2018) for both, Orgad et al. (2022, section 3.1)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from biasflow.base.errors import BiasflowError
from biasflow.corpora.conll import Document
from biasflow.text.gender_swap import swap_tokens

PERSON = "PERSON"
POSSESSIVE = ("'s", "’s", "'", "’")
NAME_CELL = re.compile(r"\((?P<type>[^()*\s]+)|(?P<close>\))")

Names = Literal["keep", "swap"]


@dataclass(frozen=True)
class Debiased:
    """The training documents of a strategy, and `counts` of tokens: anonymised (in an original; its swapped copy has
    them too), swapped, and left (swaps that would have changed the number of tokens)."""

    documents: tuple[Document, ...]
    counts: Mapping[str, int]


def debias(strategy: str, documents: Sequence[Document], *, names: Names = "keep") -> Debiased:
    """Return the documents that a training with this strategy reads; none is lost, and all names are distinct.

    anon     the tokens of persons' names are ANON_0, ANON_1, ... by their first appearance in the document
    ca       counterfactual augmentation: the originals, then a gender-swapped copy of each
    anon+ca  the anonymised documents, then a gender-swapped copy of each
    doubled  the originals twice: as many updates as ca has, and no debiasing

    names  of ca: first names stay as they are, or are swapped for one of the other gender.
    BiasflowError for anon: no document marks a person's name."""
    return STRATEGIES[strategy](tuple(documents), names)


def person_words(document: Document) -> list[int]:
    """Return the numbers of the words inside spans of type PERSON of the column of names: `(PERSON*`, `*`, `*)`,
    `(PERSON)`.

    BiasflowError names the document and the word where a span is closed but not opened, or opened but not closed."""
    open_types: list[str] = []
    numbers = []
    for number, cell in enumerate(document.names):
        events = list(NAME_CELL.finditer(cell))
        open_types += [event["type"] for event in events if event["type"]]
        if PERSON in open_types:
            numbers.append(number)
        for event in events:
            if event["close"]:
                if not open_types:
                    raise BiasflowError(
                        f"document {document.name}: word {number + 1}: a name ends that did not begin; mend column 11."
                    )
                open_types.pop()
    if open_types:
        raise BiasflowError(
            f"document {document.name}: a name of type {open_types[-1]} begins, but does not end; mend column 11."
        )
    return numbers


def _doubled(documents: tuple[Document, ...], names: Names) -> Debiased:
    return Debiased((*documents, *(document.renamed(f"{document.key}/again") for document in documents)), {})


def _anonymised(documents: tuple[Document, ...], names: Names) -> Debiased:
    persons = [person_words(document) for document in documents]
    if not any(persons):
        raise BiasflowError(
            f"anon: no name of type {PERSON} in the 11th column of {len(documents)} documents; "
            "give documents whose names are marked."
        )
    pairs = [_anonymise(*pair) for pair in zip(documents, persons, strict=True)]
    return Debiased(tuple(document for document, _ in pairs), {"anonymised": sum(n for _, n in pairs)})


def _anonymise(document: Document, persons: list[int]) -> tuple[Document, int]:
    words, anonymous = list(document.words), {}
    replaced = 0
    for number in persons:
        word = words[number]
        if any(map(str.isalpha, word)) and document.pos[number] != "POS" and word.lower() not in POSSESSIVE:
            words[number] = anonymous.setdefault(word, f"ANON_{len(anonymous)}")
            replaced += 1
    return document.with_words(words), replaced


def _augmented(documents: tuple[Document, ...], names: Names) -> Debiased:
    copies, swapped, left = [], 0, 0
    for document in documents:
        sentences = [slice(numbers.start, numbers.stop) for numbers in document.sentence_words()]
        tokens, tags = ([cells[sentence] for sentence in sentences] for cells in (document.words, document.pos))
        new, left_here = swap_tokens(tokens, tags, names=names)
        words = [word for sentence in new for word in sentence]
        copies.append(document.with_words(words).renamed(f"{document.key}/swapped"))
        swapped += sum(old != word for old, word in zip(document.words, words, strict=True))
        left += left_here
    return Debiased((*documents, *copies), {"swapped": swapped, "left": left})


def _anonymised_and_augmented(documents: tuple[Document, ...], names: Names) -> Debiased:
    anonymous = _anonymised(documents, names)
    both = _augmented(anonymous.documents, names)
    return Debiased(both.documents, {**anonymous.counts, **both.counts})


STRATEGIES: Mapping[str, Callable[[tuple[Document, ...], Names], Debiased]] = {
    "anon": _anonymised,
    "ca": _augmented,
    "anon+ca": _anonymised_and_augmented,
    "doubled": _doubled,
}
