"""Labelled texts of the user's: what a task has follows from its columns, and how their files are read."""

import csv
import json

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import read_text_csv
from biasflow.corpora.catalogue import read_catalogue
from biasflow.overview.notes import dropped_of_tasks
from biasflow.plan.configuration import resolve
from biasflow.plan.external import check_files
from biasflow.plan.listing import dropped
from biasflow.readouts import predictions
from biasflow.readouts.files import load_arrays
from biasflow.readouts.source import Source
from biasflow.tasks.classification import parts, task
from biasflow.tasks.classification.collect import kept, prepare
from biasflow.tasks.classification.splits import rows_of, split
from tests.unit.plan.configs import SCHEMA, changed, planned, setup_of
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


def own_task(tmp_path, table: pd.DataFrame, name: str, columns: dict, **about):
    """The plan's task of a table, and what it says of it before the first job."""
    path = tmp_path / name
    if path.suffix == ".parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, sep=";", quoting=csv.QUOTE_ALL)  # with an index column
    config = resolve(
        asked(
            columns,
            metrics=["fairness" if "group" in columns else "accuracy"],
            task={"data": {"files": [str(path)]}} | about,
        ),
        SCHEMA,
    )
    check_files(config, SCHEMA, read_catalogue())
    return dropped(setup_of(config), planned(config), read_catalogue())


@pytest.mark.parametrize("name", ["own.csv", "own.parquet"])
@pytest.mark.parametrize("values", [(0, 1, 2), ("m", " Female", "other"), (False, True, None), (0.0, 1.0, 7.5)])
def test_groups_map_values_and_others_are_counted_and_named_or_refused(tmp_path, name, values):
    """A hand count: of 2 labels x 3 parts 25 men and 24 women each; 6 texts of another value, and one repeated."""
    man, woman, other = values
    table = people(25).replace({"author": {"female": woman, "M": man}})
    table = table.drop(
        index=table.index[table["author"].astype(str).eq(str(woman)) & table["comment"].str.endswith(" 0")]
    )
    extra = pd.DataFrame({"comment": [f"else {k}" for k in range(6)], "toxic": 0, "author": [other] * 6, "fold": "dev"})
    table = pd.concat([table, table.head(1), extra], ignore_index=True)
    about = {"groups": {"M": ["male", "m", 0, False], "F": ["female", 1, True]}}
    columns = {"text": "comment", "label": "toxic", "group": "author", "split": "fold"}
    (said,) = own_task(tmp_path, table, name, columns, unknown="drop", **about)
    shown = "empty" if other is None else other
    assert said == (
        f"tasks.own: 301 rows, 2 labels, 144 F, 150 M, 6 unknown left out ({shown} 6); 1 repeated left out; "
        "split by column fold (98 train, 98 validation, 98 test)"
    )
    with pytest.raises(
        BiasflowError,
        match=r"column author: .*is neither F nor M.*6 (line|row)s are wrong; the others: (298|297), .*, \.\.\.",
    ):
        own_task(tmp_path, table, name, columns, **about)


def test_a_value_of_both_groups_is_named_and_files_are_parts_of_which_no_text_is_in_two(tmp_path):
    table = people(25)
    for part in ("train", "dev", "test"):
        table[table["fold"] == part].drop(columns="fold").to_csv(tmp_path / f"{part}.csv")
    files = {"train": ["train.csv"], "validation": ["dev.csv"], "test": ["test.csv", "train.csv"]}
    data = {part: [str(tmp_path / name) for name in names] for part, names in files.items()}
    columns = {"text": "comment", "label": "toxic", "group": "author"}

    def said(data=data, columns=columns, **about):
        config = resolve(
            asked(columns, metrics=["fairness" if "group" in columns else "accuracy"], task={"data": data} | about),
            SCHEMA,
        )
        return dropped(setup_of(config), planned(config), read_catalogue())

    with pytest.raises(BiasflowError, match=r"train\.csv is in two parts"):
        said()
    data["test"].pop()
    which = "split by files (100 train, 100 validation, 100 test)"
    assert said() == [f"tasks.own: 300 rows, 2 labels, 150 F, 150 M; {which}"]
    assert said(columns={"text": "comment", "label": "toxic"}) == [f"tasks.own: 300 rows, 2 labels; {which}"]
    with pytest.raises(BiasflowError, match=r"tasks\.own\.groups.*'m' stands for both"):
        said(groups={"M": ["m"], "F": ["f", "M"]})
    with pytest.raises(BiasflowError, match="leave it out"):
        said(columns=columns | {"split": "fold"})
    with pytest.raises(BiasflowError, match="has train, test"):
        said(data={key: data[key] for key in ("train", "test")})


def test_texts_without_a_gender_that_are_repeated_or_contradict_each_other_are_in_no_two_parts(tmp_path):
    table = people(20)[["comment", "toxic"]]
    contradicting = table.head(3).assign(toxic=1)
    table = pd.concat([table, table.iloc[[5]], contradicting, table.tail(1).assign(comment="")], ignore_index=True)
    (said,) = own_task(tmp_path, table, "own.csv", {"text": "comment", "label": "toxic"})
    assert said == (
        "tasks.own: 245 rows, 2 labels; 1 empty, 1 repeated, 6 with contradicting labels left out; "
        "train, validation and test are drawn"
    )


def test_what_was_understood_of_files_is_on_the_page(tmp_path):
    people(25).to_csv(tmp_path / "own.csv")
    outputs = {name: tmp_path / "own" / name for name in ("texts", "labels", "sources", "understood")}
    (tmp_path / "own").mkdir()
    data = {"files": ["own.csv"], "columns": PEOPLE, "least": 20, "small": "error", "parts": []}
    prepare({"files": [tmp_path / "own.csv"]}, outputs, data=data, scrubbing=None, advice="")
    (said,) = dropped_of_tasks([outputs["understood"]])
    assert said.startswith("own: 300 rows, 2 labels, 150 F, 150 M; split by column fold (") and said.endswith("test).")


def test_pairs_without_a_gender_are_read_trained_and_predicted(tmp_path):
    save_source(tmp_path / "source")
    table = pd.concat([TRAIN, VALIDATION], ignore_index=True).rename(columns={"label": "kind"})
    table.loc[0, "second"] = ""
    table.to_csv(tmp_path / "own.csv", index=False)
    outputs = {part: tmp_path / f"{part}.csv" for part in ("train", "validation", "test")}
    columns = {"text": ["first", "second"], "label": "kind", "split": None}
    facts = parts.prepare({"files": [tmp_path / "own.csv"]}, outputs, reader="table", columns=columns)
    tables = {part: read_text_csv(path) for part, path in outputs.items()}
    once = len(table.iloc[1:].drop_duplicates())
    assert sum(map(len, tables.values())) == once == sum(facts["examples"].values())
    assert len(tables["test"]) == pytest.approx(0.25 * len(table), abs=2)
    data, options = {part: (path,) for part, path in outputs.items()}, {"texts": ["first", "second"], "labels": []}
    places = tmp_path / "source", tmp_path / "model", tmp_path / "work", data
    task.train(*places, **options, strategy="plain", seed=3, recipe=vars(RECIPE) | {"epochs": 1})
    source = Source(tmp_path / "model", ("none",), "test", {"examples": data["test"], "train": data["train"]})
    predictions.read(source, tmp_path / "output", task=task.__name__, **options)
    found = load_arrays(tmp_path / "output").meta
    assert found["classes"] == sorted(set(table["kind"])) and len(found["gold"]) == len(tables["test"])
