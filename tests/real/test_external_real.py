"""Any system's clusters on WinoBias: a perfect system, from CoNLL files to scores."""

from pathlib import Path

import pytest

from biasflow.base.errors import AbsentError
from biasflow.metrics import coreference, winobias
from biasflow.readouts.predicted_clusters import read
from biasflow.tasks.coreference.pairs import SIDES, prepare
from biasflow.tasks.coreference.plan import WINOBIAS
from tests.real.files import DATA, needs_data

pytestmark = needs_data


@pytest.fixture(scope="module")
def files():
    """Side -> its files as released."""
    folder = DATA / "winobias"
    return {
        side: [folder / f"{file['part']}_{file['type']}_{side}_stereotype.v4_auto_conll" for file in WINOBIAS]
        for side in SIDES
    }


@pytest.fixture(scope="module")
def data(files, tmp_path_factory):
    """The data of a task: pairs of WinoBias, and OntoGUM's test part."""
    folder = tmp_path_factory.mktemp("data")
    made = {side: folder / f"{side}.conll" for side in SIDES} | {"pairs": folder / "pairs.csv"}
    prepare(files, made | {"pairs_baseline": folder / "baseline.csv"}, planted=None, files=WINOBIAS)
    return made | {"test": DATA / "ontogum/test.v4_gold_conll"}


@pytest.fixture
def scores(data, tmp_path):
    """Files of predictions -> (metric, part, variant) -> value."""

    def scores(*given: Path) -> dict[tuple[str, str, str], float]:
        facts = read(given, {text: (path,) for text, path in data.items()}, tmp_path / "coref.parquet")
        assert facts["documents"] == {"pro": 1584, "anti": 1584}
        rows = winobias.score(tmp_path / "coref.parquet", **{role: data[role] for role in (*SIDES, "pairs")})
        with pytest.raises(AbsentError, match="test"):
            coreference.score(tmp_path / "coref.parquet", test=data["test"])
        assert (rows[["method", "head", "head_seed"]] == ["none", "own", "-"]).all(axis=None)
        return rows.set_index(["metric", "part", "variant"])["value"].to_dict()

    return scores


def test_the_gold_clusters_are_a_perfect_system(scores, files):
    found = scores(*(path for paths in files.values() for path in paths))
    assert [found["f1_difference", part, "-"] for part in ("all", "type1", "type2")] == [0, 0, 0]
    for side in SIDES:
        assert found["conll_f1", side, "-"] == 1
        assert found["pronoun_accuracy", "right", side] == 1
        assert found["pronoun_accuracy", "none", side] == 0
    assert found["accuracy", "-", "tokens"] == 1
    assert found["tpr_gap_sum", "-", "tokens"] == 0
