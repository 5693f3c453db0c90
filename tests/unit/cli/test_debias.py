"""The command that writes a debiased model: of which run, which encoder, which method."""

from pathlib import Path

import pandas as pd
import pytest
import torch
from transformers import AutoModelForMaskedLM, BertConfig, BertForMaskedLM

from biasflow.base.files import sha256
from biasflow.base.tabular import write_csv
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.results.scores import write_scores
from tests.unit.cli.test_asking import fault, said
from tests.unit.conftest import SIZES, random_eraser, save_random
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.overview import made_up

RUN = made_up.run()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A model, and a run that has fitted methods to it."""
    monkeypatch.chdir(tmp_path)
    model = save_random(Path("bert"), lambda: BertForMaskedLM(BertConfig(**SIZES)), word_tokenizer(["she", "nurse"]))
    run = Path("results/mine")
    Path(run / "provenance").mkdir(parents=True)
    write_csv(RUN[0].assign(verdict="", less_evidence="no", disputed=""), run / "matrix.csv")
    about = {"encoder": ["bert"], "sha256": [sha256(model / "model.safetensors")]}
    write_csv(pd.DataFrame(about), run / "encoders.csv")
    write_csv(
        pd.DataFrame({"name": ["bert"], "kind": "encoder", "attribute": "path", "value": "bert"}), run / "names.csv"
    )
    write_scores(RUN[2], run / "scores.csv")
    torch.manual_seed(0)
    eraser, places = random_eraser(2, SIZES["hidden_size"]), {"zeta": "layer[2]", "alpha": "layer[0]"}
    methods = {name: (Active(name, edits=((place, eraser),)),) for name, place in places.items()}
    specifications = {name: [{"eraser": "leace", "places": place}] for name, place in places.items()}
    (run / "methods/bert/pretrained").mkdir(parents=True)
    save(Fitted(methods, specifications), run / "methods/bert/pretrained/inside.safetensors")
    return model


def test_the_method_of_a_run_is_written_into_the_model_that_it_measured(folder):
    done = said("debias", "bert", "--method", "zeta", "--to", "new")
    assert "new is written" in done and "biasflow measure new --run new" in done
    changed = AutoModelForMaskedLM.from_pretrained("new").state_dict()
    before = AutoModelForMaskedLM.from_pretrained("bert").state_dict()
    different = [name for name in before if not torch.equal(before[name], changed[name])]
    assert different == [f"cls.predictions.transform.dense.{part}" for part in ("weight", "bias")][: len(different)]
    assert different and "# new with zeta" in Path("new/README.md").read_text()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["bert", "--method", "zet", "--to", "new"], "did you mean 'zeta'"),
        (["bert", "--method", "alpha", "--to", "new"], "layer[0] cannot be written"),
        (["bert", "--method", "zeta", "--to", "bert"], "bert is there already"),
        (["results", "--method", "zeta", "--to", "new"], "results is no folder of a model"),
        (["bert", "--method", "zeta", "--to", "new", "--run", "mind"], "did you mean 'mine'"),
    ],
)
def test_what_does_not_fit_is_one_line_and_nothing_is_written(folder, words, why):
    assert why in fault("debias", *words)
    assert not Path("new").exists()


def test_a_model_that_the_run_did_not_measure_is_refused(folder):
    save_random(Path("other"), lambda: BertForMaskedLM(BertConfig(**SIZES, type_vocab_size=1)), word_tokenizer(["she"]))
    assert "has no encoder with the weights of other" in fault("debias", "other", "--method", "zeta", "--to", "new")
