"""The workflow on the real StereoSet and a real-text encoder beside the mirror folder."""

import os
from pathlib import Path

import pandas as pd
import pytest

from tests.workflow.conftest import Project

DATA = os.environ.get("BIASFLOW_DATA")
ENCODER = Path(DATA or ".").parent / "models/litwiki-bert"

pytestmark = [
    pytest.mark.skipif(DATA is None, reason="BIASFLOW_DATA names no folder of real files"),
    pytest.mark.skipif(not (ENCODER / "config.json").is_file(), reason=f"no encoder in {ENCODER}"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    project = Project(tmp_path_factory.mktemp("real") / "biasflow")
    project.configure(
        {
            "run": "real",
            "device": "cpu",
            "mirror": str(Path(DATA).resolve()),
            "encoders": {
                "litwiki-bert": {"source": "local", "path": "{mirror}/../models/litwiki-bert"},
                "absent": {"source": "local", "path": "{mirror}/../models/absent", "optional": True},
            },
            "metrics": {"strength": {"stimuli": ["stereoset-authors", "stereoset-swapped"]}},
            "papers": {"dawkins2024": {"encoders": ["litwiki-bert", "absent"], "task": None}},
        }
    )
    done = project.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    return project.folder / "results/real"


def table(run: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(run / f"tables/dawkins2024_{name}.csv", keep_default_na=False)


def test_76_rows_for_each_set_of_stimuli_and_an_absent_encoder_is_said(run):
    rows = table(run, "table7")
    measured = rows[rows["encoder"] == "litwiki-bert"]
    assert measured.groupby("stimuli").size().to_dict() == {"stereoset-authors": 76, "stereoset-swapped": 76}
    assert (measured["status"] == "run").all()
    assert rows.loc[rows["encoder"] == "absent", "status"].str.startswith("not run").all()


def test_the_interventions_act_on_a_real_encoder(run):
    rows = table(run, "table7").query("encoder == 'litwiki-bert' and stimuli == 'stereoset-authors'")
    strength = rows.set_index(["level", "settings"])["strength"].astype(float)
    assert 0.05 < strength["base", ""] < 1
    assert strength["sent", "0"] < strength["base", ""]


def test_the_printed_examples_are_found_by_their_text(run):
    """Our swapper words two of them otherwise; the printed numbers are those of another encoder."""
    for name in ("table3", "table4"):
        found = table(run, name).query("chosen == 'printed'").groupby("stimuli")["example"].agg(set).to_dict()
        assert found == {"stereoset-authors": {"a", "b"}, "stereoset-swapped": {"a"}}
        assert (table(run, name)["p_published"] == "").all()


def test_what_the_authors_dropped_and_mended(run):
    changed = table(run, "table2").query("encoder == 'litwiki-bert'")
    assert changed["change"].value_counts().to_dict() == {"dropped": 24, "mended": 22}
    assert (changed["p_original"] != "").all()
    printed = changed[changed["example"] != ""]
    assert printed.groupby("example")["change"].agg(list).to_dict() == {"a": ["dropped"] * 3, "b": ["dropped"] * 3}


def test_the_two_sets_of_stimuli_rank_the_settings_alike(run):
    agreement = table(run, "rank_agreement").query("comparison == 'stimuli'")
    assert len(agreement) == 2
    assert (agreement["spearman"].astype(float) > 0.8).all()
