"""Code lengths of gender from stored vectors: those of `probe.send`, under methods, and what they tell."""

import numpy as np
import pytest
import torch
from scipy.special import ndtri, stdtrit

from biasflow.base.tabular import read_parquet
from biasflow.erasers.eraser import Eraser
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.metrics.codelength import UNITS, score
from biasflow.readouts import probes
from biasflow.results.scores import tidy
from biasflow.tasks.classification.cuts import DATA
from biasflow.tasks.classification.splits import held_out, split
from biasflow.tasks.cuts import control_labels, probe_split
from tests.unit.reference_probe import codelengths
from tests.unit.synthetic_bios import biographies, save_states, source, vectors_of

BIOS = biographies(900)
OPTIONS = {
    "cuts": "biasflow.tasks.classification.cuts",
    "data": ["paper"],
    "split_seeds": [0],
    "probe_seeds": [0, 1],
    "epochs": 20,
}
TRAINING = {"epochs": 8}
# Takes out the dimension that holds the gender, and nothing else.
GENDER = Eraser.projection(torch.eye(6)[4:5])
NAMES = ("none", "erased")


def read(folder, vectors, methods=("none",), **options):
    BIOS.to_parquet(folder / "texts.parquet")
    states = save_states(folder / "vectors", vectors)
    edits = {"erased": GENDER, "hardly": Eraser.projection(torch.eye(6)[:1], torch.tensor([1e-6]))}
    active = {name: (Active(name, "-", (("layer[-1]", edit),)),) for name, edit in edits.items()}
    save(Fitted(active, {name: [] for name in active}), folder / "methods.safetensors")
    probes.read(source(folder, methods=methods, vectors=states), folder / "probes.parquet", **OPTIONS | options)
    return folder / "probes.parquet"


def value(scores, metric, variant, **keys):
    chosen = scores[(scores["metric"] == metric) & (scores["variant"] == variant)]
    for key, wanted in keys.items():
        chosen = chosen[chosen[key] == wanted]
    return chosen["value"].to_numpy()


def test_all_readings_are_those_of_the_probes_under_every_method_and_on_every_split(tmp_path):
    X = vectors_of(BIOS, gender=0.4)
    training = {"split_seeds": [0, 5], "probe_seeds": [3], "epochs": 8}
    scores = score(read(tmp_path, X, NAMES, **training))
    is_woman = (BIOS["gender"] == "F").to_numpy().astype(int)
    for method, vectors in (("none", X), ("erased", GENDER.apply(X))):
        for split_seed in (0, 5):
            rows = held_out(BIOS, split_seed)
            train, dev, test = (rows[part] for part in probe_split(len(rows), split_seed))
            shuffled = np.zeros_like(is_woman)
            together = np.concatenate([train, dev, test])
            shuffled[together] = control_labels(is_woman[together], split_seed)
            keys = {"method": method, "split_seed": str(split_seed)}
            for metric, z in (("compression", is_woman), ("control_compression", shuffled)):
                for units in UNITS:
                    expected = codelengths(vectors, z, train, dev, test, seeds=[3], units=units, **TRAINING)
                    for keep, (compression, accuracy) in expected.items():
                        found = value(scores, metric, f"paper-{units}-{keep}", **keys)
                        assert found == pytest.approx(compression, rel=1e-5)
                        if metric == "compression":
                            found = value(scores, "probe_accuracy", f"paper-{keep}", **keys)
                            assert found == pytest.approx(accuracy)
            own = scores[(scores["method"] == method) & (scores["split_seed"] == str(split_seed))]
            assert set(own.loc[own["metric"] != "probe_accuracy", "n"]) == {len(train)}
            assert set(own.loc[own["metric"] == "probe_accuracy", "n"]) == {len(test)}
    assert len(tidy(scores, encoder="e")) == 4 * (4 + 4 + 2)


def test_released_data_are_the_parts_of_the_probe_seeds_own_split_and_same_seed_those_of_the_models(tmp_path):
    X = vectors_of(BIOS, gender=1)
    scores = score(read(tmp_path, X, data=DATA, split_seeds=[5], epochs=8))
    is_woman = (BIOS["gender"] == "F").to_numpy().astype(int)
    for reading, seeds in (("released", [0, 1]), ("same-seed", [5])):
        for seed in seeds:
            part = split(BIOS, seed)
            rows = part.train, part.validation, part.test
            compression, accuracy = codelengths(X, is_woman, *rows, seeds=[seed], **TRAINING)["best"]
            keys = {"split_seed": "-", "readout_seed": str(seed)}
            found = value(scores, "compression", f"{reading}-bits-best", **keys)
            assert found == pytest.approx(compression, rel=1e-5)
            assert value(scores, "probe_accuracy", f"{reading}-best", **keys) == pytest.approx(accuracy)
    # As many women as men are in the paper's reading alone, which has fewer rows.
    n = scores[scores["metric"] == "compression"].groupby(scores["variant"].str.split("-").str[0])["n"].unique()
    assert n["released"].tolist() == [len(part.train)] and n["paper"] < n["released"]
    alone = score(read(tmp_path, X, split_seeds=[5], epochs=8))
    both = alone.merge(scores, on=[*alone.columns.drop(["value", "n", "resampled"])], validate="one_to_one")
    assert len(both) == len(alone) and both["value_x"].to_numpy() == pytest.approx(both["value_y"].to_numpy(), abs=1e-4)


def test_accuracies_have_resamples_of_the_people_who_were_told_right(tmp_path):
    """Equal answers of two methods are resampled alike, so that a method that changes none changes no accuracy."""
    path = read(tmp_path, vectors_of(BIOS, gender=0.4), ("none", "hardly"), probe_seeds=[3])
    tests = read_parquet(path).query("tested")
    right = [np.unpackbits(np.frombuffer(answers, np.uint8)).sum() for answers in tests["answers"]]
    assert right == tests["right"].tolist()
    accuracies = score(path).query("metric == 'probe_accuracy' and variant == 'paper-best'")
    plain, hardly = (np.stack(accuracies.loc[accuracies["method"] == name, "resampled"]) for name in ("none", "hardly"))
    assert (plain == hardly).all()
    p, n = (accuracies[column].iloc[0] for column in ("value", "n"))
    assert 0.5 < p < 0.95 and n == 13
    assert plain[0].mean() == pytest.approx(p, abs=0.01)
    reach = stdtrit(n - 1, 0.975) / ndtri(0.975)  # resamples of few people are spread as Student's t
    assert plain[0].std() == pytest.approx(reach * np.sqrt(p * (1 - p) / (n - 1)), rel=0.05)
