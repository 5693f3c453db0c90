"""Which rows of the one table of scores are the paper's, and what they are called."""

import pandas as pd
import pytest

from biasflow.papers.orgad2022.halves import OCCUPATION
from biasflow.papers.orgad2022.selection import select
from biasflow.results.scores import NA, concatenate
from tests.unit.papers.orgad2022.made_up import FIGURES, STRATEGIES, TABLES, run, scores

MODEL_TABLES = [name for name in TABLES if name not in ("table9", "table10", "gender_told", "data")]


@pytest.fixture(scope="module")
def tiny():
    return scores()


def others(frame):
    """Rows of other blocks and papers in the same table: other values under other keys."""
    changed = frame.assign(value=99.0)
    tuned, bare = changed[changed["task"] == "bios"], changed[(changed[["task", "strategy"]] == NA).all(axis=1)]
    return [
        changed.assign(method="leace"),
        changed.assign(method="dawkins2024", setting="layer-12 0,1,0"),
        tuned.assign(task="bios-bias0"),
        tuned[tuned["strategy"] == "plain"].assign(strategy="oversampling-keep"),
        tuned[tuned["strategy"] == "plain"].assign(strategy="with-leace", method="leace"),
        tuned[tuned["seed"] == "0"].assign(seed="99", split_seed="99"),
        tuned[tuned["head"] == "retrained"].assign(head="retrained-long"),
        bare[(bare["split_seed"] == "0") & (bare["head"] == NA)].assign(split_seed="99"),
        bare[bare["head"] == "frozen-plain"].assign(head="frozen-anon"),
        changed.assign(encoder="another"),
    ]


@pytest.mark.parametrize("name", MODEL_TABLES)
def test_rows_of_other_methods_tasks_strategies_seeds_and_heads_change_no_table(name, tiny):
    alone = TABLES[name](run(tiny))
    among = concatenate([tiny, *others(tiny)])
    pd.testing.assert_frame_equal(TABLES[name](run(among, encoders=["tiny"])), alone)


def test_methods_that_are_asked_for_are_models_of_their_own(tiny):
    """Also one whose name comes before that of the strategy that all are compared with."""
    own = tiny[(tiny["task"] == "bios") & (tiny["metric"] != "diverged")]
    after = own.assign(method="leace", value=own["value"] + 0.25)
    grid = own[own["strategy"] == "plain"].assign(method="grid", setting="layer-12 0,1", value=7.0)
    carried = own[own["strategy"] == "plain"].assign(strategy="with-hard", method="hard", value=own["value"] + 0.5)
    frame = concatenate([tiny, after, grid, carried])
    options = {"methods": ["none", "leace", "grid"], "strategies": [*STRATEGIES, "with-hard"]}
    table = TABLES["table3"](run(frame, **options))
    own = table[(table["encoder"] == "tiny") & (table["measure"] == "Accuracy")].set_index(["strategy", "setting"])
    names = [model for model, _ in own.index]
    assert names[:3] == ["none", "leace", "grid layer-12 0,1"] and names[-1] == "with-hard"
    assert names.count("scrubbing, leace") == 2 and not table.columns.duplicated().any()
    assert own.loc[("leace", "raw"), "change"] == pytest.approx(0.25)
    assert own.loc[("with-hard", "raw"), "change"] == pytest.approx(0.5)
    assert own.loc[("scrubbing, leace", "scrubbed"), "change"] == pytest.approx(3.25)
    models = select(run(frame, **options), OCCUPATION).models
    assert len(FIGURES["figure3"](run(frame, **options)).legends[0].get_texts()) == len(models)
