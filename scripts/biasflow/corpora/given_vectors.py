"""Vectors of words or sentences that somebody gives, by their text: word2vec's text format, npz, safetensors, h5."""

import codecs
import logging
from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

import h5py
import numpy as np
from safetensors import SafetensorError, safe_open

from biasflow.base.errors import BiasflowError
from biasflow.base.files import byte_lines
from biasflow.base.tabular import is_number

log = logging.getLogger(__name__)

NPZ, SAFETENSORS, HDF5 = ".npz", ".safetensors", (".h5", ".hdf5")
TABLE = {"words", "vectors"}  # names of the arrays of an npz file that holds all vectors in one

Named = Iterator[tuple[str, str, np.ndarray]]  # where in the file, a text, its vector [d]


def read_vectors(paths: Sequence[Path], wanted: Collection[str]) -> dict[str, np.ndarray]:
    """Return the vectors [d] of those of the wanted words or sentences that the files have.

    A text is looked for as it is, and then in any case (the first in the files). By suffix, a file is

        .npz          arrays `words` [n] and `vectors` [n, d], or one array [d] a text, named by it
        .safetensors  one tensor [d] a text, named by it
        .h5, .hdf5    one dataset [d] a text, named by it, in any group (the files of May et al. 2019)
        any other     word2vec's text format, also packed: a text and d numbers a line; the first line may be the sizes

    BiasflowError names file and row (or array) and what was expected: no such file, numbers that are missing or not
    finite, vectors of unequal length, a wanted text that is there twice."""
    exact, folded = set(wanted), {text.casefold() for text in wanted}
    vector_by_text: dict[str, tuple[str, np.ndarray]] = {}
    for path in paths:
        for row, text, vector in _reader(path)(path, folded):
            where = f"{path}: {row}: {text!r}"
            if text.casefold() not in folded:
                continue
            if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
                raise BiasflowError(
                    f"{where} has no vector of finite numbers (shape {vector.shape}); give every text one."
                )
            if vector_by_text and (d := len(next(iter(vector_by_text.values()))[1])) != len(vector):
                raise BiasflowError(
                    f"{where} has {len(vector)} numbers, but earlier vectors have {d}; give vectors of one length."
                )
            if text in vector_by_text and text in exact:
                raise BiasflowError(f"{where} appears twice (first in {vector_by_text[text][0]}); give each text once.")
            vector_by_text.setdefault(text, (f"{path}: {row}", vector))
    any_case: dict[str, str] = {}
    for text in vector_by_text:
        any_case.setdefault(text.casefold(), text)
    names = {text: text if text in vector_by_text else any_case.get(text.casefold()) for text in wanted}
    return {text: vector_by_text[name][1] for text, name in names.items() if name is not None}


def _reader(path: Path):
    return {NPZ: _npz, SAFETENSORS: _safetensors, **dict.fromkeys(HDF5, _hdf5)}.get(path.suffix, _text)


def _text(path: Path, folded: Collection[str]) -> Named:
    """Rows of word2vec's text format, as GloVe and fastText publish it; numbers are read of the wanted texts alone.

    Spaces and tabs alone separate, and line feeds alone end a row: any other blank may be a word, and a word may hold
    spaces (GloVe has `. . .`). A row of another text that has too few numbers or is no UTF-8 is left out, with a
    warning in the log; so is a first row that gives another number of words than the file has."""
    n, d, rows = None, 0, 0
    odd: list[str] = []
    for number, line in enumerate(byte_lines(path), start=1):
        fields = _fields(line)
        if number == 1 and len(fields) == 2 and all(map(bytes.isdigit, fields)):
            n, d = map(int, fields)
            continue
        if not fields:
            continue
        rows += 1
        if rows == 1:
            d = _length(path, number, fields, d)
        word = b" ".join(fields[:-d] or fields[:1])
        text = word.decode("utf-8", "replace")
        if len(fields) <= d:
            odd.append(f"row {number}: {text[:40]!r} has {len(fields) - 1} numbers, not {d}")
            if text.casefold() in folded:
                raise BiasflowError(f"{path}: {odd[-1]}; a line is a word and its numbers, separated by spaces.")
        elif text.casefold() in folded:
            yield f"row {number}", text, np.array([_float(path, number, value) for value in fields[-d:]])
        elif text.encode() != word:
            odd.append(f"row {number}: {text[:40]!r} is no UTF-8 text")
    if len(odd) == rows:
        raise BiasflowError(f"{path}: {odd[0] if odd else 'is empty'}; give a word and its numbers a line, as text.")
    if odd:
        log.warning("%s: %d of %d rows are left out, the first is %s", path, len(odd), rows, odd[0])
    if n not in (None, rows):
        log.warning("%s: row 1 says %d words, but %d follow; is the file whole?", path, n, rows)


def _fields(line: bytes) -> list[bytes]:
    line = line.removeprefix(codecs.BOM_UTF8).replace(b"\t", b" ").strip(b" \r\n")
    while b"  " in line:
        line = line.replace(b"  ", b" ")
    return line.split(b" ") if line else []


def _length(path: Path, number: int, fields: Sequence[bytes], said: int) -> int:
    """The length of the vectors: `said` by the file, or how many numbers its first row ends with. The first field is a
    word, even if it looks like a number. BiasflowError for no numbers, and for more of them than were said."""
    numbers = takewhile(lambda field: is_number(field.decode("ascii", "replace")), reversed(fields[1:]))
    d = sum(1 for _ in numbers)
    if not d or 0 < said < d:
        text = f"row {number}: {fields[0].decode('utf-8', 'replace')[:40]!r} has {d} numbers"
        wrong = f"{text}, not {said} as row 1 says" if said else text
        raise BiasflowError(f"{path}: {wrong}; a line is a word and its numbers, separated by spaces.")
    return said or d


def _float(path: Path, number: int, value: bytes) -> float:
    try:
        return float(value)
    except ValueError:
        shown = value[:40].decode("utf-8", "replace")
        raise BiasflowError(f"{path}: row {number}: {shown!r} is no number; give a word and its numbers.") from None


def _npz(path: Path, folded: Collection[str]) -> Named:
    try:
        with np.load(path) as arrays:
            if set(arrays.files) != TABLE:
                yield from ((f"array {name!r}", name, _numbers(path, name, arrays[name])) for name in arrays.files)
                return
            words, vectors = arrays["words"], _numbers(path, "vectors", arrays["vectors"])
    except (ValueError, OSError, EOFError) as error:
        raise BiasflowError(f"{path}: no npz file of numbers and texts ({error}).") from error
    if vectors.ndim != 2 or words.shape != vectors.shape[:1]:
        raise BiasflowError(
            f"{path}: words has shape {words.shape} and vectors {vectors.shape}; give [n] words and [n, d] vectors."
        )
    yield from ((f"row {i}", str(word), vectors[i]) for i, word in enumerate(words))


def _safetensors(path: Path, folded: Collection[str]) -> Named:
    try:
        with safe_open(path, framework="np") as file:
            wanted = [name for name in file.keys() if name.casefold() in folded]  # noqa: SIM118
            yield from ((f"tensor {name!r}", name, _numbers(path, name, file.get_tensor(name))) for name in wanted)
    except (SafetensorError, OSError) as error:
        raise BiasflowError(f"{path}: no safetensors file ({error}).") from error


def _hdf5(path: Path, folded: Collection[str]) -> Named:
    vectors: list[tuple[str, str, np.ndarray]] = []

    def visit(name: str, entry: object) -> None:
        text = name.rpartition("/")[2]
        if isinstance(entry, h5py.Dataset) and text.casefold() in folded:
            vectors.append((f"dataset {name!r}", text, _numbers(path, name, entry[()])))

    try:
        with h5py.File(path, "r") as file:
            file.visititems(visit)
    except OSError as error:
        raise BiasflowError(f"{path}: no h5 file ({error}).") from error
    yield from vectors


def _numbers(path: Path, name: str, array: object) -> np.ndarray:
    array = np.asarray(array)
    if array.dtype.kind not in "fiu":
        raise BiasflowError(f"{path}: array {name!r} holds {array.dtype}, no numbers; give the vectors as numbers.")
    return array.astype(float)
