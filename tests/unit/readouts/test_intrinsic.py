"""Paper A's measures under erasers: what is compared is compared on the same words, masks and partitions."""

import numpy as np
import pandas as pd
import pytest
import torch

from scripts.biasflow.corpora.densray_sets import OccupationSet
from scripts.biasflow.corpora.seat import AssociationTest, ExampleSet
from scripts.biasflow.encoders.edit import edits_of
from scripts.biasflow.erasers.eraser import Eraser
from scripts.biasflow.methods.grid import setting_named
from scripts.biasflow.metrics.nli import CLASSES
from scripts.biasflow.metrics.stereoset import score_settings
from scripts.biasflow.planted.association import planted_test
from scripts.biasflow.planted.nli import nli_pairs
from scripts.biasflow.planted.stereoset import triples
from scripts.biasflow.readouts import intrinsic
from scripts.biasflow.readouts.intrinsic import (
    Method,
    association_scores,
    edits_of_method,
    methods_of,
    nli_scores_of_methods,
    occtmp_scores,
    one_layer_at_a_time,
    perplexity_scores,
    token_scores,
)
from scripts.biasflow.readouts.next_sentence import edited_probabilities, next_sentence_probabilities
from scripts.biasflow.text.occupation_pairs import OccupationPairs
from tests.unit.conftest import HIDDEN, MODELS, random_eraser, random_subspaces
from tests.unit.fake_tokenizer import word_tokenizer

MINE = OccupationSet(["[MASK] is a nurse .", "[MASK] is a chef ."], ("he", "she"))
WORDS = "he she nurse chef judge maid is a . the man woman king queen it was late here now".split()
TOKENIZER = word_tokenizer(WORDS)
NOTHING = Eraser(torch.eye(HIDDEN)[:1], torch.zeros(1))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return MODELS["bert-pretraining"]().eval()


@pytest.fixture
def fitted():
    torch.manual_seed(1)
    return {f"layer[{i}]": random_eraser(1, HIDDEN).with_setting(weighted=False, components=1) for i in (2, 0, 1)}


def test_methods_are_active_where_they_should_be(fitted):
    methods = methods_of({"hard": fitted, "conceptor": fitted}, {"hard": "all", "conceptor": "last"})
    assert [(each.method, each.setting) for each in methods] == [("none", ""), ("hard", "all"), ("conceptor", "last")]
    assert [[place for place, _ in each.edits] for each in methods] == [
        [], ["layer[0]", "layer[1]", "layer[2]"], ["layer[2]"]
    ]  # fmt: skip
    assert [each.setting for each in one_layer_at_a_time("densray", fitted)] == ["layer[0]", "layer[1]", "layer[2]"]


def test_layers_are_in_the_order_of_their_numbers():
    many = {f"layer[{i}]": NOTHING for i in range(12)}
    assert [place for place, _ in edits_of_method(dict(sorted(many.items())), "all")] == list(many)
    assert edits_of_method(many, "last")[0][0] == "layer[11]"


def test_occtmp_under_every_method(model, fitted):
    methods = [*methods_of({"densray": fitted}, {"densray": "all"}), *one_layer_at_a_time("densray", fitted)]
    scores = occtmp_scores(model, TOKENIZER, {"mine": MINE}, methods)
    diff = scores[scores["metric"] == "diff"].set_index(["method", "setting"])["value"]
    assert len(diff) == 5 and diff.nunique() == 5
    assert set(scores["task"]) == {"occtmp:mine"}
    assert set(scores["metric"]) == {"diff", "diff_variance", "signed_diff", "p_he", "p_she", "p_sum", "share_he"}


def word_test(name: str = "words") -> AssociationTest:
    sets = {"X": ("nurse", "maid"), "Y": ("chef", "judge"), "A": ("woman", "queen"), "B": ("man", "king")}
    return AssociationTest(name, **{role: ExampleSet(role, words) for role, words in sets.items()})


def sentence_test() -> AssociationTest:
    test = word_test("sentences")
    return test.change("the {} is here .".format)


def test_associations_of_words_and_of_sentences(model, fitted):
    methods = methods_of({"hard": fitted}, {"hard": "all"})
    scores = association_scores(model, TOKENIZER, {"words": word_test()}, {"sentences": sentence_test()}, methods)
    wide = scores.pivot(index=["task", "method"], columns="metric", values="value")
    assert len(wide) == 4
    assert (wide["exact"] == 1).all() and (wide["partitions"] == 6).all()
    assert wide["effect_size"].abs().max() <= 2 and wide["effect_size"].nunique() == 4
    assert dict(scores[["task", "variant"]].itertuples(index=False, name=None)) == {
        "association:words": "target", "association:sentences": "cls"
    }  # fmt: skip


def test_random_partitions_are_drawn_once_for_all_methods(model, fitted, monkeypatch):
    monkeypatch.setattr(intrinsic, "EXACT_UP_TO", 3)
    monkeypatch.setattr(intrinsic, "SAMPLES", 50)
    drawn, original = [], intrinsic.random_partitions
    monkeypatch.setattr(intrinsic, "random_partitions", lambda *a: drawn.append(a) or original(*a))
    methods = methods_of({"hard": fitted}, {"hard": "all"})
    scores = association_scores(model, TOKENIZER, {"words": word_test()}, {}, methods)
    assert drawn == [(4, 2, 50, 0)]
    assert (scores.loc[scores["metric"] == "exact", "value"] == 0).all()
    assert (scores.loc[scores["metric"] == "partitions", "value"] == 50).all()


def test_perplexity_under_every_method_on_the_same_tokens(model, fitted):
    text = " ".join(WORDS * 20)
    methods = methods_of({"hard": fitted}, {"hard": "all"})
    scores = perplexity_scores(
        model, TOKENIZER, text, ["he is a nurse .", "she was here"], methods,
        mask_seeds=[3, 4], max_length=20, batch_size=2,
    )  # fmt: skip
    tokens = scores[scores["metric"] == "tokens"].pivot(index="seed", columns="method", values="value")
    assert (tokens["none"] == tokens["hard"]).all() and len(tokens) == 2
    found = scores[scores["metric"] == "perplexity"].pivot(index="seed", columns="method", values="value")
    assert (found["none"] != found["hard"]).all() and (found > 1).all().all()
    assert len(scores[scores["metric"] == "pseudo_perplexity"]) == 2


def test_hooked_next_sentence_probabilities_are_those_of_the_sweep(model):
    torch.manual_seed(1)
    tokenizer, stimuli, subspaces = word_tokenizer(WORDS), triples(seed=0, n=12), random_subspaces()
    settings = [setting_named("base"), setting_named("layer-11 0,1,0,0,1")]
    swept, _ = next_sentence_probabilities(model, tokenizer, stimuli, settings, subspaces)
    methods = {(s.level, s.settings): edits_of(s, subspaces) for s in settings}
    hooked = edited_probabilities(model, tokenizer, stimuli, methods)
    keys = ["level", "settings", "triple", "label", "swapped"]
    both = swept.merge(hooked, on=keys, suffixes=("_swept", "_hooked"))
    assert len(both) == len(swept) == len(hooked)
    assert (both["p_swept"] - both["p_hooked"]).abs().max() < 1e-5
    assert len(score_settings(hooked, tops=[0.1])) == 2 * 5


def test_nli_scores_under_every_method(fitted):
    torch.manual_seed(0)
    model = MODELS["bert-classification"]().eval()
    model.config.id2label = dict(enumerate(CLASSES))
    pairs = OccupationPairs(("nurse", "chef"), (("saw", "king"), ("was", "queen")), ("man",), ("woman",), "the")
    test = nli_pairs(bias=1.0, seed=0, n=30)
    scores = nli_scores_of_methods(model, TOKENIZER, pairs, test, methods_of({"hard": fitted}, {"hard": "last"}))
    wide = scores.pivot(index=["method", "setting"], columns=["metric", "variant"], values="value")
    assert list(wide.index) == [("hard", "last"), ("none", "")]
    assert np.allclose(wide["nli_fairness", "majority"], wide["nli_accuracy", ""] * wide["nli_parity", "majority"])


def test_an_eraser_that_changes_nothing_is_an_error(model):
    with pytest.raises(Exception, match="changed nothing"):
        occtmp_scores(model, TOKENIZER, {"x": MINE}, [Method("hard", "all", (("layer[0]", NOTHING),))])


def test_the_planted_test_is_exact_and_balanced():
    test = planted_test()
    assert [len(getattr(test, role).examples) for role in "XYAB"] == [8, 8, 8, 8]
    assert "nurse" in test.X.examples and not set(test.X.examples) & set(test.Y.examples)
    assert all(isinstance(word, str) and " " not in word for word in (*test.A.examples, *test.B.examples))


def test_no_method_is_an_error(model):
    with pytest.raises(Exception, match="no method"):
        perplexity_scores(model, TOKENIZER, "he is", [], [], mask_seeds=[0], max_length=5, batch_size=1)


def test_scores_are_tidy(model, fitted):
    from scripts.biasflow.results.scores import tidy

    scores = occtmp_scores(model, TOKENIZER, {"mine": MINE}, methods_of({}, {}))
    assert isinstance(tidy(scores, paper="densray", encoder="e"), pd.DataFrame)


def test_token_scores_are_coordinates_and_a_sentence_has_their_mean(model, fitted):
    sentences = ["the nurse was late .", "he is a king"]
    found = token_scores(model, TOKENIZER, sentences, "layer[2]", fitted["layer[2]"])
    assert [[token for token, _ in tokens] for tokens, _ in found] == [sentence.split() for sentence in sentences]
    for tokens, score in found:
        assert score == pytest.approx(np.mean([value for _, value in tokens]), rel=1e-5)
    with torch.inference_mode():
        states = model.bert(**TOKENIZER(sentences[1], return_tensors="pt")).last_hidden_state[0, 1:-1]
    assert [value for _, value in found[1][0]] == pytest.approx(
        (states @ fitted["layer[2]"].basis[0]).tolist(), abs=1e-5
    )


def test_pronouns_of_several_pieces_where_the_set_allows_them(model):
    single = occtmp_scores(model, TOKENIZER, {"x": MINE}, methods_of({}, {}))
    allowed = OccupationSet(MINE.sentences, MINE.pronouns, pieces=True)
    assert np.allclose(occtmp_scores(model, TOKENIZER, {"x": allowed}, methods_of({}, {}))["value"], single["value"])
    two = OccupationSet(MINE.sentences, ("the man", "the woman"), pieces=True)
    assert np.isfinite(occtmp_scores(model, TOKENIZER, {"x": two}, methods_of({}, {}))["value"]).all()
    with pytest.raises(Exception, match="the man"):
        occtmp_scores(model, TOKENIZER, {"x": OccupationSet(MINE.sentences, two.pronouns)}, methods_of({}, {}))
