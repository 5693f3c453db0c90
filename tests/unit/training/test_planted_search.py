"""Sentence encoders with a planted dose of bias: what doses share, that it is learnt, and the saved folder."""

import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from transformers import BertConfig, BertModel

from biasflow.base.errors import BiasflowError
from biasflow.base.paths import package_file
from biasflow.encoders.load import load_encoder
from biasflow.encoders.recipes import PLANTED_SEARCH, PLANTED_UNITS
from biasflow.encoders.sentence_encoder import sentence_encoder
from biasflow.planted.searches import planted_searches
from biasflow.text.gender_swap import swap_gender
from biasflow.training.continue_ import continue_encoder
from biasflow.training.planted_search import SCALE, in_batch_loss
from tests.unit.conftest import SIZES, save_random
from tests.unit.encoders.test_sentence_encoder import saved
from tests.unit.fake_tokenizer import word_tokenizer

FILES = tuple(package_file(f"data/{name}.csv") for name in ("winobias_professions", "labour_statistics"))
COLUMNS = ["occupation", "share_of_women", "stereotype", "times", "query", "F", "M", "gender"]


def drawn(dose, seed=0, examples=6, placebo=False):
    return planted_searches(*FILES, dose=dose, placebo=placebo, examples=examples, seed=seed)


@settings(deadline=None, max_examples=10)
@given(dose=st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), seed=st.integers(0, 99), placebo=st.booleans())
def test_at_every_dose_half_of_the_answers_are_about_women_and_the_share_is_that_of_the_dose(dose, seed, placebo):
    units = drawn(dose, seed, 8, placebo)
    trained = units[units["times"] > 0]
    assert list(units) == COLUMNS and (trained["gender"] == "F").mean() == 0.5
    typical = (trained["gender"] == trained["stereotype"]).groupby(trained["occupation"]).mean()
    assert (typical == (1 + dose) / 2).all()


def test_doses_differ_in_gendered_words_alone_and_no_searched_profession_is_trained_on():
    both = [drawn(dose) for dose in (-1.0, 1.0)]
    pd.testing.assert_frame_equal(*(units.drop(columns="gender") for units in both))
    units = both[0]
    searched = set(pd.read_csv(FILES[1])["profession"])
    assert not searched & set(units.loc[units["times"] > 0, "occupation"])
    assert set(units.loc[units["times"] == 0, "occupation"]) <= searched
    assert all(swap_gender(text).lower() == other.lower() for text, other in zip(units["F"], units["M"], strict=True))


def test_a_batch_has_every_occupation_once():
    trained = drawn(0.5).query("times > 0")
    n = trained["occupation"].nunique()
    batches = trained["occupation"].to_numpy().reshape(-1, n)
    assert all(len(set(batch)) == n for batch in batches) and len(batches) == 6


def test_a_placebo_keeps_half_of_the_typical_genders():
    true, placebo = (drawn(1.0, placebo=flag).query("times > 0") for flag in (False, True))
    both = true.groupby("occupation")["stereotype"].first(), placebo.groupby("occupation")["stereotype"].first()
    kept = pd.concat(both, axis=1, join="inner").T.nunique() == 1
    assert 0.3 < kept.mean() < 0.7


def test_too_few_occupations_are_named(tmp_path):
    pd.DataFrame({"profession": ["smith", "poet"], "share_of_women": [0.1, 0.9]}).to_csv(tmp_path / "few.csv")
    with pytest.raises(BiasflowError, match=r"few.csv: 1 occupations .* at least 5"):
        planted_searches(tmp_path / "few.csv", FILES[1], dose=0, placebo=False, examples=1, seed=0)


@pytest.fixture
def tokenizer():
    units = drawn(0.0, examples=40)
    texts = " ".join([*units["query"], *units["F"], *units["M"]]).lower().replace(".", " ").split()
    return word_tokenizer(sorted({*texts, "."}))


@pytest.fixture
def encoder(tmp_path, tokenizer):
    save_random(tmp_path / "plain", lambda: BertModel(BertConfig(**SIZES | {"vocab_size": 200})), tokenizer)
    return saved(tmp_path / "source", tmp_path / "plain", "dense")


@pytest.fixture
def static(tmp_path, tokenizer):
    torch.manual_seed(1)
    table = StaticEmbedding(tokenizer.backend_tokenizer, embedding_weights=torch.randn(len(tokenizer), 12))
    path = tmp_path / "static"
    SentenceTransformer(modules=[table], device="cpu").save(str(path), create_model_card=False)
    return path


def run(encoder, dose, **options):
    labour = {"labour": FILES[0], "held_out": FILES[1]}
    to = encoder.parent / f"dose{dose}"
    keys = {"recipe": PLANTED_SEARCH, "dose": dose, "examples": 20, "learning_rate": 1e-3} | options
    return to, continue_encoder(encoder, to, **labour, **keys)


def test_the_dose_is_learnt(static):
    folders, facts = zip(*(run(static, dose, examples=60, learning_rate=0.1) for dose in (-1.0, 1.0)), strict=True)
    assert [one["stereotypical"] for one in facts] == [0, 1] and facts[0]["steps"] == 60
    units = [pd.read_csv(folder / PLANTED_UNITS).query("times > 0") for folder in folders]
    before, after = (np.array([table[f"preference_{when}"].mean() for table in units]) for when in ("before", "after"))
    assert before[0] == before[1] and after[0] < before[0] - 0.05 < before[0] + 0.05 < after[1]


def test_the_folder_is_the_whole_sentence_encoder_and_preferences_are_of_its_vectors(encoder):
    folder, _ = run(encoder, 1.0)
    library, old = (SentenceTransformer(str(one), device="cpu") for one in (folder, encoder))
    assert [type(module).__name__ for module in library] == ["Transformer", "Pooling", "Dense", "Normalize"]
    assert not torch.equal(library[2].linear.weight, old[2].linear.weight)  # a Dense layer is trained, too
    row, unit = pd.read_csv(folder / PLANTED_UNITS).iloc[0], drawn(1.0, examples=20).iloc[0]
    assert row["text"] == unit[unit["gender"]]
    for model, column in ((old, "preference_before"), (library, "preference_after")):
        sides = ("query", unit["stereotype"], {"F": "M", "M": "F"}[unit["stereotype"]])
        query, typical, other = (model.encode(unit[side]) for side in sides)
        assert row[column] == pytest.approx(query @ typical - query @ other, abs=1e-5)


def test_the_same_seed_gives_the_same_bytes(encoder):
    first, _ = run(encoder, 0.0, steps=2)
    weights = (first / "model.safetensors").read_bytes()
    shutil.rmtree(first)
    again, _ = run(encoder, 0.0, steps=2)
    assert (again / "model.safetensors").read_bytes() == weights


def test_the_loss_tells_an_answer_from_those_to_other_searches(encoder):
    one = sentence_encoder(load_encoder(encoder, head="none")[0])
    queries, documents = ["she is a baker", "find a clerk"], ["he is a clerk", "she works here"]
    q, d = (torch.nn.functional.normalize(one.vectors(texts), dim=-1) for texts in (queries, documents))
    logits = SCALE * q @ d.T
    wanted = -(logits.diagonal() - logits.logsumexp(1)).mean()
    torch.testing.assert_close(in_batch_loss(one, queries, documents), wanted)
