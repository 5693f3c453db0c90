"""A classifier of the user's: which texts it decides on, in which copies, what follows from their columns, and which
folders and tables are refused."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    BertModel,
)

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import read_parquet, write_parquet
from biasflow.encoders.described import check_classifier, classes_of, describe
from biasflow.encoders.families import FAMILIES
from biasflow.encoders.first_token import new_first_token_classifier
from biasflow.encoders.load import load_encoder
from biasflow.encoders.places import POOLED
from biasflow.encoders.stored import stored_files
from biasflow.methods.fitting import fit_block
from biasflow.metrics import flips, glue, occupation
from biasflow.plan import listing
from biasflow.plan.cells import plan
from biasflow.plan.compiled import prepared
from biasflow.plan.configuration import resolve
from biasflow.plan.setup import Setup
from biasflow.readouts import heads, predictions
from biasflow.readouts.files import load_arrays
from biasflow.readouts.source import Source
from biasflow.tasks.classification import given
from tests.unit.conftest import SIZES, save_random
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.plan.configs import CLASSIFIER, SCHEMA, changed, folder_of

COLUMNS = {"text": "comment", "label": None, "group": None, "name": None, "split": None}
PLAIN = np.ones((2, 2), np.float32)
OPTIONS = {"groups": None, "unknown": "refuse", "least": 2, "small": "error", "limit": None}
TEXTS = [
    "she saw the nurse on Monday",
    "he is a doctor",
    "the day was long",
    "her hat cost 12 coins",
    "his dog and his cat",
]


@pytest.mark.parametrize(
    ("text", "most", "copy"),
    [
        ("On Sunday 2 of 99 came.", 3, "On Monday 3 of 100 came."),
        ("On Sunday 2 of 99 came.", 1, "On Monday 2 of 99 came."),
        ("In December two, 3.5 and 1,000 and 2nd and A4", 9, "In January three, 3.5 and 1,000 and 2nd and A4"),
        ("June and May march on a sunday", 9, "June and May march on a sunday"),  # names, a verb, no capital
        ("one", 1, "one"),
    ],
)
def test_neutral_words_are_exchanged_for_the_next_ones_as_many_as_asked(text, most, copy):
    n = sum(one != other for one, other in zip(text.split(), copy.split(), strict=True))
    assert given.exchanged(text, most) == (copy, n)


def read(tmp_path, rows: dict, **about) -> tuple[pd.DataFrame, str]:
    pd.DataFrame(rows).to_csv(tmp_path / "own.csv", index=False)
    columns = COLUMNS | {key: key for key in ("label", "group", "split") if key in rows}
    return given.read_texts([tmp_path / "own.csv"], columns=columns, **OPTIONS | about)


def test_texts_are_tested_by_their_content_alone_and_what_is_left_out_is_counted(tmp_path):
    texts = [f"text {number}" for number in range(400)]
    table, _ = read(tmp_path, {"comment": texts})
    turned, _ = read(tmp_path, {"comment": texts[:100:-1]})
    tested = dict(zip(table["text"], table["tested"], strict=True))
    assert all(tested[text] == is_tested for text, is_tested in zip(turned["text"], turned["tested"], strict=True))
    assert 150 < sum(tested.values()) < 250
    labels = ["a"] * 400 + ["a", "b", "", "b"]
    table, said = read(tmp_path, {"comment": [*texts, "text 1", "text 2", "text 0", " "], "label": labels})
    assert len(table) == 399 and "text 2" not in set(table["text"])
    assert said == "404 rows; 2 empty, 1 repeated, 2 contradicting left out; 1 labels"
    table, _ = read(tmp_path, {"comment": texts[:4], "split": ["train", "test", "dev", "test"]})
    assert table["tested"].tolist() == [False, True, False, True]


def test_copies_have_the_other_gender_and_the_control_as_many_neutral_words():
    texts = pd.DataFrame({"text": TEXTS, "label": "", "gender": "", "compared": False, "tested": True})
    table = given.with_copies(texts.assign(tested=[True, True, True, False, True]))
    assert table["tested"].tolist() == sorted(table["tested"], reverse=True)
    originals = table[table["version"] == "original"].set_index("of")["text"]
    copies = {
        (row.version, originals[row.of]): (row.text, row.says, row.exchanged)
        for row in table.itertuples()
        if row.version != "original"
    }
    assert copies == {
        ("swapped", TEXTS[0]): ("he saw the nurse on Monday", "F", 1),
        ("control", TEXTS[0]): ("she saw the nurse on Tuesday", "F", 1),
        ("swapped", TEXTS[1]): ("she is a doctor", "M", 1),
        ("swapped", TEXTS[3]): ("his hat cost 12 coins", "F", 1),
        ("control", TEXTS[3]): ("her hat cost 13 coins", "F", 1),
        ("swapped", TEXTS[4]): ("her dog and her cat", "M", 2),
    }


@pytest.mark.parametrize(
    ("rows", "about", "why"),
    [
        ({"comment": ["a b", "c d"] * 3, "group": ["F"] * 6}, {}, "column group: all texts are of F"),
        ({"comment": ["a", "b"], "group": ["F", "x"]}, {}, r"line 3: column group: 'x' is neither F nor M"),
        (
            {"comment": list("abcdefgh"), "group": list("FMFMFMFM"), "label": list("nnnnnndd")},
            {"least": 2},
            r"own.csv: labels with fewer than 2 texts of a gender: d \(0 women, 1 men\)",
        ),
        ({"comment": ["a", "b"], "split": ["train", "dev"]}, {}, "no text is tested"),
        ({"words": ["a"]}, {}, "no column comment"),
    ],
)
def test_a_table_on_which_nothing_can_be_compared_is_refused_in_one_line(tmp_path, rows, about, why):
    with pytest.raises(BiasflowError, match=why) as refused:
        read(tmp_path, rows, **about)
    assert "\n" not in str(refused.value)


def test_labels_with_too_few_tested_texts_of_a_gender_have_no_gaps_and_end_nothing(tmp_path):
    people = [f"text {number}" for number in range(400)]
    rows = {"comment": people, "label": ["nurse", "chef"] * 200, "group": [*"FFMM"] * 100}
    table, said = read(tmp_path, rows, least=20, small="drop")
    assert table["compared"].all() and "without gaps" not in said
    tested = (table["tested"] & (table["label"] == "chef") & (table["gender"] == "M")).sum()
    table, said = read(tmp_path, rows, least=int(tested) + 1, small="drop")  # all texts have more
    assert len(table) == 400 and not table["compared"].all() and "gaps" in said


def test_texts_of_an_unknown_gender_are_left_out_unless_most_are(tmp_path):
    rows = {"comment": [f"text {k}" for k in range(40)], "group": [*"FFMMx"] * 8}
    table, said = read(tmp_path, rows, unknown="drop")
    assert len(table) == 32 and "8 of an unknown gender left out" in said
    with pytest.raises(BiasflowError, match="'x' is neither F nor M; write F and M"):
        read(tmp_path, rows | {"group": [*"FMxxx"] * 8}, unknown="drop")


def test_what_the_numbers_of_labels_mean_is_said(tmp_path):
    texts = pd.DataFrame({"t": [f"she or he {k}" for k in range(40)], "l": [0, 1] * 20})
    texts.to_csv(tmp_path / "own.csv", index=False)
    folder = folder_of(tmp_path / "toxic", weights=CLASSIFIER, id2label={"0": "fine", "1": "toxic"})
    config = asked(tmp_path / "own.csv", {"text": "t", "label": "l"}, encoder=str(folder or tmp_path / "toxic"))
    run = prepared(config)
    (said,) = listing.dropped(run.setup, run.plan, run.catalogue)
    assert said.endswith("labels by the numbers of real: 0 is fine, 1 is toxic")


def test_texts_that_are_longer_than_the_model_reads_are_counted_before_the_first_job(tmp_path):
    """The model reads 8 tokens, of which two stand around the words."""
    words = [f"she {'saw ' * (k % 10)}{'the' * (k // 10 + 1)}" for k in range(40)]
    pd.DataFrame({"t": words}).to_csv(tmp_path / "own.csv", index=False)
    folder = classifier(tmp_path / "mine")
    run = prepared(asked(tmp_path / "own.csv", {"text": "t", "label": None}, encoder=str(folder)))
    (said,) = listing.dropped(run.setup, run.plan, run.catalogue)
    tested = [text for text in words if given.is_of_tested_half(text)]
    long = [text for text in tested if len(text.split()) > 6]
    assert f"; {len(long)} of {len(tested)} tested texts are longer than real reads, and are cut" in said and long
    pd.DataFrame({"t": [text for text in words if text not in long]}).to_csv(tmp_path / "own.csv", index=False)
    assert "longer" not in listing.dropped(run.setup, run.plan, run.catalogue)[0]


def test_texts_without_a_word_of_gender_and_a_column_for_two_things_are_refused(tmp_path):
    texts = pd.DataFrame({"text": ["she is", "he is", "it is", "they"], "tested": [True, True, False, False]})
    with pytest.raises(BiasflowError, match=r"not tested .* has a word of gender"):
        given.check_gendered(tmp_path / "own.csv", texts)
    given.check_gendered(tmp_path / "own.csv", texts[:2])
    with pytest.raises(BiasflowError, match="column 'comment' is named for two"):
        given.read_texts([tmp_path / "own.csv"], columns=COLUMNS | {"label": "comment"}, **OPTIONS)


def test_labels_are_those_of_the_model_by_name_or_by_number():
    assert [given.class_of(["No", "yes"])(label) for label in ("no", "Yes")] == [0, 1]
    assert [given.class_of(["LABEL_0", "LABEL_1"])(label) for label in ("1", "LABEL_0")] == [1, 0]
    assert [given.class_of(["No", "yes"])(label) for label in ("1", "no")] == [1, 0]
    assert given.class_of(["1", "0"])("0") == 1  # a name, as the model has numbers for names
    with pytest.raises(BiasflowError, match="no label '2'"):
        given.class_of(["No", "yes"])("2")
    with pytest.raises(BiasflowError, match="the model has no label 'nurze'; did you mean 'nurse'"):
        given.class_of(["nurse", "doctor"])("nurze")


def test_a_label_that_the_model_lacks_is_refused_with_file_and_line_before_the_first_job(tmp_path):
    labels = ["no", "yess", "", 2, "Maybe"] * 8
    pd.DataFrame({"t": [f"she saw {k}" for k in range(40)], "l": labels}).to_csv(tmp_path / "own.csv", index=False)
    run = prepared(asked(tmp_path / "own.csv", {"text": "t", "label": "l"}, str(classifier(tmp_path / "mine"))))
    with pytest.raises(BiasflowError, match=r"own\.csv: line 3: column l: 'yess' is no label of encoders\.real \(did"):
        listing.dropped(run.setup, run.plan, run.catalogue)


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_layers_of_a_head_are_those_that_transformers_makes_beside_the_encoder(kind):
    sizes = {"num_hidden_layers": 1, "n_layers": 1, "num_labels": 3}
    with torch.device("meta"):
        model = AutoModelForSequenceClassification.from_config(AutoConfig.for_model(kind, **sizes))
    encoder = {f"{model.base_model_prefix}.{name}" for name, _ in model.base_model.named_parameters()}
    encoder = {name for name in encoder if ".pooler" not in name}
    made = {name for name, weight in model.named_parameters() if weight.ndim == 2 and name not in encoder}
    ends = tuple(f".{layer}.weight" for layer in FAMILIES[kind].classifier)
    assert made and {name for name in made if not f".{name}".endswith(ends)} == set()
    assert all(any(f".{name}".endswith(end) for name in made) for end in ends)


@pytest.mark.parametrize(
    ("about", "weights", "why"),
    [
        ({"num_labels": 2}, CLASSIFIER, ""),
        ({"id2label": {"0": "no", "1": "yes"}}, CLASSIFIER, ""),
        ({"id2label": {"0": "score"}}, CLASSIFIER, "regression"),
        ({"problem_type": "regression"}, CLASSIFIER, "regression"),
        ({"problem_type": "multi_label_classification"}, CLASSIFIER, "several labels"),
        ({"num_labels": 3}, CLASSIFIER, "the head has 2 outputs, and id2label of config.json 3 labels"),
        ({}, {"bert.pooler.dense.weight": PLAIN}, "lack classifier.weight"),
        ({}, {"classifier.weight": PLAIN}, "lack pooler.dense.weight"),
    ],
)
def test_a_folder_without_a_trained_head_for_one_of_several_labels_is_refused(tmp_path, about, weights, why):
    about = describe_of(tmp_path / "mine", about, weights)
    if not why:
        check_classifier(about)
    else:
        with pytest.raises(BiasflowError, match=why):
            check_classifier(about)


def describe_of(path, about: dict, weights: dict):
    from biasflow.encoders.described import Description

    folder = folder_of(path, weights=weights, **about)
    return Description(json.loads((path / "config.json").read_text()), folder=path) if folder else None


def asked(path, columns: dict, encoder: str = "somewhere", **block) -> dict:
    about = {"kind": "classification", "data": {"files": [str(path)], "least": 2}, "columns": columns}
    block = {"encoders": ["real"], "task": "mine", "strategies": ["given"], "metrics": ["flips"]} | block
    config = changed(("tasks", {"mine": about}), ("ask", {"block": block}), ("encoders.real.path", encoder))
    return resolve(config, SCHEMA)


@pytest.mark.parametrize(
    ("columns", "runs"),
    [
        ({"text": "t", "label": None}, {"flips"}),
        ({"text": "t", "label": "l"}, {"flips", "accuracy"}),
        ({"text": "t", "label": "l", "group": "g"}, {"flips", "fairness"}),
        ({"text": "t", "label": None, "group": "g"}, {"flips", "fairness"}),
    ],
)
def test_what_is_measured_follows_from_the_columns(tmp_path, columns, runs):
    config = asked(tmp_path / "own.csv", columns, metrics=["flips", "accuracy", "fairness"], methods=["none"])
    planned = plan(Setup(config))
    assert {cell.metric for cell in planned.cells if cell.status == "run"} == runs
    assert not planned.trained
    assert all("name its column" in cell.reason for cell in planned.cells if cell.metric not in runs)


@pytest.mark.parametrize(
    ("columns", "block", "why"),
    [
        ({"label": None}, {"strategies": ["given", "plain"]}, "plain trains a classifier"),
        ({"label": None}, {"seeds": [1]}, "has no seed"),
        ({"text": ["a", "b"]}, {}, "pairs of texts"),
        ({"label": None}, {"strategies": ["plain"]}, "a training needs labels"),
        (
            {"group": "g"},
            {"strategies": ["plain"]},
            r"flips is of a classifier that is given; name strategies: \[given",
        ),
        ({"label": None}, {"metrics": ["training"]}, "is of a training"),
        ({"label": None}, {"encoders": ["own"]}, "encoders.own is made by this run"),
    ],
)
def test_what_does_not_fit_a_classifier_that_is_given_is_refused(tmp_path, columns, block, why):
    with pytest.raises(BiasflowError, match=why):
        from biasflow.plan.checks import check_asked

        check_asked(plan(Setup(asked(tmp_path / "own.csv", columns, **block))))


def classifier(folder, classes=("no", "yes", "maybe")):
    labels = {"id2label": dict(enumerate(classes)), "label2id": {name: k for k, name in enumerate(classes)}}
    words = sorted({word for text in TEXTS for word in re.findall(r"\w+", text.lower())} | {"him", "tuesday", "13"})
    make = lambda: BertForSequenceClassification(BertConfig(**SIZES, **labels))  # noqa: E731
    return save_random(folder, make, word_tokenizer(words, max_length=8))


def table_of(tmp_path, labels=("no", "yes", "maybe", "no", "yes")):
    texts = pd.DataFrame(
        [(text, label) for text, label in zip(TEXTS, labels, strict=True)] * 20, columns=["text", "label"]
    )
    texts["text"] += [f" {'the ' * (k % 7)}{'cat' * (k % 2)}{k // 5}" for k in range(len(texts))]
    genders = np.random.default_rng(0).choice(["F", "M"], size=len(texts))
    texts = texts.assign(gender=genders, tested=texts["text"].map(given.is_of_tested_half), compared=True)
    write_parquet(given.with_copies(texts), tmp_path / "texts.parquet")
    return tmp_path / "texts.parquet"


@pytest.mark.parametrize("with_labels", [True, False])
def test_a_readout_of_a_given_classifier_is_what_transformers_says_of_every_copy(tmp_path, with_labels):
    """Independent code: the model by transformers alone, on the texts that are in the table."""
    folder, table = classifier(tmp_path / "mine"), table_of(tmp_path, **({} if with_labels else {"labels": [""] * 5}))
    source = Source(folder, ("none",), "texts", {"examples": (table,)}, training="mine/given/seed0")
    predictions.read(source, tmp_path / "texts.safetensors", task="biasflow.tasks.classification.given", given=True)
    readout, texts = load_arrays(tmp_path / "texts.safetensors"), read_parquet(table)
    tested = texts[texts["tested"]].reset_index(drop=True)
    model, (_, tokenizer) = (
        AutoModelForSequenceClassification.from_pretrained(folder),
        load_encoder(folder, head="none"),
    )
    tokens = [tokenizer(text, truncation=True, return_tensors="pt") for text in tested["text"]]
    with torch.inference_mode():
        wanted = torch.cat([model.eval()(**of_text).logits.softmax(-1) for of_text in tokens])
    np.testing.assert_allclose(readout.arrays["probabilities"][0], wanted, atol=1e-5)
    assert readout.meta["truncated"]["own"][0] > 0
    n = (tested["version"] == "original").sum()
    assert readout.meta["ids"] == tested["of"][:n].tolist()
    names = np.array(["no", "yes", "maybe"])
    scores = flips.score(tmp_path / "texts.safetensors", texts=table).set_index(["metric", "part", "variant"])["value"]
    changed_labels = [
        wanted[row].argmax() != wanted[of].argmax()
        for row, (version, of) in enumerate(zip(tested["version"], tested["of"], strict=True))
        if version == "swapped"
    ]
    assert scores["flips", "-", "-"] == pytest.approx(np.mean(changed_labels))
    counted = Source(folder, ("none",), "people", {"texts": (table,), "predictions": (tmp_path / "texts.safetensors",)})
    heads.read(counted, tmp_path / "people.parquet", text="raw", split_seeds=[0])
    gaps = occupation.score(tmp_path / "people.parquet").set_index(["metric", "part", "variant"])["value"]
    if not with_labels:
        assert readout.meta["gold"] is None and "accuracy" not in gaps.index.get_level_values(0)
        answers = pd.Series(names[wanted[:n].argmax(1)])
        of_gender = pd.crosstab(tested["gender"][:n], answers, normalize="index")
        kl = (of_gender * np.log(of_gender.where(of_gender > 0) / answers.value_counts(normalize=True))).sum().sum()
        assert gaps["independence", "-", "-"] == pytest.approx(kl)
        return
    right = names[wanted[:n].argmax(1)] == tested["label"][:n]
    accuracy = glue.score(tmp_path / "texts.safetensors").set_index("metric")["value"]
    assert accuracy["accuracy"] == pytest.approx(right.mean())
    rates = right.groupby([tested["label"][:n], tested["gender"][:n]]).mean().unstack()
    assert scores["tpr_gap"].droplevel("variant").to_dict() == pytest.approx((rates["F"] - rates["M"]).to_dict())
    assert scores["accuracy_tested", "-", "-"] == pytest.approx(right.mean())
    people = np.concatenate(read_parquet(tmp_path / "people.parquet")["people"].to_list())
    counts = pd.crosstab(tested["label"][people], tested["gender"][people])
    assert (counts["F"] == counts["M"]).all()
    by_label = right[people].groupby([tested["label"][people], tested["gender"][people]]).mean().unstack()
    assert gaps["tpr_gap_sum", "-", "-"] == pytest.approx((by_label["F"] - by_label["M"]).abs().sum())


def test_a_classifier_with_a_linear_layer_of_biasflow_is_read_as_it_was_trained(tmp_path):
    """Independent code: the state of the first token by transformers alone, times the weights of the file beside it."""
    folder, classes = tmp_path / "mine", ("no", "yes", "maybe")
    words = sorted({word for text in TEXTS for word in re.findall(r"\w+", text.lower())} | {"him", "tuesday", "13"})
    base = save_random(tmp_path / "base", lambda: BertModel(BertConfig(**SIZES)), word_tokenizer(words, max_length=8))
    model, tokenizer = new_first_token_classifier(base, classes, seed=0)
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    check_classifier(describe(folder))
    assert classes_of(describe(folder).config) == list(classes) and folder / "head.safetensors" in stored_files(folder)
    table = table_of(tmp_path)
    source = Source(folder, ("none",), "texts", {"examples": (table,)}, training="mine/given/seed0")
    predictions.read(source, tmp_path / "texts.safetensors", task="biasflow.tasks.classification.given", given=True)
    readout, texts = load_arrays(tmp_path / "texts.safetensors"), read_parquet(table)
    head, encoder = load_file(folder / "head.safetensors"), BertModel.from_pretrained(folder).eval()
    tokens = [tokenizer(text, truncation=True, return_tensors="pt") for text in texts[texts["tested"]]["text"]]
    with torch.inference_mode():
        states = torch.cat([encoder(**of_text).last_hidden_state[:, 0] for of_text in tokens])
    wanted = (states @ head["weight"].T + head["bias"]).softmax(-1)
    np.testing.assert_allclose(readout.arrays["probabilities"][0], wanted, atol=1e-5)
    save_file(head | {"weight": head["weight"][:2].clone()}, folder / "head.safetensors")
    with pytest.raises(BiasflowError, match=r"the head has 2 outputs, and id2label of config\.json 3 labels"):
        check_classifier(describe(folder))


def test_an_eraser_is_fitted_to_the_copies_of_texts_that_are_not_tested_where_the_head_reads(tmp_path):
    folder, table = classifier(tmp_path / "mine"), table_of(tmp_path)
    model, tokenizer = load_encoder(folder, head="classification")
    X, z, y = given.gendered_vectors(model, tokenizer, {"texts": [table]})
    pairs = read_parquet(table).query("not tested and says != '' and version != 'control'")
    assert len(X) == len(pairs) and (pd.Series(z).groupby(y).sum() == 1).all()
    first = tokenizer(pairs["text"].iloc[0], truncation=True, max_length=8, return_tensors="pt")
    with torch.inference_mode():
        torch.testing.assert_close(X[0], model.bert(**first).pooler_output[0], atol=1e-5, rtol=1e-5)
    speaks_of_woman = pairs["text"].str.contains(r"\b(?:she|her)\b").to_numpy()
    assert (z == speaks_of_woman).all()
    step = {"eraser": "leace", "module": "biasflow.erasers.leace", "places": POOLED, "options": {}, "fitted_to": "task"}
    fitted = fit_block(model, tokenizer, {"mine": [step | {"class_centred": True}]}, task={POOLED: (X, z, y)})
    ((place, eraser),) = fitted.methods["mine"][0].edits
    after = eraser.apply(X).double()
    assert place == POOLED
    np.testing.assert_allclose(after[z == 1].mean(0), after[z == 0].mean(0), atol=1e-5)
