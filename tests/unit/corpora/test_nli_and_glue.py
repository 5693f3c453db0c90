"""Sentence pairs and the tasks of GLUE: every format gives the same table, and what is refused."""

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import read_text_csv, without_formulas, write_csv
from biasflow.corpora import nli
from biasflow.corpora.glue import TASKS, read_glue

ROWS = [
    ("A man sleeps.", "A person rests.", "entailment"),
    ("A man sleeps.", 'He said "no', "-"),
    ("A dog, a cat", 'He "runs" off ', "neutral"),
    ("A dog, a cat", "N/A", "contradiction"),
]
NUMBERS = {"entailment": 0, "neutral": 1, "contradiction": 2, "-": -1}
KEPT = [row for row in ROWS if row[2] != "-"]
HUB, ORIGINAL = ("premise", "hypothesis", "label"), ("sentence1", "sentence2", "gold_label")


def as_parquet(path, rows=ROWS, names=HUB):
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    columns[names[2]] = [NUMBERS[label] for label in columns[names[2]]]
    pa.parquet.write_table(pa.table({"genre": ["x"] * len(rows), **columns}), path)


def as_json(path, rows=ROWS, names=HUB, label=str):
    items = [{"id": 1, **dict(zip(names, (*row[:2], label(row[2])), strict=True))} for row in rows]
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")


def as_table(path, rows=ROWS, names=ORIGINAL, separator="\t"):
    lines = [(names[2], *names[:2]), *((label, *texts) for *texts, label in rows)]
    path.write_text("".join(separator.join(line) + "\n" for line in lines), encoding="utf-8")


WRITERS = {
    "parquet": as_parquet,
    "json": as_json,
    "json-numbers": lambda path: as_json(path, label=NUMBERS.get),
    "tsv": as_table,
}


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_every_format_gives_the_same(tmp_path, writer):
    writer(tmp_path / "pairs")  # without a suffix: the content tells
    data = nli.read_nli(tmp_path / "pairs")
    assert list(data.pairs.columns) == list(HUB) and list(data.pairs.index) == [0, 1, 2]
    assert list(data.pairs.itertuples(index=False, name=None)) == KEPT
    assert data.dropped == 1


def changed(row, column, value):
    rows = [list(row) for row in ROWS]
    rows[row][column] = value
    return rows


@pytest.mark.parametrize(
    ("write", "place"),
    [
        (lambda path: as_json(path, changed(2, 2, "")), "line 3: column label: ''"),
        (lambda path: as_json(path, changed(2, 2, "maybe")), "line 3: column label: 'maybe'"),
        (lambda path: as_json(path, changed(0, 0, " "), names=ORIGINAL), "line 1: column sentence1"),
        (lambda path: as_json(path, changed(0, 1, None)), "column hypothesis"),
        (lambda path: as_table(path, changed(3, 2, "7")), "line 5: column gold_label: '7'"),
        (lambda path: as_parquet(path, changed(3, 0, "")), "row 4: column premise"),
        (lambda path: as_table(path, ROWS[1:2]), "no pairs"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(tmp_path, write, place):
    write(tmp_path / "pairs")
    with pytest.raises(BiasflowError, match=f"pairs: .*{place}") as caught:
        nli.read_nli(tmp_path / "pairs")
    assert "\n" not in str(caught.value)


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip)


@given(rows=st.lists(st.tuples(texts, texts, st.sampled_from(nli.LABELS)), min_size=1))
def test_written_pairs_are_read_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("nli") / "pairs.csv"
    pairs = pd.DataFrame(rows, columns=HUB, dtype="str")
    write_csv(pairs, path)
    pd.testing.assert_frame_equal(read_text_csv(path), pairs)
    pd.testing.assert_frame_equal(nli.read_nli(path).pairs, without_formulas(pairs))  # as whoever opens it sees it


@given(
    premises=st.lists(st.sampled_from("abcdefgh"), min_size=2).filter(lambda all: len(set(all)) > 1),
    share=st.floats(0.01, 0.99),
    seed=st.integers(0, 2**32),
)
def test_held_out_premises_are_never_trained_on(premises, share, seed):
    pairs = pd.DataFrame([(premise, str(i), "neutral") for i, premise in enumerate(premises)], columns=HUB)
    train, validation = nli.hold_out(pairs, share, seed)
    assert len(train) and len(validation)
    assert not set(train["premise"]) & set(validation["premise"])
    together = pd.concat([train, validation])
    assert sorted(together["hypothesis"]) == sorted(pairs["hypothesis"])
    for part in (train, validation):
        assert part["hypothesis"].astype(int).is_monotonic_increasing
    for part, again in zip((train, validation), nli.hold_out(pairs, share, seed), strict=True):
        pd.testing.assert_frame_equal(part, again)


def json_lines(path, rows):
    path.write_text("".join(json.dumps(dict(zip(nli.COLUMNS, row, strict=True))) + "\n" for row in rows))
    return path


def test_parts_are_put_together_and_their_sources_said(tmp_path):
    rows = [(f"premise {i}", "hypothesis", nli.LABELS[i % 3]) for i in range(9)]
    first = json_lines(tmp_path / "first", [*rows, ("no gold label", "here", "-")])
    second = json_lines(tmp_path / "second", rows[:3])
    files = {"train": {"one": first, "two": second}, "validation": {"two": second}, "test": {"one": first}}
    parts, sources = nli.collect_parts(files, validation_share=0.1, seed=0)
    assert {part: len(pairs) for part, pairs in parts.items()} == {"train": 12, "validation": 3, "test": 9}
    assert list(sources.itertuples(index=False, name=None)) == [
        ("train", "one", 9, 1), ("train", "two", 3, 0), ("validation", "two", 3, 0), ("test", "one", 9, 1)
    ]  # fmt: skip


def test_without_validation_files_premises_are_held_out_of_training(tmp_path):
    rows = [(f"premise {i // 2}", f"hypothesis {i}", nli.LABELS[i % 3]) for i in range(60)]
    path = json_lines(tmp_path / "pairs", rows)
    parts, sources = nli.collect_parts({"train": {"a": path}, "test": {"a": path}}, validation_share=0.2, seed=1)
    assert (len(parts["train"]), len(parts["validation"]), len(parts["test"])) == (48, 12, 60)
    assert not set(parts["train"]["premise"]) & set(parts["validation"]["premise"])
    assert list(sources["part"]) == ["train", "validation", "test"]
    assert list(sources["pairs"]) == [48, 12, 60]
    other, _ = nli.collect_parts({"train": {"a": path}, "test": {"a": path}}, validation_share=0.2, seed=2)
    assert set(other["validation"]["premise"]) != set(parts["validation"]["premise"])


TEXTS = [('He said "no"', "a, b"), ("Second one .", "N/A"), ('"Third', "null")]
GOLD = [1, 0, 1]


def frame(task, rows=TEXTS, labels=GOLD):
    columns = zip(*[row[: len(TASKS[task].texts)] for row in rows], strict=True)
    return pd.DataFrame(dict(zip(TASKS[task].texts, columns, strict=True)) | {"label": labels})


def write_tsv(table, path, header=True):
    lines = ([list(table.columns)] if header else []) + table.astype(str).to_numpy().tolist()
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")


def read(path, task, part="validation"):
    part = "validation_matched" if (task, part) == ("mnli", "validation") else part
    return read_glue(task, part, path if isinstance(path, list) else [path])


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
        ("sentence1\tsentence2\tlabel\nA\tB\t1\n \t\t1\n", "line 3: column sentence2"),
        ("sentence1\tsentence2\tlabel\nA\tB\t-1\n", "gold label"),
        ("", "column sentence1"),
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
