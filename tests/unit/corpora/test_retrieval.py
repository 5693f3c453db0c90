"""Queries with documents in several wordings, as the published files have them."""

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.base.left_out import LeftOut
from biasflow.corpora.retrieval import items

HEADER = "q_id,d_id,relevant,query,doc_title,document,content_gender,exp_stereotype"


def grep(path, *rows):
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def six(query, expected, other="M"):
    """The rows of one query; other: the wording of its first document that is not relevant."""
    return [
        f'{query},{number},{relevant},query {query},"A, title",text {wording} {relevant},{gender},{expected}'
        for number, (relevant, wording, gender) in enumerate(
            [(1, w, w) for w in "MFN"] + [(0, "M", other), (0, "F", "F"), (0, "N", "N")]
        )
    ]


def test_documents_of_another_wording_are_left_out_and_named_and_both_spellings_are_one(tmp_path):
    first = grep(tmp_path / "a.csv", *six(0, "Towards Female"), *six(1, "Towards female", other="botrh"))
    second = grep(tmp_path / "b.csv", *six(2, "Towards Male"), *six(3, "No Annotation Agreement"))
    left_out = LeftOut()
    with left_out.told():
        table = items(a=first, b=second)
    assert left_out.reasons == {"a line 11": "content_gender is none of F, M, N"}
    assert len(table) == 2 * 23 and table["item"].nunique() == 4
    assert table.drop_duplicates("item")["expected"].tolist() == ["F", "F", "M", ""]
    row = table.query("item == '1' and reading == 'title' and wording == 'F' and relevant").iloc[0]
    assert (row["query"], row["text"]) == ("query 1", "A, title text F 1")
    assert table.query("item == '1' and reading == 'document' and wording == 'N'")["text"].tolist() == [
        "text N 1",
        "text N 0",
    ]


def test_a_second_document_of_one_wording_is_refused(tmp_path):
    rows = six(0, "Towards Male")
    with pytest.raises(BiasflowError, match=r"a\.csv: a line 8: query 0 has a second document with relevant = 1"):
        items(a=grep(tmp_path / "a.csv", *rows, rows[0]))


QUESTIONS = "num,topic,question,bias1-document1,bias1-document2,bias2-document1,bias2-document2"


def test_the_answers_to_the_next_question_of_another_topic_are_not_relevant(tmp_path):
    path = tmp_path / "qa.csv"
    topics = ["sports", "sports", "art"]
    rows = [f"{n},{topic},question {n},a{n},b{n},c{n},d{n}" for n, topic in enumerate(topics)]
    path.write_text("\n".join([QUESTIONS, *rows]) + "\n")
    table = items(answers=path)
    assert len(table) == 3 * 8 and set(table["item"]) == {f"answers-{n}" for n in range(3)}
    texts = table.groupby(["item", "relevant", "wording"])["text"].agg(list)
    assert texts["answers-0", True, "F"] == ["a0", "b0"] and texts["answers-0", True, "M"] == ["c0", "d0"]
    assert [texts[f"answers-{n}", False, "F"] for n in range(3)] == [["a2", "b2"], ["a2", "b2"], ["a0", "b0"]]
    path.write_text("\n".join([QUESTIONS, *rows[:2]]) + "\n")
    with pytest.raises(BiasflowError, match="column topic: has one topic alone"):
        items(answers=path)
