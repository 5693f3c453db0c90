"""Ranked lists of a user's: runs and tables say the same, and what is wrong with a file is said in one line."""

import numpy as np
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.rankings import read_rankings

RUN = "q1 Q0 d1 1 9.5 bm25\nq1 Q0 d2 2 7 bm25\nq2 Q0 d2 1 0.5 bm25\n"
FILES = {
    "run.trec": RUN,
    "ranks.csv": "query,document,rank\nq1,d1,1\nq1,d2,2\nq2,d2,1\n",
    "genders.csv": "document,gender\nd1,female\nd2,M\nd3,F\n",
    "texts.csv": 'document,text\nd1,"She met her sister."\nd2,A day in May.\n',
    "words.csv": "word,gender\nday,M\n",
}


@pytest.fixture
def path(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return lambda name, text=None: tmp_path / name if text is None else _written(tmp_path / name, text)


def _written(path, text):
    path.write_text(text)
    return path


def test_a_run_and_a_table_of_ranks_give_the_same_order_and_what_is_known_of_documents(path):
    run = read_rankings([path("run.trec")], genders=path("genders.csv"), texts=path("texts.csv"))
    table = read_rankings([path("ranks.csv")], genders=path("genders.csv"))
    for found in (run, table):
        assert found[["query", "document", "gender"]].values.tolist() == [
            ["q1", "d1", "F"],
            ["q1", "d2", "M"],
            ["q2", "d2", "M"],
        ]
        assert found["score"][0] > found["score"][1]
    assert run["feminine"].tolist() == [3, 0, 0] and run["masculine"].tolist() == [0, 0, 0]
    assert np.isnan(table["masculine"]).all()
    own = read_rankings([path("run.trec")], texts=path("texts.csv"), words=path("words.csv"))
    assert own["masculine"].tolist() == [0, 1, 1] and own["feminine"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("role", "text", "said"),
    [
        ("runs", RUN + "q3 Q0 d1 1 9\n", "line 4: has no six columns"),
        ("runs", RUN.replace("9.5", "high"), "line 1: column score: 'high' is no finite number"),
        ("runs", RUN + RUN.splitlines()[0] + "\n", "query q1: document d1 is there twice"),
        ("runs", "query,document\nq1,d1\n", "no column rank or score"),
        ("runs", "query,document,rank\nq1,,1\nq1,d2,2\n", "line 2: column document: None is empty"),
        ("genders", "document,gender\nd1,F\nd2,woman\n", "line 3: column gender: 'woman' is neither F, M nor empty"),
        ("genders", "document,gender\nd1,F\n", "no document of the lists has gender M"),
        ("genders", "document,gender\nd1,F\nd1,M\n", "line 3: column document: 'd1' is there a second time"),
        ("texts", "document,text\nx,She.\n", "has no document of the lists"),
        ("words", "word,gender\nshe,3\n", "line 2: column gender: '3' is neither F nor M"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(path, role, text, said):
    files = {"runs": path("run.trec"), "genders": path("genders.csv"), "texts": path("texts.csv")}
    files[role] = path("wrong.csv", text)
    with pytest.raises(BiasflowError) as error:
        read_rankings([files.pop("runs")], **files)
    assert said.replace("None", "''") in str(error.value).replace("None", "''") and "\n" not in str(error.value)
