"""Where encoders come from, what is not run and why, and which external files a run reads."""

from pathlib import Path

import pytest

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.corpora.catalogue import files_of_run, read_catalogue
from scripts.biasflow.plan import sources
from scripts.biasflow.plan.configuration import load_schema, resolve

SCHEMA = load_schema(Path(__file__).parents[3] / "config/schema/config.schema.yaml")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "models" / "own"
    folder.mkdir(parents=True)
    for name in ("model.safetensors", "config.json", "vocab.txt", "README.md", "pytorch_model.bin"):
        (folder / name).touch()
    (tmp_path / "data").mkdir()
    return folder


def config(path: str, mirror=None, **keys) -> dict:
    encoder = {"source": "local", "path": path, "optional": False, "next_sentence": True, **keys}
    return {"mirror": mirror, "encoders": {"own": encoder}, "projective": {"encoders": ["own"], "stimuli": ["planted"]}}


def test_the_files_of_a_local_encoder(folder):
    files = sources.local_files({"path": str(folder)}, None)
    assert files == [f"{folder}/{name}" for name in ("config.json", "model.safetensors", "vocab.txt")]


def test_a_path_may_lie_beside_the_mirror(folder):
    mirror = str(folder.parents[1] / "data")
    assert sources.not_run(config("{mirror}/../models/own", mirror)) == {}
    assert sources.local_files({"path": "{mirror}/../models/own"}, mirror)[0].endswith("models/own/config.json")


@pytest.mark.parametrize(
    ("path", "mirror", "named"), [("{mirror}/x", None, "mirror"), ("/nowhere/x", None, "/nowhere/x")]
)
def test_a_missing_folder_is_an_error_or_a_reason(path, mirror, named):
    with pytest.raises(BiasflowError, match=f"encoders.own.path.*{named}"):
        sources.not_run(config(path, mirror))
    assert named in sources.not_run(config(path, mirror, optional=True))["own"]


def test_an_encoder_without_next_sentence_head_is_said(folder):
    assert sources.without_next_sentence(config(str(folder))) == {}
    assert "own" in sources.without_next_sentence(config(str(folder), next_sentence=False))


def test_one_encoder_per_bias_and_seed():
    calibration = {"encoder": {"corpus": "planted", "steps": 3}, "bias": [0.0, 0.5], "seeds": [1, 2]}
    encoders = sources.calibration_encoders({"calibration": calibration})
    assert list(encoders) == [f"planted-bias{bias}-seed{seed}" for bias in ("0", "0.5") for seed in (1, 2)]
    assert encoders["planted-bias0.5-seed2"] == {
        "corpus": "planted", "steps": 3, "source": "pretrain", "bias": 0.5, "seed": 2,
    }  # fmt: skip
    assert sources.calibration_encoders({}) == {}


def resolved(**keys) -> dict:
    own = {"source": "pretrain", "corpus": "planted"}
    return resolve({"run": "r", "encoders": {"own": own}, "projective": {"encoders": ["own"]}, **keys}, SCHEMA)


def test_the_external_files_of_a_run():
    assert files_of_run(resolved()) == []
    encoders = {"own": {"source": "pretrain", "corpus": "wikitext-2"}}
    stimuli = {"encoders": ["own"], "stimuli": ["stereoset-authors", "stereoset-swapped"]}
    files = files_of_run(resolved(encoders=encoders, projective=stimuli))
    assert files == ["gender-swapped-dev", "stereoset-dev", "wikitext-2-train"]
    assert set(files) <= set(read_catalogue().files)


def test_the_external_files_of_the_downstream_task():
    data = {"train": ["snli-train", "multinli-train"], "test": ["mine.jsonl"]}
    run = resolved(nli={"encoders": ["own"], "data": data, "occupations": "dev2020"})
    files = files_of_run(run)
    assert {"snli-train", "multinli-train", "dev2020-occupations", "dev2020-rulers"} <= set(files)
    assert "snli-validation" not in files


def test_the_external_files_of_paper_a():
    run = resolved(
        densray={
            "encoders": ["own"],
            "contexts": {"words": "family", "text": "wikitext-2"},
            "occtmp": ["professions", "professions-article"],
            "association": ["C6", "sent-weat8b", "planted"],
            "perplexity": {"text": "wikitext-2"},
            "glue": {"tasks": ["cola", "mnli", "planted-nli"]},
        }
    )
    lists = {"google-analogies", "professions", "weat6", "sent-weat8b"}
    texts = {"wikitext-2-train", "wikitext-2-test"}
    cola = {"glue-cola-train", "glue-cola-train-rest", "glue-cola-validation"}
    mnli = {"glue-mnli-train", "glue-mnli-validation-matched"}
    assert set(files_of_run(run)) == lists | texts | cola | mnli


def test_measures_that_a_run_of_paper_a_does_not_have():
    reasons = sources.measures_not_run(resolved(densray={"encoders": ["own"], "association": ["C6"]}))
    assert {"chinese", "seat", "glue"} <= set(reasons) and not {"occtmp", "weat"} & set(reasons)
