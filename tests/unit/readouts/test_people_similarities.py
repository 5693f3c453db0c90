"""People in a search: every text is read once, for all queries and methods."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biasflow.corpora.people import filled_queries, pool_of
from biasflow.metrics import people_search
from biasflow.readouts import people_similarities, vectors
from biasflow.readouts.files import load_arrays
from biasflow.readouts.reader import open_reader


def test_people_are_searched_in_one_reading_of_each_text_for_all_queries_and_methods(source, tmp_path):
    folder = Path(source("mine", stimuli="stimuli.csv").model_folder).parent
    rows = [
        {"text": f"{he} is {job} and it was late {'. ' * number}.", "profession": job, "gender": gender}
        for job in ("nurse", "chef", "cook")
        for he, gender in (("he", "M"), ("she", "F"))
        for number in range(4 if gender == "F" else 3)
    ]
    pd.DataFrame(rows).to_csv(folder / "people.csv", index=False)
    test = source("people", ["none", "hard", "densray"], people="people.csv")
    about = {"queries": ["a {profession}", "{profession}"], "versions": ["raw", "swapped"], "pooling": "mean"}
    asked = {"people": 3, "least": 2, "seed": 0}
    facts = people_similarities.read(test, tmp_path / "p", **about, **asked)
    file = load_arrays(tmp_path / "p")
    assert file.arrays["similarities"].shape == (3, 3 * 2 * 3, 2 * 18)
    reader = open_reader(test, "none")
    pool = pool_of([folder / "people.csv"], **asked, versions=["raw", "swapped"])
    asked_for, table = filled_queries(pool.searched, about["queries"]).ravel().tolist(), pool.people
    distinct = {*asked_for}, {*table["raw"], *table["swapped"]}
    assert facts["people"] == len(table) == 18 and facts["texts"] == sum(map(len, distinct)) < 18 + 36
    query, text = vectors.embed(reader, ["a female nurse", table["swapped"][4]], ["mean"])["mean"][1]
    number = asked_for.index("a female nurse")
    cosine = query @ text / np.linalg.norm(query) / np.linalg.norm(text)
    assert file.arrays["similarities"][1, number, 18 + 4] == pytest.approx(cosine, abs=1e-6)
    scores = people_search.score(tmp_path / "p").set_index(["method", "metric", "part", "variant"])["value"]
    assert np.isfinite(scores["hard", "exposure_gap", "all", "raw"]) and np.isfinite(
        scores["none", "swap_gap", "-", "-"]
    )
