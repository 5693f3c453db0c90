"""Vectors of an association test's words or sentences that somebody gives, in place of those of an encoder."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from biasflow.base.errors import AbsentError
from biasflow.base.left_out import LeftOut
from biasflow.corpora.given_vectors import read_vectors
from biasflow.corpora.seat import examples_of
from biasflow.readouts.files import save_arrays
from biasflow.stimuli.densray_sets import read_own_test, read_test

POOLING = "given"


def read(
    paths: Sequence[Path],
    data: Mapping[str, Sequence[Path]],
    output: Path,
    *,
    dataset: str,
    templates: Sequence[str] | None = None,
    of_words: bool = False,
) -> dict[str, object]:
    """Write the vectors of the four sets of a test, as `readouts.vectors.read` does, from files at `paths`
    (`corpora.given_vectors`); a word stands for itself, without a template.

    dataset: the name of the test, whose file is the data "test" or, for a user's, "own" with its `templates`; one
    `of_words` needs none. Words or
    sentences without a vector are left out; they are returned by name, and counted in the file's meta. AbsentError
    names them where a set keeps too few (`AssociationTest.only`)."""
    if "own" in data:
        of_words = of_words or templates is None
        _, test = read_own_test(dataset, data["own"][0], None if of_words else templates)
    else:
        test, of_words = read_test(dataset, *data.get("test", ()))
    wanted = dict.fromkeys(chain(*examples_of(test).values()))
    vectors = read_vectors(paths, wanted)
    missing = [text for text in wanted if text not in vectors]
    try:
        test = test.only(vectors)
    except AbsentError as error:
        named = ", ".join(map(repr, missing[:5])) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise AbsentError(f"{', '.join(map(str, paths))}: {error}; no vector for {named}") from error
    about = {} if of_words else {"about": {"X": test.X.about, "Y": test.Y.about}}
    about |= {"kind": "weat" if of_words else "seat", "pooling": POOLING, "words": len(wanted), "missing": len(missing)}
    arrays = {role: np.stack([vectors[text] for text in texts])[None] for role, texts in examples_of(test).items()}
    save_arrays(output, arrays, [("none", "-")], **about)
    return {"words": len(wanted), **LeftOut(dict.fromkeys(missing, "no vector in the files"), len(wanted)).facts()}
