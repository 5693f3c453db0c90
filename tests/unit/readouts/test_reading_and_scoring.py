"""From a model to scores: the numbers of the first version, and which methods and poolings are scored."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.methods.grid import edits_of, setting_named
from biasflow.metrics import association, occtmp, perplexity, similarity, stereoset
from biasflow.readouts import likelihoods, losses, masked_words, next_sentence, sentence_vectors, vectors
from biasflow.readouts.files import load_arrays
from biasflow.readouts.source import Source
from biasflow.results.matrix import matrix
from biasflow.results.scores import tidy
from tests.unit.readouts.conftest import fitted

MODEL = {"encoder": "tiny", "dataset": "mine"}
OWN = {"template": "[MASK] is a {occupation} .", "pronouns": ["he", "she is"]}
# How to read and score each readout.
CASES = {
    "next_sentence": (
        lambda source, path: next_sentence.read(source("mine", ["none", "dawkins2024"], stimuli="stimuli.csv"), path),
        lambda path: stereoset.score(path, tops=[0.4]),
    ),
    "masked_words": (
        lambda source, path: masked_words.read(source("mine", occupations="occupations.txt"), path, **OWN),
        occtmp.score,
    ),
    "words": (
        lambda source, path: vectors.read(source("C6", test="words.json"), path),
        association.score,
    ),
    "sentences": (
        lambda source, path: vectors.read(source("mine", test="sentences.json"), path, sentence_pooling="mean"),
        association.score,
    ),
    "losses": (
        lambda source, path: losses.read(
            source("mine", text="text.txt"), path, mask_seeds=[1, 2], max_length=12, batch_size=3
        ),
        perplexity.score,
    ),
    "likelihoods": (
        lambda source, path: likelihoods.read(source("mine", text="text.txt"), path, pseudo_sentences=7),
        perplexity.score_pseudo_perplexity,
    ),
}


# What the first version measured of the same model under the same erasers.
FIRST = pd.read_csv(Path(__file__).parents[2] / "golden/readouts.csv", dtype={"readout_seed": str})


@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_the_first_version(case, source, tmp_path):
    read, score = CASES[case]
    facts = read(source, tmp_path / "readout")
    keys = ["method", "setting", "readout_seed", "metric", "part", "variant"]
    found, expected = (table.set_index(keys) for table in (tidy(score(tmp_path / "readout"), **MODEL), FIRST))
    expected = expected.loc[expected["case"] == case, "value"]
    assert found["value"].loc[expected.index].tolist() == pytest.approx(expected.tolist(), rel=1e-4)
    assert (found["n"] > 0).all()
    assert facts["device"] == "cpu"
    assert all(row["calls"] > 0 and row["mean_change"] > 0 and "residual" in row for row in facts["edits"])
    edits = {"next_sentence": 4 + 1 + 8 + 36 + 73}.get(case, 1 + 3 + 3)
    assert len(facts["edits"]) == edits


def test_sentences_under_a_method_are_compared_with_the_untouched_model_though_nobody_asked_for_it(source, tmp_path):
    sentence_vectors.read(source("mine", ["hard"], text="text.txt"), tmp_path / "one", sentences=9)
    sentence_vectors.read(source("mine", ["hard", "none"], text="text.txt"), tmp_path / "two", sentences=9)
    one, two = (similarity.score(tmp_path / name).set_index(["method", "metric"]) for name in ("one", "two"))
    assert load_arrays(tmp_path / "one").axis == (("none", "-"), ("hard", "-"))
    pd.testing.assert_frame_equal(one, two.loc[one.index])
    assert one.loc[("none", "similarity_kept"), "value"] == pytest.approx(1)
    assert one.loc[("hard", "similarity_kept"), "value"] < 1 and one.loc[("hard", "vector_change"), "value"] > 0


@pytest.mark.parametrize("name", ["vectors", "masked_words"])
def test_settings_that_reach_no_word_are_named_and_what_follows_the_words_is_left_out(name, folder, tmp_path):
    """Neither the sentence vector nor the last layer's first token is a word's; the layer before the last is."""
    methods = fitted()
    grid = methods.methods["dawkins2024"]
    paths = {}
    for setting in ("layer-11 0,1,1,0,1", "layer-12 0,1,0"):
        chosen = replace(grid, settings=(setting_named(setting),))
        paths[setting] = tmp_path / f"{setting}.safetensors"
        save(Fitted({"dawkins2024": chosen}, methods.specifications), paths[setting])
    before = edits_of(setting_named("layer-11 0,1,1,0,1"), grid.subspaces)
    active = Active("before", edits=tuple(edit for edit in before if edit[0] == "layer[-2]"))
    save(Fitted({"before": (active,)}, {"before": []}), tmp_path / "before.safetensors")

    def read(method, path):
        data = {"test": (folder / "words.json",), "occupations": (folder / "occupations.txt",)}
        if name == "vectors":
            vectors.read(Source(folder / "model", (method,), "C6", data, path), tmp_path / "out")
            return load_arrays(tmp_path / "out").arrays["X"]
        masked_words.read(Source(folder / "model", (method,), "mine", data, path), tmp_path / "out", **OWN)
        return pd.read_parquet(tmp_path / "out")["log_p"].to_numpy()

    found = read("dawkins2024", paths["layer-11 0,1,1,0,1"])
    assert np.array_equal(found, read("before", tmp_path / "before.safetensors"))
    with pytest.raises(BiasflowError, match="layer-12 0,1,0"):
        read("dawkins2024", paths["layer-12 0,1,0"])


def test_both_poolings_of_a_sentence_are_scored_and_the_matrix_shows_the_encoders_own(source, tmp_path):
    sentences = source("mine", test="sentences.json")
    expected = {}
    for pooling in ("cls", "mean"):
        vectors.read(sentences, tmp_path / pooling, sentence_pooling=pooling)
        expected[pooling] = association.score(tmp_path / pooling)["value"].tolist()
    vectors.read(sentences, tmp_path / "both", sentence_pooling="mean", others=["cls"])
    both = association.score(tmp_path / "both")
    for pooling, part in (("mean", "-"), ("cls", association.OTHER)):
        assert both.loc[(both["variant"] == pooling) & (both["part"] == part), "value"].tolist() == pytest.approx(
            expected[pooling], rel=1e-5
        )
    scores = tidy(both, **MODEL)
    cell = dict.fromkeys(["task", "strategy", "seed"], "-") | {"method": "none", "metric": "seat", "reason": ""}
    plan = pd.DataFrame([{**MODEL, **cell, "status": "run"}])
    shown = matrix(scores, plan).set_index(["method", "setting"])["value"]
    own = scores[(scores["metric"] == "seat_effect_size") & (scores["variant"] == "mean")]
    assert shown.to_dict() == own.set_index(["method", "setting"])["value"].to_dict()
