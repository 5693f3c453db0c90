"""From a model to scores: the numbers of the first version, and those of a model that is hooked by hand."""

from dataclasses import replace

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
# How to read and score each readout, and what the first version measured of the same model under the same erasers.
CASES = {
    "next_sentence": (
        lambda source, path: next_sentence.read(source("mine", ["none", "dawkins2024"], stimuli="stimuli.csv"), path),
        lambda path: stereoset.score(path, tops=[0.4]),
        {
            ("none", "-", "stereotype_score", "-", "both"): 0.3,
            ("dawkins2024", "sentence-debias", "distance", "top=40%", "-"): 0.2514936309749357,
            ("dawkins2024", "layer-11+attention 1,0,1,1,1", "distance", "top=40%", "-"): 0.1275272639261681,
            ("dawkins2024", "layer-11+attention 1,0,1,1,1", "strength", "top=40%", "-"): 0.004709333798747828,
        },
    ),
    "masked_words": (
        lambda source, path: masked_words.read(source("mine", occupations="occupations.txt"), path, **OWN),
        occtmp.score,
        {
            ("none", "-", "occtmp_diff", "-", "-"): 4.291918405601064,
            ("hard", "-", "occtmp_diff_variance", "-", "-"): 0.13694268004614205,
            ("densray", "-", "occtmp_signed_diff", "-", "-"): 2.5705077315908236,
            ("densray", "-", "occtmp_p_sum", "-", "-"): 0.01240827631118933,
            ("densray-each", "layer[1]", "occtmp_diff", "-", "-"): 4.427613879988191,
        },
    ),
    "words": (
        lambda source, path: vectors.read(source("C6", test="words.json"), path),
        association.score,
        {
            ("none", "-", "weat_effect_size", "-", "target"): 0.7824247485026227,
            ("densray", "-", "weat_effect_size", "-", "target"): 1.393776556748766,
            ("densray", "-", "weat_p_value", "-", "target"): 0.0,
            ("densray-each", "layer[1]", "weat_effect_size", "-", "target"): 0.8664569924675434,
        },
    ),
    "sentences": (
        lambda source, path: vectors.read(source("mine", test="sentences.json"), path, sentence_pooling="mean"),
        association.score,
        {
            ("none", "-", "seat_effect_size", "-", "mean"): 1.237336564231999,
            ("densray", "-", "seat_effect_size", "-", "mean"): 1.5010220448910578,
            ("densray", "-", "seat_p_value", "-", "mean"): 1 / 6,
            ("densray-each", "layer[1]", "seat_effect_size", "-", "mean"): 1.1513424978656994,
        },
    ),
    "losses": (
        lambda source, path: losses.read(
            source("mine", text="text.txt"), path, mask_seeds=[1, 2], max_length=12, batch_size=3
        ),
        perplexity.score,
        {
            ("none", "-", "1", "perplexity", "-", "-"): 110.28349400769133,
            ("none", "-", "1", "perplexity", "-", "released"): 123.64923534455824,
            ("hard", "-", "2", "perplexity", "-", "released"): 105.015711298079,
            ("densray", "-", "1", "perplexity", "-", "-"): 149.38089168341855,
            ("densray-each", "layer[1]", "2", "perplexity", "-", "-"): 98.6956283744808,
        },
    ),
    "likelihoods": (
        lambda source, path: likelihoods.read(source("mine", text="text.txt"), path, pseudo_sentences=7),
        perplexity.score_pseudo_perplexity,
        {
            ("none", "-", "pseudo_perplexity", "-", "-"): 164.33186212581322,
            ("densray", "-", "pseudo_perplexity", "-", "-"): 161.9320095776894,
            ("densray-each", "layer[1]", "pseudo_perplexity", "-", "-"): 142.79999985279494,
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_the_first_version(case, source, tmp_path):
    read, score, expected = CASES[case]
    facts = read(source, tmp_path / "readout")
    keys = ["method", "setting", *(["readout_seed"] if case == "losses" else []), "metric", "part", "variant"]
    found = tidy(score(tmp_path / "readout"), **MODEL).set_index(keys)
    assert found.loc[list(expected), "value"].tolist() == pytest.approx(list(expected.values()), rel=1e-4)
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
