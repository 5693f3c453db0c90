"""Vectors that somebody gives: every format gives the same vectors, and one line says what is wrong with a file."""

import codecs
import gzip

import h5py
import numpy as np
import pytest
from safetensors.numpy import save_file

from biasflow.base.errors import BiasflowError
from biasflow.corpora.given_vectors import read_vectors

VECTORS = {"he": np.array([1.0, 2.0, -3.0]), "Amy": np.array([0.5, 0.0, 4.0]), "This is Amy.": np.array([7.0, 8, 9])}


def write_text(path, vectors, header=True):
    d = len(next(iter(vectors.values())))
    lines = [f"{len(vectors)} {d}"] if header else []
    lines += [f"{text} {' '.join(map(repr, map(float, vector)))}" for text, vector in vectors.items()]
    path.write_text("\n".join(lines) + "\n")


def write_h5(path, vectors):
    with h5py.File(path, "w") as file:
        group = file.create_group("targ1")
        group["category"] = "names"
        for text, vector in vectors.items():
            group[f"encs/{text}"] = vector


WRITERS = {
    "a.txt": write_text,
    "a.vec": lambda path, vectors: write_text(path, vectors),
    "table.npz": lambda path, vectors: np.savez(path, words=[*vectors], vectors=np.stack([*vectors.values()])),
    "named.npz": lambda path, vectors: np.savez(path, **vectors),
    "a.safetensors": lambda path, vectors: save_file(vectors, path),
    "a.h5": write_h5,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_vectors(tmp_path, name):
    WRITERS[name](tmp_path / name, VECTORS)
    found = read_vectors([tmp_path / name], ["he", "Amy", "This is Amy.", "nurse"])
    assert set(found) == set(VECTORS)
    for text, vector in VECTORS.items():
        np.testing.assert_array_equal(found[text], vector)


# What GloVe and fastText have as words, or write besides: a row before the vectors of VECTORS, and what the log says.
ODD = {
    "nothing": (b"", ""),
    "a byte-order mark": (codecs.BOM_UTF8, ""),
    "NEL": ("\x85 1 2 3\n".encode(), ""),
    "a space that does not break": ("\xa0 1 2 3\n".encode(), ""),
    "an end of a line for Python": ("\u2028 1 2 3\n\x1c 1 2 3\n".encode(), ""),
    "words with spaces": (b"x 1 2 3\n. . . 1 2 3\nat name@domain.com 1 2 3\n", ""),
    "a number": (b"2008 1 2 3\n", ""),
    "spaces at the end, and a carriage return": (b"x 1 2 3 \r\n", ""),
    "tabs, and a row without a word": (b"x\t1\t2\t3\n 1 2 3\n", "1 of 5 rows are left out, the first is row 2"),
    "another encoding": (b"x 1 2 3\ncaf\xe9 1 2 3\n", "is no UTF-8 text"),
    "a wrong number of words": (b"7 3\n", "row 1 says 7 words, but 3 follow"),
}


@pytest.mark.parametrize("name", ODD)
def test_rows_as_they_are_published(tmp_path, caplog, name):
    before, said = ODD[name]
    write_text(tmp_path / "plain", VECTORS, header=False)
    (tmp_path / "a.vec.gz").write_bytes(gzip.compress(before + (tmp_path / "plain").read_bytes()))
    found = read_vectors([tmp_path / "a.vec.gz"], [*VECTORS])
    assert {text: vector.tolist() for text, vector in found.items()} == {
        text: vector.tolist() for text, vector in VECTORS.items()
    }
    assert said in caplog.text and bool(said) == bool(caplog.text)


def test_another_case_is_taken_where_the_text_itself_is_not_there(tmp_path):
    write_text(tmp_path / "a.txt", {"Amy": np.ones(2), "amy": np.zeros(2) + 2, "BILL": np.zeros(2) + 3})
    found = read_vectors([tmp_path / "a.txt"], ["amy", "AMY", "Bill"])
    assert {text: vector[0] for text, vector in found.items()} == {"amy": 2, "AMY": 1, "Bill": 3}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("2 3\nhe 1 2 3\nshe 1 2\n", "row 3: 'she' has 2 numbers, not 3"),
        ("he 1 2 3\nshe 1 two 3\n", "row 2: 'two' is no number"),
        ("he 1 2 3\nshe 1 nan 3\n", "row 2: 'she' has no vector of finite numbers"),
        ("he 1 2 3\nshe 1 2 3\nhe 1 2 3\n", r"row 3: 'he' appears twice \(first in .*row 1\)"),
        ("he\n", "row 1: 'he' has 0 numbers"),
        ("word a b c\nhe 1 2 3\n", "row 1: 'word' has 0 numbers"),
        ("he 1,0 2,0\n", "row 1: 'he' has 0 numbers"),
        ("2 2\nhe 1 2 3\nshe 1 2 3\n", "row 2: 'he' has 3 numbers, not 2 as row 1 says"),
        ("2 3\na 1 2\nb 1\n", "row 2: 'a' has 2 numbers, not 3"),
        ("", "is empty"),
        ("he 1 2 3\n".encode("utf-16"), "is no UTF-8 text; it may be UTF-16"),
    ],
)
def test_wrong_text_files_are_one_line_with_file_and_row(tmp_path, text, named):
    path = tmp_path / "a.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BiasflowError, match=rf"a\.txt: {named}") as raised:
        read_vectors([path], ["he", "she"])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "arrays", "named"),
    [
        (
            "a.npz",
            {"words": np.array(["he"]), "vectors": np.ones((2, 3))},
            r"words has shape \(1,\) and vectors \(2, 3\)",
        ),
        ("a.npz", {"he": np.array(["one"])}, "array 'he' holds <U3, no numbers"),
        ("a.npz", {"he": np.ones((2, 2))}, r"array 'he': 'he' has no vector of finite numbers \(shape \(2, 2\)\)"),
        ("a.safetensors", {"he": np.ones(2), "she": np.ones(3)}, "tensor 'she': 'she' has 3 numbers, but earlier .* 2"),
    ],
)
def test_wrong_arrays_are_one_line_with_file_and_array(tmp_path, name, arrays, named):
    (np.savez if name.endswith("npz") else lambda path, **arrays: save_file(arrays, path))(tmp_path / name, **arrays)
    with pytest.raises(BiasflowError, match=rf"{name}: {named}"):
        read_vectors([tmp_path / name], ["he", "she"])
