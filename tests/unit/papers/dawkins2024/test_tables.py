"""Whether ranks depend on a choice, and how much variance the subspaces explain."""

import numpy as np
import pandas as pd
import pytest

from biasflow.papers.dawkins2024.tables import rank_agreement, subspaces
from biasflow.papers.dawkins2024.targets import TABLES
from tests.unit.papers.dawkins2024.made_up import AUTHORS, GRID, NO_HEAD, NOTHING, inside_scores, run_of, stimuli


def test_rank_agreement_compares_shares_and_stimuli():
    table = rank_agreement(run_of(inside_scores(encoders=("tiny", "small"), sets=("planted", "authors"))))
    counts = table.groupby(["encoder", "metric", "comparison"]).size().to_dict()
    assert counts == {(e, m, c): n for e in ("tiny", "small") for m in ("strength", "distance") for c, n in
                      (("share", 12), ("stimuli", 1))}  # fmt: skip
    assert set(table["n"]) == {76}
    assert table.query("comparison == 'stimuli'")[["a", "b"]].drop_duplicates().values.tolist() == [
        ["authors", "planted"]
    ]
    assert table.query("comparison == 'share'")["a"].iloc[0] == "top=5%"
    assert (table["low"] <= table["spearman"]).all() and (table["spearman"] <= table["high"]).all()


def test_equal_ranks_get_their_verdict():
    frame = inside_scores()
    ten = frame[frame["part"] == "top=10%"]
    same = pd.concat([frame[frame["part"] != "top=5%"], ten.assign(part="top=5%", value=ten["value"] ** 3)])
    table = rank_agreement(run_of(same)).set_index(["metric", "a", "b"])
    assert table.loc[("strength", "top=5%", "top=10%"), "verdict"] == "ranks unchanged"
    assert table.loc[("strength", "top=5%", "top=10%"), "spearman"] == pytest.approx(1)
    changed, pairs = table.loc[("distance", "top=10%", "top=100%"), "verdict"].split(" ")[:3:2]
    assert 0 < int(changed) < int(pairs) == 76 * 75 // 2


def test_no_grid_no_ranks():
    assert rank_agreement(run_of(NOTHING, not_run=NO_HEAD)).empty


def test_subspaces_on_the_plain_model_with_their_sentence_pairs(tmp_path):
    rows = [("sentence-debias", "plain", "", 0, 0.7), ("query", "plain", "0", 0, 0.4), ("query", "plain", "1", 0, 0.6)]
    rows.append(("query", "before00", "0", 0, 0.1))
    columns = ["subspace", "upstream", "head", "component", "explained_variance"]
    variance = pd.DataFrame(rows, columns=columns)
    other = variance.assign(method="other", explained_variance=0.0)
    both = pd.concat([variance.assign(method=GRID), other])
    both.to_csv(tmp_path / "variance.csv", index=False)
    pairs = {"set": ["interventions"] * 3 + ["sentence-debias"], "kept": [True, True, False, True]}
    pd.DataFrame(pairs).to_csv(tmp_path / "pairs.csv", index=False)
    files = {
        "explained_variance": {"tiny": tmp_path / "variance.csv"},
        "sentence_pairs": {"tiny": tmp_path / "pairs.csv"},
    }
    table = subspaces(run_of(NOTHING, encoders=["tiny"], not_run=NO_HEAD, files=files)).set_index("subspace")
    heads = table.loc["query"]
    assert (heads["mean"], heads["low"], heads["high"], heads["heads"]) == (pytest.approx(0.5), 0.4, 0.6, 2)
    assert (heads["pairs_used"], heads["pairs"]) == (2, 3)
    assert (table.loc["sentence-debias", "pairs_used"], table.loc["sentence-debias", "status"]) == (1, "run")
    assert "no NSP head" in table.iloc[-1]["status"] and np.isnan(table.iloc[-1]["mean"])


def test_the_development_and_the_test_file_stand_side_by_side(tmp_path):
    names = (AUTHORS, f"{AUTHORS}-test")
    files = {"stimuli": {}, "next_sentence": {}}
    for name, triples in zip(names, (["1", "2", "3"], ["4", "5", "6"]), strict=True):
        files["stimuli"][name], files["next_sentence"][f"tiny/{name}"] = tmp_path / name, tmp_path / f"{name}.parquet"
        own = stimuli(triples)
        own.to_csv(tmp_path / name, index=False)
        read = own[["triple", "label"]].merge(pd.DataFrame({"swapped": [False, True]}), how="cross")
        read = read.assign(p=np.linspace(0.1, 0.9, len(read)), method="none", setting="-")
        read.to_parquet(tmp_path / f"{name}.parquet")
    run = run_of(inside_scores(sets=names), files=files)
    for table in ("table3", "table4", "table7"):
        assert TABLES[table](run)["stimuli"].unique().tolist() == list(names)
    ranks = rank_agreement(run).query("comparison == 'stimuli'")
    assert ranks[["a", "b"]].drop_duplicates().values.tolist() == [list(names)]
