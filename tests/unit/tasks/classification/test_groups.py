"""Further groups of people beside women and men: each pair is compared as women with men are, or it is said how many
texts are missing; what knows two genders alone reads no others."""

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.base.errors import AbsentError
from biasflow.base.genders import WOMEN_FIRST, pairs_of
from biasflow.base.tabular import write_parquet
from biasflow.encoders.linear_head import save_head
from biasflow.metrics.occupation import score
from biasflow.plan.configuration import resolve
from biasflow.plan.validation import fault
from biasflow.readouts import heads
from biasflow.readouts.files import save_arrays
from biasflow.strategies import Strategy
from biasflow.strategies.balance import balance
from biasflow.tasks.classification import given
from biasflow.tasks.classification.collect import kept
from biasflow.tasks.classification.cuts import cuts
from biasflow.tasks.classification.splits import comparable, held_out, rows_of, split
from tests.unit.plan.configs import SCHEMA, changed, planned
from tests.unit.synthetic_bios import CLASSES, STRATEGIES, biographies, save_states, source, vectors_of

PAIRS = [("F", "M"), ("X", "M"), ("X", "F")]
COLUMNS = {"text": "text", "label": "label", "group": "gender", "name": None, "split": None}
GROUPS = {"M": ["M"], "F": ["F"], "X": ["x"]}


def people(of_x=(120, 120, 120), n: int = 1200) -> pd.DataFrame:
    """`biographies`, of which so many of each label are of the group X."""
    bios = biographies(n)
    for label, count in zip(CLASSES, of_x, strict=True):
        bios.loc[bios.index[bios["label"] == label][:count], "gender"] = "X"
    counts = bios.groupby(["label", "gender"])["text"].transform("size")
    return bios.sample(frac=1, random_state=1, ignore_index=True).assign(
        compared=(counts >= 20).sample(frac=1, random_state=1).to_numpy()
    )


def readout(tmp_path, texts: pd.DataFrame, weight: float) -> np.ndarray:
    """Write the readout of a head that reads the profession and the gender of women; return its answers."""
    write_parquet(texts, tmp_path / "texts.parquet")
    (tmp_path / "model").mkdir(exist_ok=True)
    W, b = torch.eye(3, 6) + torch.tensor([[0, 0, 0, 0, w, 0] for w in (weight, -weight, 0.0)]), torch.zeros(3)
    save_head(W, b, tmp_path / "model")
    X = vectors_of(texts, gender=1, noise=0.6)
    vectors = save_states(tmp_path / "vectors", X)
    training = {"epochs": 1, "batch_size": 64, "learning_rate": 0.01, "keep": "best"}
    about = source(tmp_path, vectors=vectors)
    heads.read(about, tmp_path / "heads.parquet", text="raw", split_seeds=[3], head_seeds=[0], groups=PAIRS, **training)
    return np.array(CLASSES)[(X @ W.T + b).argmax(1).numpy()]


@pytest.mark.parametrize("pair", PAIRS)
def test_gaps_of_each_pair_are_those_of_as_many_of_both_groups_counted_by_hand(tmp_path, pair):
    texts = people()
    predicted = readout(tmp_path, texts, 0.6)
    scores = score(tmp_path / "heads.parquet", pair=pair)
    own = scores[scores["head"] == "own"].set_index(["metric", "variant"])
    table = pd.read_parquet(tmp_path / "heads.parquet").query("head == 'own' and pair == @pair[0] + '-' + @pair[1]")
    rows = np.concatenate(table["people"].to_list())
    assert {*rows} <= {*split(texts, 3).test}
    tested = texts.assign(right=predicted == texts["label"]).iloc[rows]
    counts = pd.crosstab(tested["label"], tested["gender"])
    assert {*counts.columns} == {*pair} and (counts[pair[0]] == counts[pair[1]]).all()
    rates = tested.groupby(["label", "gender"])["right"].mean().unstack()
    gaps = rates[pair[0]] - rates[pair[1]]
    assert own.loc[("tpr_gap_sum", "-"), "value"].item() == pytest.approx(gaps.abs().sum())
    train = texts.iloc[split(texts, 3).train]
    shares = (train["gender"] == pair[0]).groupby(train["label"]).sum()
    shares /= train["gender"].isin(pair).groupby(train["label"]).sum()
    wanted = np.corrcoef(shares[gaps.index], gaps)[0, 1]
    assert own.loc[("tpr_gap_pearson", "train"), "value"].item() == pytest.approx(wanted)


def test_a_pair_is_drawn_as_women_and_men_are_whatever_groups_are_called(tmp_path):
    texts = people()
    rows = split(texts, 0).test
    renamed = texts["gender"].replace({"F": "other", "X": "F"})
    wanted = balance(texts["label"], renamed, rows, how="subsampling", rng=np.random.RandomState(5))
    assert comparable(texts, rows, ("X", "M"), np.random.RandomState(5)).tolist() == wanted.tolist()
    assert pairs_of(["M", "F", "X", "Y"])[:3] == PAIRS and pairs_of(["M", "F"]) == [WOMEN_FIRST]


def test_how_many_texts_of_a_group_are_missing_for_its_gaps_is_said_and_no_other_pair_suffers(tmp_path):
    texts = people(of_x=(60, 15, 8))
    readout(tmp_path, texts, 0.6)
    assert not score(tmp_path / "heads.parquet").empty
    with pytest.raises(AbsentError) as why:
        score(tmp_path / "heads.parquet", pair=("X", "F"), texts=tmp_path / "texts.parquet", least=20)
    assert (
        str(why.value)
        == "X and F: gaps need 20 texts of each group in two labels; missing are 5 of X with the label surgeon"
    )


def test_what_knows_women_and_men_alone_reads_no_text_of_another_group(tmp_path):
    texts = people()
    x = set(np.flatnonzero(texts["gender"] == "X"))
    write_parquet(texts, tmp_path / "texts.parquet")
    readings = ["released", "same-seed", "paper", "balanced"]
    _, found = cuts({"texts": (tmp_path / "texts.parquet",)}, data=readings, split_seeds=[0], probe_seeds=[0])
    assert len(found) == 4 and not any(x & {*cut.rows} for cut in found)
    adversarial = Strategy("adversarial", "strategies.adversarial")
    parts = split(texts, 0)
    for name, kept_x in (("plain", x), ("subsampling", x), ("oversampling", x), ("adversarial", set())):
        rows = rows_of(texts, STRATEGIES.get(name, adversarial), 0)
        assert {*rows.train} & x == {*parts.train} & kept_x, name
        assert {*rows.validation} & x == {*parts.validation} & kept_x, name
        assert not {*rows.test} & x and rows.test.tolist() == held_out(texts, 0).tolist()


def test_a_table_with_a_further_group_is_counted_and_a_label_with_few_of_it_keeps_its_place(tmp_path):
    texts = people(of_x=(60, 15, 8))[["text", "label", "gender"]]
    texts.replace({"gender": {"X": "x"}}).to_csv(tmp_path / "own.csv")
    data = {"columns": COLUMNS, "least": 20, "small": "error", "groups": GROUPS, "unknown": "refuse"}
    found = kept({"own.csv": tmp_path / "own.csv"}, data)
    assert found.labels[["label", "X", "kept"]].to_numpy().tolist() == [
        ["nurse", 60, True],
        ["surgeon", 15, True],
        ["teacher", 8, True],
    ]
    assert {*found.texts[~found.texts["compared"]].groupby(["label", "gender"]).groups} == {
        ("surgeon", "X"),
        ("teacher", "X"),
    }
    assert kept({"own.csv": tmp_path / "own.csv"}, data | {"least": 15}).understood.endswith(
        "X has gaps in 2 of 3 labels, and fewer than 15 texts of teacher (8)"
    )
    assert ", 83 X; " in found.understood and found.understood.endswith("missing are 5 of X with the label surgeon")
    two = kept({"own.csv": tmp_path / "own.csv"}, data | {"groups": {"M": ["m"], "F": ["f"]}, "unknown": "drop"})
    assert "compared" not in two.texts and [*two.labels] == ["label", "women", "men", "kept", "reason"]


def test_tested_texts_of_a_given_classifier_are_compared_by_group(tmp_path):
    rows = {
        "text": [f"text {number}" for number in range(600)],
        "label": ["no"] * 300 + ["yes"] * 300,
        "gender": [*"FMxFMM"] * 100,
    }
    pd.DataFrame(rows).to_csv(tmp_path / "own.csv", index=False)
    options = {"groups": GROUPS, "unknown": "refuse", "least": 20, "small": "error", "limit": None}
    texts, said = given.read_texts([tmp_path / "own.csv"], columns=COLUMNS, **options)
    assert texts["compared"].all() and "200 F, 300 M, 100 X" in said and "missing" not in said
    few, said = given.read_texts([tmp_path / "own.csv"], columns=COLUMNS, **options | {"least": 35})
    assert (few["compared"] == (few["gender"] != "X")).all()
    tested = (few["tested"] & (few["gender"] == "X")).groupby(few["label"]).sum()
    assert f"missing are {35 - tested['no']} of X with the label no" in said
    without, said = given.read_texts(
        [tmp_path / "own.csv"], columns=COLUMNS | {"label": None}, **options | {"least": 80}
    )
    assert (without["compared"] == (without["gender"] != "X")).all()
    assert said.endswith(f"gaps need 80 texts of each group; missing are {80 - tested.sum()} of X")


@pytest.mark.parametrize("pair", PAIRS)
def test_decisions_of_a_given_classifier_are_compared_for_each_pair(tmp_path, pair):
    rng, n = np.random.default_rng(4), 900
    texts = pd.DataFrame({"text": [f"text {k}" for k in range(n)], "label": rng.choice(["no", "yes"], n)})
    texts = texts.assign(gender=rng.choice([*"FFMMX"], n), tested=rng.random(n) < 0.7, compared=True)
    write_parquet(given.with_copies(texts), tmp_path / "texts.parquet")
    tested = pd.read_parquet(tmp_path / "texts.parquet").query("tested").reset_index(drop=True)
    predicted = np.where(rng.random(len(tested)) < 0.75, tested["label"] == "yes", tested["label"] == "no")
    save_arrays(
        tmp_path / "said.safetensors", {"own": predicted[None].astype(np.uint8)}, [("none", "-")], classes=["no", "yes"]
    )
    files = {"texts": tmp_path / "texts.parquet", "predictions": tmp_path / "said.safetensors"}
    heads.read(source(tmp_path, **files), tmp_path / "people.parquet", text="raw", split_seeds=[0], groups=PAIRS)
    scores = score(tmp_path / "people.parquet", pair=pair).set_index(["metric", "variant"])
    table = pd.read_parquet(tmp_path / "people.parquet").query("pair == @pair[0] + '-' + @pair[1]")
    rows = np.concatenate(table["people"].to_list())
    people = tested.assign(right=(tested["label"] == "yes") == predicted).iloc[rows]
    counts = pd.crosstab(people["label"], people["gender"])
    assert {*counts.columns} == {*pair} and (counts[pair[0]] == counts[pair[1]]).all() and len({*rows}) == len(rows)
    rates = people.groupby(["label", "gender"])["right"].mean().unstack()
    wanted = (rates[pair[0]] - rates[pair[1]]).abs().sum()
    assert scores.loc[("tpr_gap_sum", "-"), "value"].item() == pytest.approx(wanted)


def asked(strategy: str, groups: object, *metrics: str, methods=("none",)) -> dict:
    about = {"kind": "classification", "data": {"files": ["own.csv"]}, "columns": {"group": "sex"}, "groups": groups}
    block = {"encoders": ["real"], "task": "own", "strategies": [strategy], "metrics": [*metrics]}
    return changed(("tasks", {"own": about}), ("ask", {"block": block | {"methods": [*methods]}}))


@pytest.mark.parametrize(("strategy", "name"), [("plain", "own-raw"), ("given", "people")])
def test_each_pair_is_a_dataset_of_one_readout_and_what_is_binary_says_so(strategy, name):
    metrics = ("fairness", "flips" if strategy == "given" else "compression")
    plan = planned(resolve(asked(strategy, GROUPS, *metrics), SCHEMA))
    cells = {(cell.metric, cell.dataset): cell for cell in plan.cells}
    for pair in PAIRS:
        assert cells["fairness", f"{name}-{'-'.join(pair)}"].status == "run"
    noted = planned(resolve(asked(strategy, GROUPS, "fairness", methods=["none", "leace"]), SCHEMA)).cells
    notes = {cell.dataset: cell.note for cell in noted if cell.method == "leace" and cell.status == "run"}
    assert [note.startswith("fitted to women and men") for note in notes.values()] == [False, True, True]
    (reading,) = [reading for reading in plan.readings.values() if reading.readout == "heads"]
    assert [*map(tuple, reading.dataset.options["groups"])] == PAIRS
    (reason,) = [cell.reason for (metric, dataset), cell in cells.items() if dataset.endswith("-X") and cell.reason]
    assert reason.startswith("tasks.own.groups: only women and men")
    two = planned(resolve(asked(strategy, None, *metrics), SCHEMA))
    assert {cell.dataset for cell in two.cells if cell.metric == "fairness"} == {name}
    assert all(cell.status == "run" for cell in two.cells)


def test_a_group_has_values_and_a_name_that_files_can_have():
    assert fault(asked("plain", GROUPS, "fairness"), SCHEMA) is None
    for groups in (GROUPS | {"X": "x"}, GROUPS | {"x y/z": ["x"]}, {"M": ["m"], "X": ["x"]}):
        assert "tasks.own.groups" in fault(asked("plain", groups, "fairness"), SCHEMA)
