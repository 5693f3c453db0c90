"""GLUE: readers of every format."""

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.glue import TASKS, read_glue

TEXTS = [('He said "no"', "a, b"), ("Second one .", "N/A"), ('"Third', "null")]
GOLD = [1, 0, 1]


def frame(task, rows=TEXTS, labels=GOLD):
    columns = zip(*[row[: len(TASKS[task].texts)] for row in rows], strict=True)
    return pd.DataFrame(dict(zip(TASKS[task].texts, columns, strict=True)) | {"label": labels})


def write_tsv(table, path, header=True):
    lines = ([list(table.columns)] if header else []) + table.astype(str).to_numpy().tolist()
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")


def read(path, task, part="validation"):
    return read_glue(task, "validation_matched" if (task, part) == ("mnli", "validation") else part, path)


@pytest.mark.parametrize("task", TASKS)
def test_parquet_and_tables_give_the_same(tmp_path, task):
    table = frame(task)
    table.assign(idx=range(3)).to_parquet(tmp_path / "p")
    write_tsv(table, tmp_path / "t")
    table.to_csv(tmp_path / "c", index=False)
    expected = [TASKS[task].labels[n] for n in GOLD] if TASKS[task].labels else [1.0, 0.0, 1.0]
    for name in "ptc":
        examples = read(tmp_path / name, task).examples
        assert list(examples.columns) == [*TASKS[task].texts, "label"]
        assert examples["label"].tolist() == expected
        assert examples[TASKS[task].texts[-1]].tolist() == table[TASKS[task].texts[-1]].tolist()


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("mrpc", ("#1 String", "#2 String", "Quality")),
        ("stsb", ("sentence1", "sentence2", "score")),
        ("qqp", ("question1", "question2", "is_duplicate")),
        ("mnli", ("sentence1", "sentence2", "gold_label")),
    ],
)
def test_the_names_of_the_original_distribution(tmp_path, task, names):
    write_tsv(frame(task).set_axis(names, axis=1).assign(id=7), tmp_path / "t")
    write_tsv(frame(task), tmp_path / "hub")
    assert read(tmp_path / "t", task).examples.equals(read(tmp_path / "hub", task).examples)


@pytest.mark.parametrize(
    ("task", "content", "expected"),
    [
        ("cola", 'gj04\t0\t*\tThey go.\ngj04\t1\t\tA "b.\n', [("They go.", "unacceptable"), ('A "b.', "acceptable")]),
        ("wnli", '3\tIt is.\tA "b.\t0\n4\tC\tD\t1', [("It is.", 'A "b.', "not_entailment"), ("C", "D", "entailment")]),
        ("stsb", 'It is.,"A, b.",2.5\nC,D,5\n', [("It is.", "A, b.", 2.5), ("C", "D", 5.0)]),
    ],
)
def test_tables_without_a_header_lose_no_row(tmp_path, task, content, expected):
    (tmp_path / "t").write_text(content)
    assert list(read(tmp_path / "t", task).examples.itertuples(index=False, name=None)) == expected


def test_several_files_make_a_part_and_the_same_one_counts_once(tmp_path, caplog):
    write_tsv(frame("rte"), tmp_path / "a")
    write_tsv(frame("rte", rows=[("Fourth", "x")], labels=[0]), tmp_path / "b")
    write_tsv(frame("rte"), tmp_path / "a_again")
    examples = read([tmp_path / name for name in ("a", "b", "a_again")], "rte", "train").examples
    assert examples["sentence1"].tolist() == [*(first for first, _ in TEXTS), "Fourth"]
    assert "4 of the 2490" in caplog.text


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("sentence1\tsentence2\nA\tB\n", "column label"),
        ("sentence1\tsentence2\tlabel\nA\tB\t1\nA\tB\tmaybe\n", "line 3: column label: 'maybe'"),
        ("sentence1\tsentence2\tlabel\nA\tB\t1\nA\tB\t\n", "line 3: column label"),
        ("sentence1\tsentence2\tlabel\nA\tB\t1\nA\n", "line 3"),
        ("sentence1\tsentence2\tlabel\nA\tB\t1\n \t\t1\n", "line 3: column sentence2"),
        ("sentence1\tsentence2\tlabel\nA\tB\t1\nA\tB\t1\tC\n", "line 3"),
        ("sentence1\tsentence2\tlabel\nA\tB\t-1\n", "gold label"),
        ("sentence1\tsentence2\tlabel\n", "no row"),
        ("sentence1\tsentence2\tlabel\nA\tB\t1\n\nA\tB\tmaybe\n", "line 4: column label: 'maybe'"),
        ("", "column sentence1"),
        ("\n\n", "column sentence1"),
        ("\t\t\n", "column sentence1"),
        ("PAR1 of something else", "cannot be read"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, content, named):
    (tmp_path / "rte.tsv").write_text(content)
    with pytest.raises(BiasflowError, match=rf"rte\.tsv.*{named}") as caught:
        read(tmp_path / "rte.tsv", "rte")
    assert "\n" not in str(caught.value)


def test_a_training_part_needs_every_class_and_no_part_has_more_than_was_published(tmp_path):
    write_tsv(frame("rte", labels=[0, 0, 0]), tmp_path / "t")
    assert len(read(tmp_path / "t", "rte").examples) == 3
    with pytest.raises(BiasflowError, match="class not_entailment"):
        read(tmp_path / "t", "rte", "train")
    write_tsv(frame("wnli", rows=TEXTS * 24, labels=GOLD * 24), tmp_path / "w")
    with pytest.raises(BiasflowError, match="72 examples"):
        read(tmp_path / "w", "wnli")
