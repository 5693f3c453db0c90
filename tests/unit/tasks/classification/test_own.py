"""Labelled texts of the user's: what a task has follows from its columns, and how their files are read."""

import json

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import read_text_csv
from biasflow.plan.configuration import resolve
from biasflow.readouts import predictions
from biasflow.readouts.files import load_arrays
from biasflow.readouts.source import Source
from biasflow.tasks.classification import parts, task
from biasflow.tasks.classification.collect import kept
from biasflow.tasks.classification.splits import rows_of, split
from tests.unit.plan.configs import SCHEMA, changed, planned
from tests.unit.synthetic_bios import PLAIN, STRATEGIES
from tests.unit.training.test_finetune import RECIPE, TRAIN, VALIDATION, save_source

PEOPLE = {"text": "comment", "label": "toxic", "group": "author", "name": None, "split": "fold"}


def asked(columns: dict, **block) -> dict:
    about = {"kind": "classification", "data": {"files": ["own.csv"]}, "columns": columns} | block.pop("task", {})
    return changed(("tasks", {"own": about}), ("ask", {"block": {"encoders": ["own"], "task": "own", **block}}))


@pytest.mark.parametrize(
    ("columns", "metric", "why"),
    [
        ({"group": "author"}, "fairness", ""),
        ({"group": "author"}, "accuracy", "one of the measures of fairness"),
        ({}, "accuracy", ""),
        ({}, "fairness", "a gender of each text.*tasks.own.columns.group"),
        ({"text": ["question", "answer"]}, "accuracy", ""),
    ],
)
def test_what_is_measured_follows_from_the_columns(columns, metric, why):
    (cell,) = planned(resolve(asked(columns, metrics=[metric]), SCHEMA)).cells
    assert cell.status == ("not run" if why else "run")
    assert not why or pd.Series([cell.reason]).str.contains(why).all()


@pytest.mark.parametrize(
    ("columns", "strategy", "about", "why"),
    [
        ({}, "oversampling", {}, "a gender of each text"),
        ({}, "blind", {}, "first token"),
        ({"group": "author"}, "scrubbing", {"scrubbing": None}, "English"),
        ({"group": "author", "text": ["one", "two"]}, "plain", {}, "pairs of texts"),
    ],
)
def test_what_a_task_has_not_is_refused_with_what_it_needs(columns, strategy, about, why):
    with pytest.raises(BiasflowError, match=why):
        planned(resolve(asked(columns, strategies=[strategy], metrics=["training"], task=about), SCHEMA))


@pytest.mark.parametrize("strategy", ["lora", "plain"])
def test_what_needs_no_gender_is_planned_without_one(strategy):
    cells = planned(resolve(asked({}, strategies=[strategy], metrics=["accuracy"]), SCHEMA)).cells
    assert [cell.status for cell in cells] == ["run"]


def people(n: int = 40) -> pd.DataFrame:
    """n texts for each label, gender and part."""
    rows = [
        (f"{label} {gender} {part} {number}", label, gender, part)
        for label in (0, 1)
        for gender in ("female", "M")
        for part in ("train", "dev", "test")
        for number in range(n)
    ]
    return pd.DataFrame(rows, columns=["comment", "toxic", "author", "fold"])


def test_a_split_of_the_data_is_kept_by_every_seed_and_strategy(tmp_path):
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in people().to_dict("records")))
    data = {"columns": PEOPLE, "least": 20, "small": "error"}
    texts = kept({"own": tmp_path / "own.jsonl"}, data).texts
    assert set(texts["label"]) == {"0", "1"} and set(texts["gender"]) == {"F", "M"}
    for seed in (0, 7):
        rows = split(texts, seed)
        for name, numbers in vars(rows).items():
            assert set(texts["split"].iloc[numbers]) == {name} and len(numbers) == 160
        assert rows_of(texts, PLAIN, seed).train.tolist() == rows.train.tolist()
        assert set(texts["split"].iloc[rows_of(texts, STRATEGIES["subsampling"], seed).train]) == {"train"}


def test_a_label_that_a_part_of_the_split_lacks_and_an_unknown_part_are_named(tmp_path):
    table = people()
    data = {"columns": PEOPLE, "least": 20, "small": "error"}
    table[(table["toxic"] == 0) | (table["fold"] != "dev")].to_csv(tmp_path / "own.csv", index=False)
    with pytest.raises(BiasflowError, match="1: no text is in part validation"):
        split(kept({"own": tmp_path / "own.csv"}, data).texts, 0)
    table.replace({"fold": {"dev": "second"}}).to_csv(tmp_path / "own.csv", index=False)
    with pytest.raises(BiasflowError, match=r"own\.csv: line 42: column fold: 'second' is none of train"):
        kept({"own": tmp_path / "own.csv"}, data)


def test_pairs_without_a_gender_are_read_trained_and_predicted(tmp_path):
    save_source(tmp_path / "source")
    table = pd.concat([TRAIN, VALIDATION], ignore_index=True).rename(columns={"label": "kind"})
    table.loc[0, "second"] = ""
    table.to_csv(tmp_path / "own.csv", index=False)
    outputs = {part: tmp_path / f"{part}.csv" for part in ("train", "validation", "test")}
    columns = {"text": ["first", "second"], "label": "kind", "split": None}
    facts = parts.prepare({"files": [tmp_path / "own.csv"]}, outputs, reader="table", columns=columns)
    tables = {part: read_text_csv(path) for part, path in outputs.items()}
    assert sum(map(len, tables.values())) == len(table) - 1 == sum(facts["examples"].values())
    assert len(tables["test"]) == pytest.approx(0.25 * len(table), abs=2)
    data, options = {part: (path,) for part, path in outputs.items()}, {"texts": ["first", "second"], "labels": []}
    places = tmp_path / "source", tmp_path / "model", tmp_path / "work", data
    task.train(*places, **options, strategy="plain", seed=3, recipe=vars(RECIPE) | {"epochs": 1})
    source = Source(tmp_path / "model", ("none",), "test", {"examples": data["test"], "train": data["train"]})
    predictions.read(source, tmp_path / "output", task=task.__name__, **options)
    found = load_arrays(tmp_path / "output").meta
    assert found["classes"] == sorted(set(table["kind"])) and len(found["gold"]) == len(tables["test"])
