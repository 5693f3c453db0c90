"""Vectors of words or sentences that somebody gives, by their text: word2vec's text format, npz, safetensors, h5."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import h5py
import numpy as np
from safetensors import SafetensorError, safe_open

from biasflow.base.errors import BiasflowError

NPZ, SAFETENSORS, HDF5 = ".npz", ".safetensors", (".h5", ".hdf5")
TABLE = {"words", "vectors"}  # names of the arrays of an npz file that holds all vectors in one

Named = Iterator[tuple[str, str, np.ndarray]]  # where in the file, a text, its vector [d]


def read_vectors(paths: Sequence[Path], wanted: Collection[str]) -> dict[str, np.ndarray]:
    """Return the vectors [d] of those of the wanted words or sentences that the files have.

    A text is looked for as it is, and then in any case (the first in the files). By suffix, a file is

        .npz          arrays `words` [n] and `vectors` [n, d], or one array [d] a text, named by it
        .safetensors  one tensor [d] a text, named by it
        .h5, .hdf5    one dataset [d] a text, named by it, in any group (the files of May et al. 2019)
        any other     word2vec's text format: a text and d numbers a line; the first line may be the two sizes

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
    """Rows of word2vec's text format; numbers are read of the wanted texts alone."""
    n, d, rows = None, None, 0
    try:
        with open(path, encoding="utf-8") as stream:
            for number, line in enumerate(stream, start=1):
                if number == 1 and len(sizes := line.split()) == 2 and all(size.isdigit() for size in sizes):
                    n, d = map(int, sizes)
                    continue
                if not line.strip():
                    continue
                rows, d = rows + 1, d or len(line.split()) - 1
                text, *numbers = line.rsplit(maxsplit=d) if d > 0 else line.split()
                if not numbers or len(numbers) != d:
                    raise BiasflowError(
                        f"{path}: row {number}: {text[:40]!r} has {len(numbers)} numbers, not {max(d, 1)}; a line of "
                        "word2vec's text format is a word and its numbers."
                    )
                if text.casefold() in folded:
                    yield f"row {number}", text, np.array([_float(path, number, value) for value in numbers])
    except UnicodeDecodeError as error:
        raise BiasflowError(
            f"{path}: no text in UTF-8; give word2vec's text format, npz, safetensors or h5."
        ) from error
    if n is not None and rows != n:
        raise BiasflowError(f"{path}: row 1 says {n} words, but {rows} follow; is the file whole?")
    if not rows:
        raise BiasflowError(f"{path}: is empty; give a word and its numbers a line.")


def _float(path: Path, number: int, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise BiasflowError(
            f"{path}: row {number}: {value[:40]!r} is no number; give a word and its numbers."
        ) from None


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
