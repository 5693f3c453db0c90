"""Occupation prediction from biographies (paper C): who is trained on what, and every score of what was trained.

Classifiers are linear layers on the vectors of encoders.first_token, so that predictions need the vectors alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.tabular import read_text_csv
from scripts.biasflow.metrics import fairness
from scripts.biasflow.metrics.codelength import CHECKPOINTS, UNITS, codelengths, control_labels, probe_split
from scripts.biasflow.metrics.occupation import occupation_rows_of_heads
from scripts.biasflow.readouts.heads import LinearHeads, train_heads
from scripts.biasflow.results.scores import concatenate, tidy
from scripts.biasflow.tasks.occupation.data import rows_of, shares_of_women, split

RAW, SCRUBBED = "raw", "scrubbed"
COLUMN_OF = {RAW: "text", SCRUBBED: "scrubbed"}
TASK, PROBE, FINETUNING = "occupation", "probe", "finetuning:occupation"
BEFORE, AFTER, FROZEN = "before", "after", "frozen"
COUNTS = ["stage", "setting", "strategy", "seed", "head_seed", "gender", "gold", "predicted", "biographies"]
GENDERS = ("M", "F")  # in the order of the tables of counts

Vectors = Mapping[str, torch.Tensor]  # test text (raw, scrubbed) -> vectors of all biographies [n, hidden]


def professions_of(biographies: pd.DataFrame) -> list[str]:
    """The professions in alphabetical order, which is that of the classes."""
    return sorted(biographies["profession"].unique())


def texts_of(biographies: pd.DataFrame, text: str) -> list[str]:
    """The raw or the scrubbed texts of all biographies."""
    return biographies[COLUMN_OF[text]].tolist()


def trained_on(strategy: str) -> str:
    """The texts that a model of this strategy is trained on."""
    return SCRUBBED if strategy == "scrubbing" else RAW


def labelled_texts(
    biographies: pd.DataFrame, *, strategy: str, seed: int, oversampling: str = "resample"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What an encoder is fine-tuned and validated on: two tables text, label.

    Both parts of the seed's split are debiased by the strategy: balanced, or scrubbed."""
    rows = rows_of(biographies, strategy, seed, minority=oversampling)
    examples = pd.DataFrame(
        {"text": texts_of(biographies, trained_on(strategy)), "label": biographies["profession"].to_numpy()}
    )
    return examples.iloc[rows.train].reset_index(drop=True), examples.iloc[rows.validation].reset_index(drop=True)


@dataclass(frozen=True)
class Scored:
    """Rows of the table of scores; the counts they come from, without empty cells (COUNTS); the heads trained."""

    scores: pd.DataFrame
    counts: pd.DataFrame
    heads: LinearHeads


def tuned_scores(
    biographies: pd.DataFrame,
    vectors: Vectors,
    own_head: tuple[torch.Tensor, torch.Tensor],
    facts: Mapping,
    *,
    encoder: str,
    strategy: str,
    seed: int,
    labour: pd.Series,
    head_seeds: Sequence[int],
    device: torch.device | str = "cpu",
    **training,
) -> Scored:
    """All scores of a fine-tuned encoder, with its own head (before) and with retrained ones (after).

    The retrained heads learn from the vectors of the original (raw, unbalanced) training part of the same split. Every
    head is tested on the seed's balanced test part, for each of the texts in `vectors`. `facts`: training.json;
    `training`: epochs, batch_size, learning_rate and keep of `train_heads`."""
    classes, gold, women = _coded(biographies)
    test = rows_of(biographies, strategy, seed).test
    parts = split(biographies["profession"], seed)
    heads = train_heads(
        vectors[RAW][parts.train],
        gold[parts.train],
        vectors[RAW][parts.validation],
        gold[parts.validation],
        n_classes=len(classes),
        seeds=head_seeds,
        device=device,
        **training,
    )
    own = LinearHeads(*(part[None] for part in own_head), torch.tensor([torch.nan]), torch.tensor([0]))
    keys = {"encoder": encoder, "strategy": strategy, "seed": seed}
    tables = [_fact_rows(biographies, facts, keys)]
    counted = []
    for stage, models, names in ((BEFORE, own, [""]), (AFTER, heads, [str(each) for each in head_seeds])):
        for text, states in vectors.items():
            predicted = models.predict(states[test], device=device)
            counts = fairness.counts(gold[test], predicted, women[test], n_classes=len(classes))
            rows = occupation_rows_of_heads(counts, names, shares=_shares(biographies, classes, seed, labour))
            tables.append(tidy(rows, paper="internal", task=TASK, stage=stage, setting=text, **keys))
            counted.append(
                _cells(counts, classes, names).assign(stage=stage, setting=text, strategy=strategy, seed=seed)
            )
    return Scored(concatenate(tables), pd.concat(counted, ignore_index=True)[COUNTS], heads)


def frozen_scores(
    biographies: pd.DataFrame,
    vectors: Vectors,
    *,
    encoder: str,
    strategies: Sequence[str],
    seeds: Sequence[int],
    labour: pd.Series,
    oversampling: str = "resample",
    device: torch.device | str = "cpu",
    **training,
) -> Scored:
    """The scores of linear heads on an encoder that was not fine-tuned, one per strategy and seed (table 5).

    A strategy debiases what its heads are trained on, here too; `seeds` are those of split and head. A head on scrubbed
    texts is tested on both texts."""
    classes, gold, women = _coded(biographies)
    tables, counted, trained = [], [], []
    for text in dict.fromkeys(map(trained_on, strategies)):
        own = [(strategy, seed) for strategy in strategies if trained_on(strategy) == text for seed in seeds]
        rows = [rows_of(biographies, strategy, seed, minority=oversampling) for strategy, seed in own]
        heads = train_heads(
            vectors[text],
            gold,
            vectors[text],
            gold,
            n_classes=len(classes),
            seeds=[seed for _, seed in own],
            rows=[each.train for each in rows],
            valid_rows=[each.validation for each in rows],
            device=device,
            **training,
        )
        trained.append(heads)
        for number, ((strategy, seed), each) in enumerate(zip(own, rows, strict=True)):
            for tested in vectors if strategy == "scrubbing" else [RAW]:
                predicted = _joined([heads], number).predict(vectors[tested][each.test], device=device)
                counts = fairness.counts(gold[each.test], predicted, women[each.test], n_classes=len(classes))
                shares = _shares(biographies, classes, seed, labour)
                keys = {"strategy": strategy, "seed": seed, "stage": FROZEN, "setting": tested}
                found = occupation_rows_of_heads(counts, [""], shares=shares)
                tables.append(tidy(found, paper="internal", task=TASK, encoder=encoder, **keys))
                counted.append(_cells(counts, classes, [""]).assign(**keys))
    return Scored(concatenate(tables), pd.concat(counted, ignore_index=True)[COUNTS], _joined(trained))


def compression_scores(
    biographies: pd.DataFrame,
    vectors: Vectors,
    *,
    encoder: str,
    stage: str,
    strategy: str,
    seeds: Sequence[int],
    probe_seeds: Sequence[int],
    fractions: Sequence[float],
    epochs: int,
    device: torch.device | str = "cpu",
) -> pd.DataFrame:
    """How well gender is compressed, given the vectors of the test biographies of each split, in all readings.

    Of the balanced test part of the split with seed s, 80 % are coded, 10 % stop the training, 10 % test the probe (the
    cut is not in the paper). Beside each probe stands one of random labels. `fractions` are per cent."""
    women = (biographies["gender"] == "F").to_numpy().astype(int)
    tables = []
    for text, states in vectors.items():
        for seed in seeds:
            test = rows_of(biographies, strategy or "none", seed).test
            train, dev, last = (test[part] for part in probe_split(len(test), seed))
            data = {"X": states[train], "X_dev": states[dev], "X_test": states[last]}
            options = {
                "seeds": probe_seeds,
                "fractions": [round(share / 100, 10) for share in fractions],  # 67.6 / 100 is just below 0.676
                "epochs": epochs,
                "device": device,
            }
            true = codelengths(z=women[train], z_dev=women[dev], z_test=women[last], **data, **options)
            shuffled = control_labels(women[np.concatenate([train, dev, last])], seed)
            coded, stopping, tested = np.split(shuffled, [len(train), len(train) + len(dev)])
            control = codelengths(z=coded, z_dev=stopping, z_test=tested, **data, **options)
            rows = [
                (name, f"{units}-{keep}", str(probe), value)
                for name, run in (("compression", true), ("control_compression", control))
                for units in UNITS
                for keep in CHECKPOINTS
                for probe, value in zip(probe_seeds, run.compression(units=units, keep=keep), strict=True)
            ]
            rows += [
                ("probe_accuracy", keep, str(probe), value)
                for keep in CHECKPOINTS
                for probe, value in zip(probe_seeds, true.accuracy(keep=keep), strict=True)
            ]
            keys = {"encoder": encoder, "stage": stage, "strategy": strategy, "seed": seed, "setting": text}
            frame = pd.DataFrame(rows, columns=["metric", "variant", "head_seed", "value"])
            tables.append(tidy(frame, paper="internal", task=PROBE, **keys))
    return concatenate(tables)


def of_model(model: str) -> dict[str, str]:
    """Stage and strategy of a probed encoder by its path ("pretrained", "random/seed0", "scrubbing/seed0")."""
    kind = model.partition("/")[0]
    if kind in ("pretrained", "random"):
        return {"stage": kind, "strategy": ""}
    return {"stage": "finetuned", "strategy": kind}


def seed_of_model(model: str) -> str:
    """The seed of a probed encoder by its path; empty for the pretrained one, which has none."""
    return model.partition("/seed")[2]


def splits_of_model(model: str, seeds: Sequence[int]) -> list[int]:
    """The splits on whose test biographies an encoder is probed: that of its seed, or all `seeds` if it has none."""
    own = seed_of_model(model)
    return [int(own)] if own else list(seeds)


def read_labour_shares(path: str | Path) -> pd.Series:
    """Share of women in the labour market by profession, from a table of `occupation_data.profession_table`."""
    table = read_text_csv(path).set_index("profession")
    return pd.to_numeric(table["labour_share"], errors="coerce")


def _joined(several: Sequence[LinearHeads], number: int | None = None) -> LinearHeads:
    """All heads in one, or that of this number alone."""
    chosen = slice(None) if number is None else slice(number, number + 1)
    return LinearHeads(
        *(torch.cat(parts)[chosen] for parts in zip(*(vars(some).values() for some in several), strict=True))
    )


def _coded(biographies: pd.DataFrame) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The classes, every biography's class, and whether it is a woman's (1) or a man's (0)."""
    classes = professions_of(biographies)
    gold = pd.Categorical(biographies["profession"], categories=classes).codes.astype(int)
    return classes, gold, (biographies["gender"] == "F").to_numpy().astype(int)


def _shares(biographies: pd.DataFrame, classes: Sequence[str], seed: int, labour: pd.Series) -> dict[str, np.ndarray]:
    """Share of women by class: in the training part, in the test part before it is balanced, in the labour market."""
    parts = split(biographies["profession"], seed)
    of_part = {
        name: shares_of_women(biographies["profession"], biographies["gender"], rows).reindex(classes)
        for name, rows in (("train", parts.train), ("test", parts.test))
    }
    return {name: series.to_numpy(float) for name, series in (of_part | {"labour": labour.reindex(classes)}).items()}


def _cells(counts: np.ndarray, classes: Sequence[str], names: Sequence[str]) -> pd.DataFrame:
    """The cells of [heads, gender, gold, predicted] that are not empty, by their names."""
    head, gender, gold, predicted = np.nonzero(counts)
    classes = np.asarray(classes)
    return pd.DataFrame(
        {
            "head_seed": np.asarray(names)[head],
            "gender": np.asarray(GENDERS)[gender],
            "gold": classes[gold],
            "predicted": classes[predicted],
            "biographies": counts[head, gender, gold, predicted],
        }
    )


def _fact_rows(biographies: pd.DataFrame, facts: Mapping, keys: Mapping) -> pd.DataFrame:
    """What is to be known of a fine-tuning: did it learn more than the commonest profession?

    Where its loss was lost there is no validation accuracy (NaN), and it counts as diverged, too."""
    missing = [key for key in ("validation_score", "cut", "train") if key not in facts]
    if missing:
        raise BiasflowError(f"training.json: has no {missing[0]}; fine-tune the encoder again.")
    rows = rows_of(biographies, keys["strategy"], int(keys["seed"])).validation
    majority = biographies["profession"].iloc[rows].value_counts(normalize=True).iloc[0]
    accuracy = np.nan if facts["validation_score"] is None else facts["validation_score"]
    values = {
        "validation_accuracy": accuracy,
        "majority_share": majority,
        "diverged": not accuracy > majority,
        "truncated": facts["cut"],
        "train_size": facts["train"],
    }
    frame = pd.DataFrame({"metric": values.keys(), "value": [float(value) for value in values.values()]})
    return tidy(frame, paper="internal", task=FINETUNING, stage="finetuned", **keys)
