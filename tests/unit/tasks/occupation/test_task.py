"""Scores of occupation classifiers and probes from vectors whose content is known."""

import numpy as np
import pandas as pd
import pytest
import torch

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.readouts.heads import LinearHeads
from scripts.biasflow.results.scores import KEYS
from scripts.biasflow.tasks.occupation import task as occupation
from scripts.biasflow.tasks.occupation.data import rows_of, split
from scripts.biasflow.tasks.occupation.task import (
    compression_scores,
    frozen_scores,
    labelled_texts,
    of_model,
    professions_of,
    splits_of_model,
    texts_of,
    tuned_scores,
)

CLASSES = ["nurse", "surgeon", "teacher"]
WOMEN = {"nurse": 0.8, "surgeon": 0.2, "teacher": 0.5}
LABOUR = pd.Series({"nurse": 0.9, "surgeon": 0.25})
TRAINING = {"epochs": 12, "batch_size": 32, "learning_rate": 0.03, "keep": "best"}
FACTS = {"validation_score": 0.9, "cut": 7, "train": 585}


def biographies(n: int = 900, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    professions = rng.choice(CLASSES, size=n)
    women = rng.random(n) < np.array([WOMEN[name] for name in professions])
    texts = [f"text {number}" for number in range(n)]
    return pd.DataFrame(
        {
            "text": texts,
            "profession": professions,
            "gender": np.where(women, "F", "M"),
            "name": "",
            "scrubbed": [f"_ {number}" for number in range(n)],
        }
    )


BIOS = biographies()
IS_WOMAN = torch.tensor((BIOS["gender"] == "F").to_numpy())


def vectors(*, gender: float, noise: float = 0.3, seed: int = 0) -> torch.Tensor:
    """The profession one-hot, the gender in a dimension of its own, and noise."""
    rng = np.random.default_rng(seed)
    found = rng.normal(scale=noise, size=(len(BIOS), 6))
    found[np.arange(len(BIOS)), [CLASSES.index(name) for name in BIOS["profession"]]] += 1
    found[:, 4] += gender * np.where(IS_WOMAN, 1, -1)
    return torch.tensor(found, dtype=torch.float32)


def perfect_head() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.eye(3, 6), torch.zeros(3)


def values(scores: pd.DataFrame, **keys: object) -> pd.Series:
    chosen = scores
    for key, value in keys.items():
        chosen = chosen[chosen[key] == str(value)]
    return chosen.set_index(["metric", "variant"])["value"]


def tuned(strategy: str = "none", **options) -> occupation.Scored:
    arguments = {"encoder": "e", "strategy": strategy, "seed": 0, "labour": LABOUR, "head_seeds": [0, 1]}
    return tuned_scores(
        BIOS, {"raw": vectors(gender=0, noise=0.05)}, perfect_head(), FACTS, **arguments | TRAINING | options
    )


def test_a_head_without_errors_has_no_gaps():
    scores = tuned().scores
    before = values(scores, stage="before")
    assert before["accuracy", ""] == 1 and before["tpr_gap_sum", ""] == 0 and before["separation", "sum"] == 0
    assert np.isnan(before["tpr_gap_pearson", "train"])  # gaps without variance have no correlation
    test = rows_of(BIOS, "none", 0).test
    assert before["test_size", ""] == len(test)
    genders = BIOS.iloc[test].groupby("profession")["gender"].value_counts().unstack()
    assert (genders["F"] == genders["M"]).all()


def test_retrained_heads_are_one_per_seed_and_tested_on_the_same_biographies():
    found = tuned()
    after = found.scores[found.scores["stage"] == "after"]
    assert set(after["head_seed"]) == {"0", "1"}
    assert (values(after, metric="accuracy") > 0.95).all()
    assert found.heads.weight.shape == (2, 3, 6)
    sizes = found.counts.groupby(["stage", "head_seed"])["biographies"].sum()
    assert sizes.nunique() == 1


def test_the_counts_give_the_accuracy():
    found = tuned_scores(
        BIOS, {"raw": vectors(gender=0, noise=0.8)}, perfect_head(), FACTS,
        encoder="e", strategy="none", seed=0, labour=LABOUR, head_seeds=[0], **TRAINING,
    )  # fmt: skip
    before = found.counts[found.counts["stage"] == "before"]
    right = before.loc[before["gold"] == before["predicted"], "biographies"].sum()
    assert right / before["biographies"].sum() == pytest.approx(values(found.scores, stage="before")["accuracy", ""])
    assert 0.4 < right / before["biographies"].sum() < 0.99


def test_a_head_that_reads_the_gender_has_gaps_as_the_shares_of_women():
    states = vectors(gender=1, noise=0.5)
    biased = (torch.eye(3, 6) + torch.tensor([[0, 0, 0, 0, w, 0] for w in (0.6, -0.6, 0.0)]), torch.zeros(3))
    found = tuned_scores(
        BIOS, {"raw": states}, biased, FACTS,
        encoder="e", strategy="none", seed=0, labour=LABOUR, head_seeds=[0], **TRAINING,
    ).scores  # fmt: skip
    before = values(found, stage="before")
    assert before["tpr_gap_pearson", "train"] > 0.9 and before["tpr_gap_sum", ""] > 0.3


def test_scrubbing_is_tested_on_both_texts_with_heads_of_the_raw_one():
    both = {"raw": vectors(gender=1), "scrubbed": vectors(gender=0, noise=3)}
    found = tuned_scores(
        BIOS, both, perfect_head(), FACTS,
        encoder="e", strategy="scrubbing", seed=0, labour=LABOUR, head_seeds=[0], **TRAINING,
    ).scores  # fmt: skip
    after = found[found["stage"] == "after"]
    accuracy = after[after["metric"] == "accuracy"].set_index("setting")["value"]
    assert accuracy["raw"] > 0.9 > accuracy["scrubbed"]


@pytest.mark.parametrize(("score", "diverged"), [(0.9, 0), (0.3, 1), (None, 1)])
def test_a_model_that_learned_nothing_is_marked(score, diverged):
    facts = values(tuned_scores(
        BIOS, {"raw": vectors(gender=0)}, perfect_head(), FACTS | {"validation_score": score},
        encoder="e", strategy="none", seed=0, labour=LABOUR, head_seeds=[0], **TRAINING,
    ).scores, stage="finetuned")  # fmt: skip
    assert facts["diverged", ""] == diverged and facts["truncated", ""] == 7
    assert np.isnan(facts["validation_accuracy", ""]) == (score is None)
    validation = BIOS["profession"].iloc[split(BIOS["profession"], 0).validation]
    assert facts["majority_share", ""] == pytest.approx(validation.value_counts(normalize=True).max())


def test_facts_of_another_kind_are_refused():
    with pytest.raises(BiasflowError, match="cut"):
        tuned_scores(
            BIOS, {"raw": vectors(gender=0)}, perfect_head(), {"validation_score": 1, "train": 1},
            encoder="e", strategy="none", seed=0, labour=LABOUR, head_seeds=[0], **TRAINING,
        )  # fmt: skip


def test_frozen_heads_are_those_of_their_own_strategy_and_seed(monkeypatch):
    both = {"raw": vectors(gender=1), "scrubbed": vectors(gender=0, seed=1)}
    arguments = {"encoder": "e", "labour": LABOUR, **TRAINING}
    strategies = ["none", "oversampling", "subsampling", "scrubbing"]
    found = frozen_scores(BIOS, both, strategies=strategies, seeds=[0, 5], **arguments)
    assert found.heads.weight.shape[0] == 8
    keys = found.scores[["strategy", "setting", "seed"]].drop_duplicates()
    assert sorted(map(tuple, keys.to_numpy())) == sorted(
        [(s, "raw", seed) for s in strategies for seed in ("0", "5")]
        + [("scrubbing", "scrubbed", s) for s in ("0", "5")]
    )
    alone = frozen_scores(BIOS, both, strategies=["none", "subsampling"], seeds=[5], **arguments)
    for strategy in ("none", "subsampling"):
        together = values(found.scores, strategy=strategy, seed=5)
        pd.testing.assert_series_equal(together, values(alone.scores, strategy=strategy, seed=5))


def test_compression_tells_vectors_with_gender_from_those_without():
    options = {
        "encoder": "e",
        "seeds": [0],
        "probe_seeds": [0, 1],
        "fractions": [10.0, 30.0, 60.0, 100.0],
        "epochs": 50,
    }
    known = compression_scores(BIOS, {"raw": vectors(gender=3)}, stage="finetuned", strategy="none", **options)
    unknown = compression_scores(BIOS, {"raw": vectors(gender=0)}, stage="finetuned", strategy="none", **options)
    assert set(known["head_seed"]) == {"0", "1"}
    for keep in ("best", "last"):
        gender, none = (values(one, metric="compression", variant=f"bits-{keep}").min() for one in (known, unknown))
        assert gender > 1.4 * none and none < 1.2
    assert values(known, metric="control_compression", variant="bits-best").max() < 1.3
    assert (values(known, metric="probe_accuracy") > 0.9).all()


def test_an_encoder_that_was_not_tuned_is_probed_on_every_split():
    options = {"encoder": "e", "probe_seeds": [0], "fractions": [20.0, 100.0], "epochs": 3}
    found = compression_scores(
        BIOS, {"raw": vectors(gender=1)}, stage="pretrained", strategy="", seeds=[0, 5, 11], **options
    )
    assert set(found["seed"]) == {"0", "5", "11"} and set(found["strategy"]) == {""}


@pytest.mark.parametrize("strategy", ["none", "oversampling", "subsampling", "scrubbing"])
def test_each_strategy_trains_on_its_rows_and_texts(strategy):
    train, validation = labelled_texts(BIOS, strategy=strategy, seed=3)
    rows = rows_of(BIOS, strategy, 3)
    column = "scrubbed" if strategy == "scrubbing" else "text"
    assert train["text"].tolist() == BIOS[column].iloc[rows.train].tolist()
    assert validation["label"].tolist() == BIOS["profession"].iloc[rows.validation].tolist()
    assert not set(rows.test) & {*rows.train, *rows.validation}


def test_texts_and_classes():
    assert texts_of(BIOS, "scrubbed")[3] == "_ 3" and professions_of(BIOS) == CLASSES


def test_models_by_path():
    assert of_model("pretrained") == {"stage": "pretrained", "strategy": ""}
    assert of_model("random/seed3") == {"stage": "random", "strategy": ""}
    assert of_model("scrubbing/seed0") == {"stage": "finetuned", "strategy": "scrubbing"}


def test_an_encoder_is_probed_on_its_own_split_or_on_all():
    assert splits_of_model("scrubbing/seed5", [0, 5]) == splits_of_model("random/seed5", [0]) == [5]
    assert splits_of_model("pretrained", [0, 5]) == [0, 5]


def test_every_score_has_keys_of_its_own():
    assert not tuned().scores.duplicated(KEYS).any()
    assert isinstance(tuned().heads, LinearHeads)
