"""Own, retrained and frozen heads under methods: against heads trained one after the other, and what their gaps say."""

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.encoders.linear_head import save_head
from biasflow.erasers.eraser import Eraser
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.metrics import fairness
from biasflow.metrics.occupation import Tables, occupation_rows, score
from biasflow.readouts import heads
from biasflow.tasks.occupation.data import classes_of, rows_of, split, women
from tests.unit.reference_probe import train_head
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


def test_a_head_that_reads_the_gender_has_gaps_as_the_shares_of_women_until_it_is_erased(folder):
    save_head(*BIASED, folder / "model")
    scores = read(folder, {"raw": vectors_of(BIOS, gender=1, noise=0.5)}, methods=NAMES)
    before, erased = (values(scores, head="own", method=method) for method in NAMES)
    assert before["tpr_gap_pearson", "-", "train"] > 0.9 and before["tpr_gap_sum", "-", "-"] > 0.3
    assert erased["tpr_gap_sum", "-", "-"] < 0.5 * before["tpr_gap_sum", "-", "-"]
    assert erased["independence", "-", "-"] < 0.2 * before["independence", "-", "-"]


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
