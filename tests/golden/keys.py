"""From the keys of the first version's scores to those of the second: where every old row stands in the one table."""

from collections.abc import Callable

import pandas as pd

from biasflow.results.scores import NA, NONE, tidy

OLD_KEYS = ["paper", "task", "encoder", "method", "setting", "strategy", "seed", "head_seed", "stage"]
OLD_KEYS += ["metric", "variant"]
GRID, BIOS = "dawkins2024", "bios"
_RENAMED_FACTS = dict.fromkeys(("validation_accuracy", "majority_share", "diverged"), "validation")


def read_old(path) -> pd.DataFrame:
    """A table of scores as the first version wrote it."""
    frame = pd.read_csv(path, dtype=dict.fromkeys(OLD_KEYS, str), keep_default_na=False, na_values={"value": ["NaN"]})
    return frame.astype({"value": float})


def new_keys(old: pd.DataFrame) -> pd.DataFrame:
    """The same scores with the new keys. Values are untouched; the number of tokens, draws and the like move from rows
    of their own to the column n of the rows that they belong to. KeyError for a row of a kind that is not known."""
    rows = [_row(row) for row in old.to_dict("records")]
    table = pd.DataFrame([row for row in rows if row is not None])
    keys = [column for column in table if column != "value"]
    return _with_counts(tidy(_once(table.fillna(dict.fromkeys(keys, NA)), keys)), old)


def fitted_before_training(table: pd.DataFrame, where: pd.Series) -> pd.DataFrame:
    """`table` with the methods of the rows `where` named as those that are fitted on the encoder before training.

    The first version had no other way: whatever edited a fine-tuned model was fitted to its encoder before that."""
    later = where & (table["method"] != NONE)
    return table.assign(method=table["method"].mask(later, table["method"] + "-pretrained"))


def _once(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """What two papers measured alike (the untouched model) is one row; ValueError where they do not agree."""
    spread = table.groupby(keys)["value"].agg(lambda values: values.max() - values.min())
    if (spread > 1e-6).any():
        raise ValueError(f"two papers give different values for {spread[spread > 1e-6].index[0]}")
    return table.drop_duplicates(keys, ignore_index=True)


def _row(old: dict) -> dict | None:
    kind = (old["paper"], old["task"].partition(":")[0])
    if old["paper"] == "projective" and kind[1] != "nli":
        kind = ("projective", "stimuli")
    elif kind[0] == "densray" and kind[1] not in _KINDS_OF_DENSRAY:
        kind = ("densray", "stimuli")
    found = _KINDS[kind](old)
    if found is None:
        return None
    return {"encoder": old["encoder"], "value": old["value"], "metric": old["metric"]} | found


def _variant(old: dict) -> dict:
    return {"variant": old["variant"] or NA}


def _grid(old: dict) -> dict:
    if old["method"] == "base":
        return {"method": NONE, "setting": NA}
    return {"method": GRID, "setting": f"{old['method']} {old['setting']}".strip()}


def _stimuli(old: dict, method: dict) -> dict:
    top = old["variant"].startswith("top=")
    return method | {"dataset": old["task"], "part" if top else "variant": old["variant"]}


def _eraser(old: dict) -> dict:
    if old["setting"].startswith("layer["):
        return {"method": f"{old['method']}-each", "setting": old["setting"]}
    return {"method": old["method"], "setting": NA}


def _nli(old: dict, method: dict, strategy: str, head: str) -> dict:
    keys = method | {"task": "nli", "strategy": strategy, "seed": old["seed"], "head": head}
    if old["metric"] == "nli_test_accuracy":
        return keys | {"metric": "accuracy", "dataset": "test"}
    part = "part" if old["metric"] == "nli_share" else "variant"
    return keys | {"dataset": "occupation-pairs", part: old["variant"] or NA}


def _projective_nli(old: dict) -> dict:
    method, strategy = _grid(old), "plain"
    if old["strategy"] == "during_finetuning":
        name = method_in_training(method["setting"])
        method, strategy = {"method": name, "setting": NA}, f"with-{name}"
    return _nli(old, method, strategy, "retrained" if old["stage"] == "after" else "own")


def method_in_training(setting: str) -> str:
    """The name of the method that is one setting of the grid: "sent 0" -> "sent-0"."""
    return setting.replace(" ", "-").replace(",", "-")


def _association(old: dict) -> dict:
    family = "seat" if old["task"].removeprefix("association:").startswith("sent-") else "weat"
    keys = {"dataset": old["task"].partition(":")[2], "metric": f"{family}_{old['metric']}"}
    return _eraser(old) | keys | _variant(old)


def _share(old: dict) -> dict:
    head = f"[{old['variant']}]" if old["variant"] else ""
    return {"method": NONE, "dataset": "words", "part": old["setting"] + head}


def _perplexity(old: dict) -> dict | None:
    if old["metric"] == "tokens":
        return None
    encoder = old["encoder"] + ("-mlm" if old["stage"] == "finetuned" else "")
    metric = "perplexity" if old["metric"] == "batch_perplexity" else old["metric"]
    keys = {"encoder": encoder, "dataset": old["task"].partition(":")[2], "metric": metric}
    return _eraser(old) | keys | {"readout_seed": old["seed"] or NA} | _variant(old)


def _glue(old: dict) -> dict:
    task = old["task"].partition(":")[2]
    trained = old["strategy"] == "in_training" and old["method"] != NONE
    strategy = f"with-{old['method']}" if trained else "plain"
    metric = "glue_score" if old["metric"] == "score" else old["metric"]
    keys = {"task": task, "strategy": strategy, "seed": old["seed"], "head": "own", "dataset": "validation"}
    if old["strategy"] == "at_evaluation" and old["method"] == NONE:
        return None  # the untouched model is the same in both readings: one row
    return _eraser(old) | keys | {"metric": metric} | _variant(old)


def _model(old: dict) -> dict:
    """The keys of a model of paper C by stage, strategy and seed."""
    if old["stage"] == "pretrained":
        return {"method": NONE}
    if old["stage"] == "random":
        return {"method": NONE, "strategy": "random", "seed": old["seed"]}
    strategy = "plain" if old["strategy"] == "none" else old["strategy"]
    return {"method": NONE, "task": BIOS, "strategy": strategy, "seed": old["seed"]}


def _ceat(old: dict) -> dict | None:
    if old["metric"] == "draws":
        return None
    keys = {"dataset": old["task"].partition(":")[2], "metric": f"ceat_{old['metric']}"}
    if old["stage"] == "pretrained":
        keys["readout_seed"] = old["seed"] or NA  # the model has no seed: that of the draws
    order, _, variance = old["variant"].partition("-")
    named_by_targets = {"weat": "concepts", "swapped": "genders"}
    if keys["dataset"] == "C6":  # the only test whose names were its targets
        named_by_targets = {"weat": "genders", "swapped": "concepts"}
    return _model(old) | keys | {"variant": f"{named_by_targets[order]}-{variance}"}


def _facts(old: dict) -> dict:
    dataset = _RENAMED_FACTS.get(old["metric"], "train")
    return _model(old) | {"dataset": dataset} | _variant(old)


def _occupation(old: dict) -> dict | None:
    if old["metric"] == "test_size":
        return None
    part = "part" if old["metric"] == "undefined_cells" else "variant"
    keys = {"dataset": f"{BIOS}-{old['setting']}", "split_seed": old["seed"], part: old["variant"] or NA}
    if old["stage"] == "frozen":
        strategy = "plain" if old["strategy"] == "none" else old["strategy"]
        return {"method": NONE, "head": f"frozen-{strategy}", "head_seed": old["seed"]} | keys
    head = {"before": "own", "after": "retrained"}[old["stage"]]
    return _model({**old, "stage": "finetuned"}) | {"head": head, "head_seed": old["head_seed"] or NA} | keys


def _probe(old: dict) -> dict:
    """The first version coded what is now the reading `paper` of the data."""
    keys = {"dataset": f"{BIOS}-{old['setting']}", "split_seed": old["seed"], "readout_seed": old["head_seed"]}
    return _model(old) | keys | {"variant": f"paper-{old['variant']}"}


def _log_odds(old: dict) -> dict:
    metric = {"log_odds_correlation": "log_odds_r"}.get(old["metric"], old["metric"])
    return {"method": NONE, "dataset": "planted", "metric": metric}


_KINDS: dict[tuple[str, str], Callable[[dict], dict | None]] = {
    ("projective", "stimuli"): lambda old: _stimuli(old, _grid(old)),
    ("projective", "nli"): _projective_nli,
    ("planted", "occupations"): _log_odds,
    ("densray", "stimuli"): lambda old: _stimuli(old, _eraser(old)),
    ("densray", "nli"): lambda old: _nli(old, _eraser(old), "plain", "own"),
    ("densray", "occtmp"): lambda old: (
        _eraser(old) | {"dataset": old["task"].partition(":")[2], "metric": f"occtmp_{old['metric']}"} | _variant(old)
    ),
    ("densray", "association"): _association,
    ("densray", "gender_share"): _share,
    ("densray", "perplexity"): _perplexity,
    ("densray", "glue"): _glue,
    ("internal", "ceat"): _ceat,
    ("internal", "finetuning"): _facts,
    ("internal", "occupation"): _occupation,
    ("internal", "probe"): _probe,
}
_KINDS_OF_DENSRAY = {task for paper, task in _KINDS if paper == "densray"}


def _with_counts(table: pd.DataFrame, old: pd.DataFrame) -> pd.DataFrame:
    """n of perplexity (tokens), CEAT (draws) and occupation (people tested), which had rows of their own."""
    counts = old[old["metric"].isin(["tokens", "draws", "test_size"])]
    named = {"tokens": "perplexity", "draws": "effect_size", "test_size": "accuracy"}
    for row in counts.to_dict("records"):
        found = _row({**row, "metric": named[row["metric"]]})
        keys = [key for key in found if key not in ("metric", "variant", "value")]
        chosen = (table[keys] == pd.Series({key: found[key] for key in keys})).all(axis=1)
        chosen &= table["metric"].str.startswith("ceat_") == found["metric"].startswith("ceat_")
        if row["metric"] == "draws":
            chosen &= table["variant"] == found["variant"]
        absent = [key for key in ("task", "strategy", "seed", "head", "split_seed") if key not in found]
        chosen &= (table[absent] == NA).all(axis=1)
        chosen &= ~table["metric"].isin(["pseudo_perplexity"])
        table.loc[chosen, "n"] = row["value"]
    return table
