"""Fitting the methods of a block: what is read, where, in which order, and why on the model that is edited."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.encoders.edit import edited
from biasflow.erasers import densray, hard, leace, pca, random, splince
from biasflow.methods.fitted import load, save
from biasflow.methods.fitting import balanced_rows, fit_block, permuted_within
from biasflow.methods.grid import all_settings, edits_of
from biasflow.methods.occurrences import find_occurrences
from biasflow.methods.states import WordStates, pair_states
from biasflow.plan.methods import SHARED_DRAWS, with_variants
from biasflow.registry import ERASERS, module_of
from tests.unit.conftest import HEADS, HIDDEN, MODELS, random_batch
from tests.unit.fake_tokenizer import word_tokenizer

VOCABULARY = (
    "the man woman king queen is here he she went home father mother cooked played ball dinner rain fell grand ##son"
)
WORDS = ("he", "king", "father"), ("she", "queen", "mother")
SENTENCES = ["he is the king", "the queen went home", "she is here", "rain fell", "mother fell", "father fell"] * 3
PAIRS = pd.DataFrame(
    [
        ("the man is here", "the woman is here"),
        ("he went home", "she went home"),
        ("the king went home", "the queen went home"),
        ("father is here", "mother is here"),
        ("the grandson is here", "the woman is here"),
    ],
    columns=["masculine", "feminine"],
)
TASK = {"last.cls": (torch.randn(9, HIDDEN), torch.arange(9) % 2)}
GIVEN = {
    "sentences": SENTENCES,
    "words": WORDS,
    "n": 8,
    "sentence_pairs": {"interventions": PAIRS, "sentence-debias": PAIRS.iloc[1:3]},
    "batch_size": 3,
}


def at(places, eraser="densray", **keys):
    return {"eraser": eraser, "module": module_of(ERASERS[eraser]), "places": places, **keys}


def grid(**keys):
    return {"grid": "dawkins2024", "eraser": "pca", "module": module_of(ERASERS["pca"]), **keys}


@pytest.fixture
def tokenizer():
    return word_tokenizer(VOCABULARY.split())


def fit(model, tokenizer, methods, **given):
    return fit_block(model, tokenizer, methods, **(GIVEN | given))


def erasers_of(fitted, method, setting="-"):
    return {
        place: eraser
        for each in fitted.every_setting()
        if (each.method, each.setting) == (method, setting)
        for place, eraser in each.edits
    }


def states_of_words(model, tokenizer, places):
    occurrences = find_occurrences(tokenizer, SENTENCES, *WORDS, n=8, max_length=64)
    z = (occurrences.table["gender"] == "feminine").to_numpy(copy=True)
    return WordStates(model, tokenizer, 8, SENTENCES, occurrences).at(places), z


def test_words_are_read_at_every_place_that_a_method_names(bert, tokenizer):
    methods = {
        "none": [],
        "all": [at("all")],
        "each": [at("each")],
        "two": [at("last", "leace"), at("layer[-2].attention.value", "hard", options={"components": 2})],
    }
    fitted = fit(bert, tokenizer, methods)
    layers = [f"layer[{i}]" for i in range(3)]
    assert fitted.axis == (("none", "-"), ("all", "-"), *(("each", layer) for layer in layers), ("two", "-"))
    states, z = states_of_words(bert, tokenizer, [*layers, "layer[1].attention.value"])
    for place, eraser in erasers_of(fitted, "all").items():
        assert torch.allclose(eraser.left, densray.fit(states[place], z).left, atol=1e-4)
        assert erasers_of(fitted, "each", place)[place] is eraser  # fitted once for both
    two = erasers_of(fitted, "two")
    assert list(two) == ["layer[1].attention.value", "layer[2]"]  # in the order in which the encoder reaches them
    assert torch.allclose(two["layer[2]"].right, leace.fit(states["layer[2]"], z).right, rtol=1e-2, atol=1e-3)
    assert two["layer[1].attention.value"].left.shape == (HEADS, 2, HIDDEN // HEADS)
    expected = hard.fit(states["layer[1].attention.value"], z, components=2)
    assert torch.allclose(two["layer[1].attention.value"].left, expected.left, atol=1e-4)
    assert list(fitted.tables) == ["occurrences", "counts", "movements"] and len(fitted.tables["occurrences"]) == 8
    assert fitted.facts["words_left_out"] == [] and fitted.facts["sentences_read"] > 0


def test_every_method_acts_in_the_model_it_was_fitted_to_and_comes_back_from_its_file(bert, tokenizer, tmp_path):
    methods = {"none": [], "grid": grid()}
    for name, entry in ERASERS.items():
        where = {"fitted_to": entry.fitted_to[0], "needs_labels": entry.needs_labels}
        methods[name] = [at("last.cls" if entry.fitted_to == ("task",) else "all", name, **where)]
    methods |= {
        "pooled": [at("pooled", "leace", fitted_to="pairs")],
        "cls": [at("last.cls", "hard", fitted_to="pairs")],
    }
    fitted = fit(bert, tokenizer, methods, task={"last.cls": (*TASK["last.cls"], torch.arange(9) % 3)})
    save(fitted, tmp_path / "methods.safetensors")
    back = load(tmp_path / "methods.safetensors", list(methods))
    assert back.axis == fitted.axis and back.specifications == methods
    batch = random_batch(bert)
    for each in back.every_setting():
        with torch.inference_mode(), edited(bert, each.edits):
            bert(**batch)


def test_pairs_are_aligned_by_token_or_by_sentence(bert, tokenizer):
    states = pair_states(bert, tokenizer, {"a": PAIRS}, "a", batch_size=3)
    found = states.at(["pooled", "layer[-2]"])
    assert states.checked["kept"].tolist() == [True] * 4 + [False]
    tokens = sum(len(tokenizer(sentence)["input_ids"]) for sentence in PAIRS["masculine"][:4])
    assert found["pooled"].shape == (8, HIDDEN) and found["layer[-2]"].shape == (2 * tokens, HIDDEN)
    labels = states.labels(found["pooled"])
    assert labels["z"].tolist() == [False] * 4 + [True] * 4
    assert labels["pairs"].tolist() == [[i, 4 + i] for i in range(4)]

    def alone(member, row):
        with torch.inference_mode():
            return bert.base_model(**tokenizer(PAIRS[member][row], return_tensors="pt"))

    order = sorted(range(4), key=lambda row: (-len(PAIRS["masculine"][row].split()), row))
    expected = [alone(member, row).pooler_output[0] for member in ("masculine", "feminine") for row in order]
    assert torch.allclose(found["pooled"], torch.stack(expected), atol=1e-5)


def test_an_eraser_that_needs_labels_gets_those_of_the_task_and_no_other_eraser_does(bert, tokenizer):
    X, z, y = torch.randn(40, HIDDEN), torch.arange(40) % 2, np.arange(40) % 3
    methods = {
        name: [at("last.cls", name, fitted_to="task", needs_labels=ERASERS[name].needs_labels)]
        for name in ("splince", "leace")
    }
    fitted = fit(bert, tokenizer, methods, task={"last.cls": (X, z.numpy(), y)})
    for name, expected in (("splince", splince.fit(X, z, y=y)), ("leace", leace.fit(X, z))):
        assert torch.equal(erasers_of(fitted, name)["layer[2].cls"].right, expected.right)


def test_what_is_fitted_to_balanced_classes_takes_out_gender_and_not_the_class_that_goes_with_it(
    bert, tokenizer, caplog
):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    z = np.where(rng.random(2000) < 0.9, y, 1 - y)
    y[0] = 7  # alone, so that its class has one gender
    X = rng.normal(size=(2000, HIDDEN)) + 4 * np.outer(y == 1, np.eye(HIDDEN)[0]) + np.outer(z, np.eye(HIDDEN)[1])
    methods = {
        name: [at("last.cls", "leace", fitted_to="task", **keys)]
        for name, keys in (
            ("as-it-is", {}),
            ("balanced", {"balanced": True}),
            ("class-centred", {"class_centred": True}),
            ("permuted", {"control": 0, "permuted": True}),
            ("permuted-again", {"control": 1, "permuted": True}),
        )
    }
    fitted = fit(bert, tokenizer, methods, task={"last.cls": (torch.from_numpy(X).float(), z, y)})
    erasers = {name: erasers_of(fitted, name)["layer[2].cls"] for name in methods}
    removed = {name: eraser.left[0].abs() for name, eraser in erasers.items()}
    assert removed["as-it-is"].argmax() == 0  # the class
    assert removed["permuted"].argmax() == 0 and not torch.equal(removed["permuted"], removed["permuted-again"])
    left = erasers["permuted"].apply(torch.from_numpy(X))[:, 1].numpy()  # what tells genders apart within a class
    assert left[(y == 1) & (z == 1)].mean() - left[(y == 1) & (z == 0)].mean() == pytest.approx(1, abs=0.2)
    for name in ("balanced", "class-centred"):
        assert removed[name].argmax() == 1 and removed[name][0] < 0.2 * removed[name][1]
    assert caplog.text.count("left out: class 7") == 1


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=1, max_size=60))
def test_balanced_rows_are_all_of_the_rarer_gender_of_a_class_and_as_many_of_the_other(people):
    z, y = np.array(people).T
    rows = balanced_rows(torch.from_numpy(z), y)
    assert list(rows) == sorted(set(rows))
    for name in set(y):
        fewest = min(np.sum((y == name) & (z == gender)) for gender in (0, 1))
        assert [np.sum((y[rows] == name) & (z[rows] == gender)) for gender in (0, 1)] == [fewest, fewest]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=1, max_size=60), st.integers(0, 9))
def test_genders_permuted_within_classes_leave_each_class_its_share(people, seed):
    z, y = np.array(people).T
    permuted = permuted_within(torch.from_numpy(z), y, seed).numpy()
    assert all(permuted[y == name].sum() == z[y == name].sum() for name in set(y))


def test_permuted_genders_are_in_another_order_with_every_seed_and_say_nothing_of_a_person():
    z, y = torch.arange(400) % 2, np.repeat([0, 1], 200)
    first, again, other = (permuted_within(z, y, seed) for seed in (0, 0, 1))
    assert torch.equal(first, again) and abs((first == z).float().mean() - 0.5) < 0.15
    assert abs((first == other).float().mean() - 0.5) < 0.15


def test_in_sequence_each_place_is_fitted_with_the_edits_before_it(bert, tokenizer):
    methods = {
        "plain": [at("all")],
        "sequential": [at("all", sequential=True)],
        "half": [at("layer[1]"), at("layer[0]"), at("layer[2]", "hard", sequential=True)],
    }
    fitted = fit(bert, tokenizer, methods)
    plain, found, half = (erasers_of(fitted, name) for name in methods)
    assert torch.equal(found["layer[0]"].left, plain["layer[0]"].left)
    assert not torch.allclose(found["layer[1]"].left, plain["layer[1]"].left, atol=1e-3)
    with edited(bert, [(place, found[place]) for place in ("layer[0]", "layer[1]")]):
        states, z = states_of_words(bert, tokenizer, ["layer[2]"])
    assert torch.allclose(densray.fit(states["layer[2]"], z).left, found["layer[2]"].left, atol=1e-3)
    assert list(half) == ["layer[0]", "layer[1]", "layer[2]"]
    assert torch.equal(half["layer[1]"].left, plain["layer[1]"].left)
    with edited(bert, [(place, half[place]) for place in ("layer[0]", "layer[1]")]):
        states, z = states_of_words(bert, tokenizer, ["layer[2]"])
    assert torch.allclose(hard.fit(states["layer[2]"], z).left, half["layer[2]"].left, atol=1e-3)


def test_a_method_can_be_fitted_on_the_model_before_training(bert, tokenizer):
    torch.manual_seed(9)
    other = MODELS["bert-next-sentence"]().eval()
    methods = {"own": [at("last")], "origin": [at("last", fitted_on="pretrained")]}
    fitted = fit(bert, tokenizer, methods, origin=other)
    own, origin = (erasers_of(fitted, name)["layer[2]"].left for name in methods)
    assert torch.equal(origin, erasers_of(fit(other, tokenizer, {"own": [at("last")]}), "own")["layer[2]"].left)
    assert not torch.allclose(own, origin, atol=1e-3)
    assert len(fitted.tables["occurrences"]) == 8  # the same for both models
    with pytest.raises(BiasflowError, match=r"origin.*pretrained"):
        fit(bert, tokenizer, methods)


@pytest.mark.parametrize("control", ["densray-random", "densray-random-matched"])
def test_every_draw_of_a_control_has_directions_of_its_own(bert, tokenizer, control):
    methods = with_variants({"densray": [at("last")]})
    fitted = fit(bert, tokenizer, {name: methods[name] for name in ("densray", control)})
    erasers = [dict(each.edits)["layer[2]"].left for each in fitted.every_setting() if each.edits]
    assert len(erasers) == 1 + SHARED_DRAWS
    for one, other in combinations(erasers, 2):
        assert one.shape == other.shape and not torch.allclose(one, other, atol=1e-3)


def test_a_matched_control_is_as_far_from_all_tokens_of_the_texts(bert, tokenizer, monkeypatch):
    given, matched = [], random.matched
    monkeypatch.setattr(random, "matched", lambda eraser, X: given.append(X) or matched(eraser, X))
    methods = with_variants({"densray": [at("last")]})
    fit(bert, tokenizer, {name: methods[name] for name in ("densray", "densray-random-matched")})
    words, _ = states_of_words(bert, tokenizer, ["layer[2]"])
    apart = torch.cdist(given[0].float(), words["layer[2]"].float()).amin(dim=1)
    assert len(given) == 1 and (apart > 0.1).any()  # not the words alone, to which the method is fitted


def test_how_far_words_and_all_tokens_are_moved_is_told_of_a_method_and_of_each_draw(bert, tokenizer):
    methods = with_variants({"densray": [at("last")]})
    fitted = fit(bert, tokenizer, {name: methods[name] for name in ("densray", "densray-random-matched")})
    table = fitted.tables["movements"].set_index("setting")
    assert len(table) == 1 + SHARED_DRAWS and set(table["place"]) == {"layer[2]"}
    X, _ = states_of_words(bert, tokenizer, ["layer[2]"])
    X, eraser = X["layer[2]"], erasers_of(fitted, "densray")["layer[2]"]
    by_hand = np.mean([float((eraser.apply(x) - x).norm() / x.norm()) for x in X])
    assert table.loc["-", "words"] == pytest.approx(by_hand, rel=1e-5)
    drawn = table.drop("-")["tokens"]
    assert drawn.nunique() == SHARED_DRAWS and drawn.mean() == pytest.approx(table.loc["-", "tokens"], rel=0.3)


def test_a_grid_fits_the_directions_of_one_place_to_the_pairs_of_each(bert, tokenizer):
    erasers = fit(bert, tokenizer, {"grid": grid()}).grids[0].subspaces.erasers
    for name, pairs in (("pooled", PAIRS), ("sentence-debias", PAIRS.iloc[1:3])):
        states = pair_states(bert, tokenizer, {"a": pairs}, "a", batch_size=3)
        pooled = states.at(["pooled"])["pooled"]
        expected = pca.fit(pooled, **states.labels(pooled))
        assert torch.allclose(erasers[name, "plain"].left, expected.left, atol=1e-4), name


def test_a_sequential_grid_is_fitted_after_the_earlier_interventions(bert, tokenizer):
    subspaces = fit(bert, tokenizer, {"grid": grid(sequential=True)}).grids[0].subspaces
    assert len(subspaces.erasers) == 7 + 1 + 8 + 36
    setting = next(s for s in all_settings() if s.level == "layer-12" and s.settings == "0,0,0")
    plain, after = subspaces.erasers["pooled", "plain"], subspaces.at("pooled", setting)
    assert setting.upstream("pooled") == "last00"
    assert (plain.left @ after.left.T).abs() < 0.999
    states = pair_states(bert, tokenizer, {"a": PAIRS}, "a", batch_size=3)
    found = states.at(["pooled"], edits_of(setting.until("pooled"), subspaces))["pooled"]
    assert torch.allclose(pca.fit(found, **states.labels(found)).left, after.left, atol=1e-4)


@pytest.mark.parametrize(
    ("method", "given", "named"),
    [
        ([at("somewhere")], {}, "wrong.*somewhere"),
        ([at("layer[1].cls")], {}, r"wrong.*BertForNextSentencePrediction.*layer\[1\].cls"),
        ([at("last")], {"n": 400}, "wrong.*BertForNextSentencePrediction.*400|200"),
        ([at("last")], {"words": (["kingfisher"], ["she"])}, "wrong.*BertForNextSentencePrediction.*kingfisher"),
        ([at("last")], {"words": None}, "wrong.*words"),
        ([at("last", fitted_to="pairs")], {"sentence_pairs": None}, "wrong.*pairs"),
        (grid(), {"sentence_pairs": None}, "wrong.*pairs"),
        ([at("last.cls", fitted_to="task")], {}, "wrong.*task"),
        ([at("last", fitted_to="task")], {"task": TASK}, r"wrong.*layer\[2\].cls"),
        ([at("layer[0]"), at("last.cls", fitted_to="task", sequential=True)], {"task": TASK}, "wrong.*sequence"),
        (
            [at("last.cls", "splince", fitted_to="task", needs_labels=True)],
            {"task": TASK},
            r"wrong at layer\[2\].cls .*splince.*class of each",
        ),
        ([at("all", "pca")], {}, r"wrong at layer\[0\] in BertForNextSentencePrediction.*pairs"),
        ([at("last", options={"components": 99})], {}, r"wrong at layer\[2\].*99"),
        ([at("each"), at("last")], {}, "wrong.*each"),
        ({**grid(), "eraser": "densray", "module": module_of(ERASERS["densray"])}, {}, "wrong.*densray"),
    ],
)
def test_what_cannot_be_fitted_is_one_line_that_names_the_method(bert, tokenizer, method, given, named):
    with pytest.raises(BiasflowError, match=named) as error:
        fit(bert, tokenizer, {"fine": [at("all")], "wrong": method} if given == {} else {"wrong": method}, **given)
    assert "\n" not in str(error.value)
