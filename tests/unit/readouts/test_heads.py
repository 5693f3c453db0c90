"""Own, retrained and frozen heads under methods: against heads trained one after the other, and what their gaps say."""

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.encoders.linear_head import save_head
from biasflow.erasers.eraser import Eraser
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.metrics import fairness
from biasflow.metrics.occupation import Tables, occupation_rows, score
from biasflow.readouts import heads, states
from biasflow.results.scores import tidy
from biasflow.tasks.occupation.data import classes_of, held_out, rows_of, split, women
from tests.unit.reference_probe import load_linear_heads, train_head
from tests.unit.synthetic_bios import STRATEGIES, biographies, save_states, source, vectors_of

BIOS = biographies(900)
TRAINING = {"epochs": 12, "batch_size": 32, "learning_rate": 0.03, "keep": "best"}
GENDER = Eraser.projection(torch.eye(6)[4:5])
NAMES = ("none", "erased")
OWN = (torch.eye(3, 6), torch.zeros(3))
BIASED = (torch.eye(3, 6) + torch.tensor([[0, 0, 0, 0, w, 0] for w in (0.6, -0.6, 0.0)]), torch.zeros(3))


@pytest.fixture
def folder(tmp_path):
    BIOS.to_parquet(tmp_path / "biographies.parquet")
    table = pd.DataFrame({"profession": ["nurse", "surgeon"], "labour_share": [0.9, 0.25]})
    table.to_csv(tmp_path / "professions.csv", index=False)
    (tmp_path / "model").mkdir()
    save_head(*OWN, tmp_path / "model")
    erased = {"erased": (Active("erased", "-", (("layer[-1]", GENDER),)),)}
    save(Fitted(erased, {"erased": []}), tmp_path / "methods.safetensors")
    return tmp_path


def read(folder, vectors, *, text="raw", methods=("none",), **options):
    """The scores of the readout of one text, given the vectors of all texts that it needs."""
    files = {name: save_states(folder / name, X) for name, X in vectors.items()}
    files["vectors"] = files.pop(text)
    options = (
        {"split_seeds": [0]} if "strategies" in options else {"split_seeds": [0], "head_seeds": [0, 1]}
    ) | options
    heads.read(
        source(folder, f"bios-{text}", methods=methods, **files),
        folder / "heads.parquet",
        text=text,
        **TRAINING | options,
    )
    return score(folder / "heads.parquet", professions=folder / "professions.csv")


def values(scores, **keys):
    for key, wanted in keys.items():
        scores = scores[scores[key] == str(wanted)]
    return scores.set_index(["metric", "part", "variant"])["value"].sort_index()


def by_hand(predicted, rows, split_seed):
    """The scores of predicted classes [n] of these rows."""
    counts = fairness.counts(classes_of(BIOS)[rows], predicted, women(BIOS)[rows], n_classes=3)
    parts = split(BIOS["profession"], split_seed)
    is_woman = pd.Series(women(BIOS), index=BIOS["profession"])
    shares = {part: is_woman.iloc[getattr(parts, part)].groupby(level=0).mean() for part in ("train", "test")}
    rows = occupation_rows(Tables(counts), shares=shares | {"labour": [0.9, 0.25, np.nan]})
    return rows.set_index(["metric", "part", "variant"])["value"].sort_index()


def test_own_and_retrained_heads_equal_heads_by_hand_under_every_method(folder):
    X = vectors_of(BIOS, gender=1, noise=0.5)
    save_head(*BIASED, folder / "model")
    scores = read(folder, {"raw": X}, methods=NAMES, split_seeds=[5])
    test, parts, y = held_out(BIOS, 5), split(BIOS["profession"], 5), torch.tensor(classes_of(BIOS))
    for method, vectors in (("none", X), ("erased", GENDER.apply(X))):
        own = (vectors[test] @ BIASED[0].T).argmax(1).numpy()
        pd.testing.assert_series_equal(values(scores, method=method, head="own"), by_hand(own, test, 5))
        data = (vectors[parts.train], y[parts.train], vectors[parts.validation], y[parts.validation])
        for seed in (0, 1):
            training = {name: TRAINING[name] for name in ("epochs", "batch_size", "learning_rate")}
            _, best, _ = train_head(*data, n_classes=3, seed=seed, **training)
            predicted = best(vectors[test]).argmax(1).numpy()
            found = values(scores, method=method, head="retrained", head_seed=seed)
            pd.testing.assert_series_equal(found, by_hand(predicted, test, 5))
    assert set(scores["split_seed"]) == {"5"} and (scores["n"] == len(test)).all()
    assert len(tidy(scores, encoder="e")) == len(scores)


def test_a_head_without_errors_has_no_gaps(folder):
    own = values(read(folder, {"raw": vectors_of(BIOS, gender=0, noise=0.05)}), head="own")
    assert own["accuracy", "-", "-"] == 1 and own["tpr_gap_sum", "-", "-"] == 0 and own["separation", "-", "sum"] == 0
    assert np.isnan(own["tpr_gap_pearson", "-", "train"])  # gaps without variance have no correlation
    test = held_out(BIOS, 0)
    assert own["test_size", "-", "-"] == len(test)
    genders = BIOS.iloc[test].groupby("profession")["gender"].value_counts().unstack()
    assert (genders["F"] == genders["M"]).all()


def test_a_head_that_reads_the_gender_has_gaps_as_the_shares_of_women_until_it_is_erased(folder):
    save_head(*BIASED, folder / "model")
    scores = read(folder, {"raw": vectors_of(BIOS, gender=1, noise=0.5)}, methods=NAMES)
    before, erased = (values(scores, head="own", method=method) for method in NAMES)
    assert before["tpr_gap_pearson", "-", "train"] > 0.9 and before["tpr_gap_sum", "-", "-"] > 0.3
    assert erased["tpr_gap_sum", "-", "-"] < 0.5 * before["tpr_gap_sum", "-", "-"]
    assert erased["independence", "-", "-"] < 0.2 * before["independence", "-", "-"]


def test_heads_of_the_raw_texts_are_tested_on_the_scrubbed_ones_too(folder):
    both = {"raw": vectors_of(BIOS, gender=1), "scrubbed": vectors_of(BIOS, gender=0, noise=3)}
    raw, scrubbed = (read(folder, both, text=text, head_seeds=[0]) for text in ("raw", "scrubbed"))
    accuracy = [values(scores, head="retrained")["accuracy", "-", "-"] for scores in (raw, scrubbed)]
    assert accuracy[0] > 0.9 > accuracy[1]
    y, test = classes_of(BIOS), held_out(BIOS, 0)
    read(folder, both, text="scrubbed", head_seeds=[0])
    saved, names = load_linear_heads(folder / "heads.heads.safetensors")
    expected = (saved.predict(both["scrubbed"][test])[0] == y[test]).mean()
    assert accuracy[1] == expected
    assert names == [{"method": "none", "setting": "-", "head": "retrained", "head_seed": "0", "split_seed": "0"}]


def test_frozen_heads_are_those_of_their_own_strategy_and_seed(folder):
    both = {"raw": vectors_of(BIOS, gender=1), "scrubbed": vectors_of(BIOS, gender=0, seed=1)}
    strategies = [vars(STRATEGIES[name]) for name in STRATEGIES]
    raw = read(folder, both, split_seeds=[0, 5], strategies=strategies)
    assert set(map(tuple, raw[["head", "head_seed", "split_seed"]].to_numpy())) == {
        (f"frozen-{name}", seed, seed) for name in STRATEGIES for seed in ("0", "5")
    }
    y = torch.tensor(classes_of(BIOS))
    for name in ("oversampling", "scrubbing"):
        X, rows = both[STRATEGIES[name].text], rows_of(BIOS, STRATEGIES[name], 5)
        data = (X[rows.train], y[rows.train], X[rows.validation], y[rows.validation])
        training = {key: TRAINING[key] for key in ("epochs", "batch_size", "learning_rate")}
        _, best, _ = train_head(*data, n_classes=3, seed=5, **training)
        predicted = best(both["raw"][rows.test]).argmax(1).numpy()
        pd.testing.assert_series_equal(
            values(raw, head=f"frozen-{name}", head_seed=5), by_hand(predicted, rows.test, 5)
        )
    scrubbed = read(folder, both, text="scrubbed", split_seeds=[0], strategies=strategies)
    assert set(scrubbed["head"]) == {"frozen-scrubbing"}


def test_groups_of_methods_do_not_change_the_heads(folder, monkeypatch):
    X = {"raw": vectors_of(BIOS, gender=1, noise=0.5)}
    together = read(folder, X, methods=NAMES)
    monkeypatch.setattr(states, "BYTES_TOGETHER", 1)
    pd.testing.assert_frame_equal(read(folder, X, methods=NAMES), together)


def test_heads_to_train_are_asked_for(folder):
    with pytest.raises(BiasflowError, match="head_seeds"):
        read(folder, {"raw": vectors_of(BIOS, gender=0)}, head_seeds=[])
    with pytest.raises(BiasflowError, match="scrubbed"):
        strategies = [vars(STRATEGIES["plain"])]
        read(folder, {"scrubbed": vectors_of(BIOS, gender=0)}, text="scrubbed", strategies=strategies)
    with pytest.raises(BiasflowError, match="head"):
        (folder / "model" / "head.safetensors").unlink()
        read(folder, {"raw": vectors_of(BIOS, gender=0)})
