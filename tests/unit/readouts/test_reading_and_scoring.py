"""From a model to scores: the numbers of the first version, and those of a model that is hooked by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.encoders.edit import edited
from biasflow.encoders.load import load_encoder
from biasflow.methods.fitted import Active, Fitted, load, save
from biasflow.methods.grid import edits_of, setting_named
from biasflow.metrics import association, log_odds, occtmp, perplexity, pseudo_perplexity, similarity, stereoset
from biasflow.planted.world import load_world
from biasflow.readouts import likelihoods, losses, masked_words, next_sentence, sentence_vectors, vectors
from biasflow.readouts.files import METHOD, load_arrays
from biasflow.readouts.source import Source
from biasflow.results.matrix import matrix
from biasflow.results.scores import tidy
from tests.unit.readouts.conftest import OCCUPATIONS, ORDINARY, SETS, WORDS, fitted, save_model

MODEL = {"encoder": "tiny", "dataset": "mine"}
OWN = {"template": "[MASK] is a {occupation} .", "pronouns": ["he", "she is"]}
# How to read and score each readout, and what the first version measured of the same model under the same erasers.
CASES = {
    "next_sentence": (
        lambda source, path: next_sentence.read(source("mine", ["none", "dawkins2024"], stimuli="stimuli.csv"), path),
        lambda path: stereoset.score(path, tops=[0.4]),
        {
            ("none", "-", "distance", "top=40%", "-"): 0.1396183605873016,
            ("none", "-", "stereotype_score", "-", "both"): 0.3,
            ("none", "-", "language_model_score", "-", "both"): 0.15,
            ("dawkins2024", "sentence-debias", "distance", "top=40%", "-"): 0.2514936309749357,
            ("dawkins2024", "layer-12 0,1,0", "distance", "top=40%", "-"): 0.14467595309408982,
            ("dawkins2024", "layer-11+attention 1,0,1,1,1", "distance", "top=40%", "-"): 0.1275272639261681,
            ("dawkins2024", "layer-11+attention 1,0,1,1,1", "strength", "top=40%", "-"): 0.004709333798747828,
            ("dawkins2024", "layer-11+attention 1,0,1,1,1", "stereotype_score", "-", "both"): 0.2,
        },
    ),
    "hooked_next_sentence": (
        lambda source, path: next_sentence.read(source("mine", stimuli="stimuli.csv"), path),
        lambda path: stereoset.score(path, tops=[0.4]),
        {
            ("none", "-", "distance", "top=40%", "-"): 0.1396183605873016,
            ("hard", "-", "distance", "top=40%", "-"): 0.06736710804596296,
            ("densray", "-", "distance", "top=40%", "-"): 0.0330528809133967,
            ("densray-each", "layer[1]", "distance", "top=40%", "-"): 0.11634004525290509,
        },
    ),
    "masked_words": (
        lambda source, path: masked_words.read(source("mine", occupations="occupations.txt"), path, **OWN),
        occtmp.score,
        {
            ("none", "-", "occtmp_diff", "-", "-"): 4.291918405601064,
            ("none", "-", "occtmp_p_he", "-", "-"): 0.034955717942812756,
            ("hard", "-", "occtmp_diff_variance", "-", "-"): 0.13694268004614205,
            ("densray", "-", "occtmp_signed_diff", "-", "-"): 2.5705077315908236,
            ("densray", "-", "occtmp_p_she", "-", "-"): 0.0008947430396235476,
            ("densray", "-", "occtmp_p_sum", "-", "-"): 0.01240827631118933,
            ("densray-each", "layer[1]", "occtmp_diff", "-", "-"): 4.427613879988191,
            ("densray-each", "layer[1]", "occtmp_share_he", "-", "-"): 1.0,
        },
    ),
    "words": (
        lambda source, path: vectors.read(source("C6", test="words.json"), path),
        association.score,
        {
            ("none", "-", "weat_effect_size", "-", "target"): 0.7824247485026227,
            ("none", "-", "weat_p_value", "-", "target"): 1 / 6,
            ("hard", "-", "weat_effect_size", "-", "target"): 0.7121903468864235,
            ("densray", "-", "weat_effect_size", "-", "target"): 1.393776556748766,
            ("densray", "-", "weat_p_value", "-", "target"): 0.0,
            ("densray", "-", "weat_partitions", "-", "target"): 6.0,
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
            ("densray-each", "layer[1]", "seat_exact", "-", "mean"): 1.0,
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
        pseudo_perplexity.score,
        {
            ("none", "-", "pseudo_perplexity", "-", "-"): 164.33186212581322,
            ("hard", "-", "pseudo_perplexity", "-", "-"): 166.0273293785623,
            ("densray", "-", "pseudo_perplexity", "-", "-"): 161.9320095776894,
            ("densray-each", "layer[1]", "pseudo_perplexity", "-", "-"): 142.79999985279494,
        },
    ),
}


def own_list(folder, **sets: list[str]) -> str:
    """A user's list of words, in a file of the folder."""
    rows = [f"{role},{role.lower()},{word}" for role, words in sets.items() for word in words]
    (folder / "own.csv").write_text("\n".join(["role,set_name,word", *rows]))
    return "own.csv"


def values(table: pd.DataFrame) -> dict[tuple, float]:
    return table.set_index(["method", "setting", "metric", "part", "variant"])["value"].to_dict()


def test_own_words_are_scored_as_the_same_words_of_a_released_test(source, folder, tmp_path):
    """Whose targets and attributes paper A exchanges; beside them stands how many words are split."""
    sets = dict(zip("XYAB", (SETS[key] for key in ("attr1", "attr2", "targ1", "targ2")), strict=True))
    vectors.read(source("mine", own=own_list(folder, **sets)), tmp_path / "own")
    vectors.read(source("C6", test="words.json"), tmp_path / "released")
    own, released = (association.score(tmp_path / name) for name in ("own", "released"))
    split = own["metric"] == "weat_split_words"
    assert values(own[~split]) == values(released)
    assert own.loc[split, ["method", "value", "n"]].drop_duplicates("method")["value"].tolist() == [0.0] * len(ORDINARY)
    assert set(own.loc[split, "n"]) == {8}


def test_own_words_in_templates_are_scored_as_the_same_sentences(source, folder, tmp_path):
    sets = dict(zip("XYAB", SETS.values(), strict=True))
    templates = ["the {word} is here ."]
    asked = source("sent-mine", own=own_list(folder, **sets))
    vectors.read(asked, tmp_path / "own", sentence_pooling="mean", others=["cls"], templates=templates)
    vectors.read(source("mine", test="sentences.json"), tmp_path / "released", sentence_pooling="mean", others=["cls"])
    own, released = (association.score(tmp_path / name) for name in ("own", "released"))
    split = own["metric"] == "seat_split_words"
    assert values(own[~split]) == values(released) and split.sum() == len(own[METHOD].drop_duplicates())


def test_a_word_of_several_pieces_is_counted(source, tmp_path):
    folder = tmp_path / "pieces"
    folder.mkdir()
    words = ["nurse", "may", "##be", "chef", "judge", "man", "king", "woman", "queen", "is", "."]
    asked = replace(source("mine", ["none"]), model_folder=save_model(folder, words))
    own = own_list(folder, X=["nurse", "maybe"], Y=["chef", "judge"], A=["man", "king"], B=["woman", "queen"])
    vectors.read(replace(asked, data={"own": (folder / own,)}), tmp_path / "own")
    found = association.score(tmp_path / "own").set_index("metric").loc["weat_split_words"]
    assert (found["value"], found["n"]) == (1, 8)


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


def test_counts_are_those_of_the_first_version(source, tmp_path):
    read, score, _ = CASES["losses"]
    read(source, tmp_path / "losses")
    table = score(tmp_path / "losses")
    assert table.groupby("readout_seed")["n"].unique().map(list).to_dict() == {1: [17], 2: [22]}


@pytest.mark.parametrize("method", ORDINARY)
def test_next_sentence_probabilities_are_those_of_the_model_hooked_by_hand(method, source, folder, tmp_path):
    one = source("mine", stimuli="stimuli.csv")
    next_sentence.read(one, tmp_path / "p.parquet", batch_size=7)
    table = pd.read_parquet(tmp_path / "p.parquet")
    assert list(table.columns) == ["method", "setting", "triple", "label", "swapped", "truncated", "p"]
    model, tokenizer = load_encoder(folder / "model", head="next_sentence")
    for active in load(one.methods_file, [method]).every_setting():
        rows = table[(table["method"] == active.method) & (table["setting"] == active.setting)]
        row = rows[(rows["triple"] == "pilot") & (rows["label"] == "unrelated") & rows["swapped"]]
        pair = tokenizer("the man is a pilot .", "he is late .", return_tensors="pt")
        with torch.inference_mode(), edited(model, active.edits):
            logits = model(**pair).logits[0]
        assert row["p"].item() == pytest.approx(logits.softmax(0)[0].item(), abs=1e-6)


def test_pairs_that_are_too_long_are_cut_counted_and_told(source, folder, tmp_path, caplog):
    table = pd.read_csv(folder / "stimuli.csv")
    table.loc[:2, "context"] = " ".join(["the woman is kind"] * 12)
    table.to_csv(folder / "long.csv", index=False)
    facts = next_sentence.read(source("mine", stimuli="long.csv"), tmp_path / "p.parquet")
    assert (facts["truncated"], facts["texts"]) == (3, 2 * len(table)) and "3 of 30 texts are longer" in caplog.text
    cut = pd.read_parquet(tmp_path / "p.parquet").query("truncated")
    assert set(cut["triple"]) == {"nurse"} and not cut["swapped"].any()
    rows = stereoset.score(tmp_path / "p.parquet").query("metric == 'truncated'")
    assert set(rows["value"]) == {3} and set(rows["n"]) == {30} and len(tidy(rows, **MODEL)) == len(rows)


@pytest.mark.parametrize("method", ORDINARY)
def test_masked_words_are_those_of_the_model_hooked_by_hand(method, source, folder, tmp_path):
    one = source("mine", occupations="occupations.txt")
    own = {"template": "[MASK] is a {occupation} .", "pronouns": ["he", "she"]}
    masked_words.read(one, tmp_path / "p.parquet", **own)
    table = pd.read_parquet(tmp_path / "p.parquet")
    assert list(table.columns) == ["method", "setting", "item", "sentence", "word", "gender", "pieces", "log_p"]
    assert dict(zip(table["word"], table["gender"], strict=True)) == {"he": "masculine", "she": "feminine"}
    model, tokenizer = load_encoder(folder / "model", head="masked_lm")
    batch = tokenizer("[MASK] is a judge .", return_tensors="pt")
    for active in load(one.methods_file, [method]).every_setting():
        rows = table[(table["method"] == active.method) & (table["setting"] == active.setting)]
        with torch.inference_mode(), edited(model, active.edits):
            log_p = model(**batch).logits[0, 1].log_softmax(0)[tokenizer.convert_tokens_to_ids(["he", "she"])]
        assert rows[rows["item"] == "judge"]["log_p"].to_numpy() == pytest.approx(log_p.numpy(), abs=1e-5)


def test_log_odds_of_the_planted_occupations(folder, tmp_path):
    occupations = load_world().occupations
    words = [*WORDS, *(word for name in occupations for word in name.lower().split())]
    save_model(tmp_path / "model", list(dict.fromkeys(words)))
    source = Source(tmp_path / "model", ("none", "hard"), "planted-occupations", {}, folder / "methods.safetensors")
    masked_words.read(source, tmp_path / "p.parquet")
    table = pd.read_parquet(tmp_path / "p.parquet").query("method == 'hard'")
    he, she = (table[table["word"] == word].set_index("item")["log_p"] for word in ("he", "she"))
    found = log_odds.score(tmp_path / "p.parquet").set_index(["method", "metric"])
    shares = np.array([load_world().shares[name] for name in he.index])
    expected = np.corrcoef(she - he, np.log(shares / (1 - shares)))[0, 1]
    assert found.loc[("hard", "log_odds_r"), "value"] == pytest.approx(expected)
    assert (found["n"] == len(occupations)).all() and list(he.index) == list(occupations)
    assert found.loc[("none", "log_odds_slope"), "value"] != found.loc[("hard", "log_odds_slope"), "value"]


def test_a_page_of_sentences_can_be_made_of_what_was_read(source, tmp_path):
    likelihoods.read(source("mine", ["none"], text="text.txt"), tmp_path / "p.parquet", pseudo_sentences=3)
    table = pd.read_parquet(tmp_path / "p.parquet")
    assert table["sentence"].tolist() == [0, 1, 2]
    assert (table["text"].str.split().str.len() == table["tokens"]).all()
    masked_words.read(source("mine", ["none"], occupations="occupations.txt"), tmp_path / "q.parquet", **OWN)
    table = pd.read_parquet(tmp_path / "q.parquet")
    assert table["sentence"].tolist() == 2 * [f"[MASK] is a {name} ." for name in OCCUPATIONS]


def test_a_reader_without_a_method_is_an_error(source, tmp_path):
    with pytest.raises(BiasflowError, match="no method"):
        likelihoods.read(source("mine", [], text="text.txt"), tmp_path / "p.parquet", pseudo_sentences=3)
    with pytest.raises(BiasflowError, match="leace"):
        likelihoods.read(source("mine", ["leace"], text="text.txt"), tmp_path / "p.parquet", pseudo_sentences=3)


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
        assert both.loc[(both["variant"] == pooling) & (both["part"] == part), "value"].tolist() == expected[pooling]
    scores = tidy(both, **MODEL)
    cell = dict.fromkeys(["task", "strategy", "seed"], "-") | {"method": "none", "metric": "seat", "reason": ""}
    plan = pd.DataFrame([{**MODEL, **cell, "status": "run"}])
    shown = matrix(scores, plan).set_index(["method", "setting"])["value"]
    own = scores[(scores["metric"] == "seat_effect_size") & (scores["variant"] == "mean")]
    assert shown.to_dict() == own.set_index(["method", "setting"])["value"].to_dict()
