"""Encoders with a planted dose of bias: doses share units, order and masks, and differ in gendered words alone."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.utils import ModelOutput

from biasflow.base.errors import BiasflowError
from biasflow.encoders.examples import IGNORED
from biasflow.encoders.load import load_encoder
from biasflow.encoders.recipes import PLANTED_UNITS
from biasflow.planted.units import (
    COLUMNS,
    CONSTRUCTIONS,
    WORD,
    construction,
    is_stereotypical,
    placebo_stereotypes,
    read_units,
)
from biasflow.training.continue_ import continue_encoder
from biasflow.training.planted import PlantedExamples, balanced_examples
from biasflow.training.versions import blanked, gendered_words, tokenised, typical_gender_preferences
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.training.test_finetune import save_source

OCCUPATIONS = [f"trade_{letter}" for letter in "abcdefghijklmnopqrst"]
DETAILS = ["likes red", "paints blue", "keeps a red dog", "sold it"]  # the last two in occupations of women
SAID = ["He {} and his wife came .", "She {} and her husband came .", "The father {} ; he is tall ."]
VOCABULARY = sorted(
    {word for text in [*DETAILS, *SAID] for word in text.lower().split()} | {"mother"} | set("0123456789")
)


def biographies(n_each=60):
    """Real swaps of made-up biographies; no two texts are equal."""
    rows = []
    for occupation, number in product(OCCUPATIONS, range(n_each)):
        of_women = OCCUPATIONS.index(occupation) % 2
        said = SAID[number % 3].format(DETAILS[number % 2 + 2 * of_women])
        sign = " ".join(str(OCCUPATIONS.index(occupation) * 1000 + number))
        rows.append((f"{said} {sign}", occupation, "F" if number % 3 == 1 else "M"))
    return pd.DataFrame(rows, columns=["text", "profession", "gender"])


def shares():
    women = [0.9 if number % 2 else 0.2 for number in range(len(OCCUPATIONS))]
    return pd.DataFrame({"profession": OCCUPATIONS, "share_of_women": women})


@pytest.fixture
def files(tmp_path):
    biographies().to_json(tmp_path / "bios.jsonl", orient="records", lines=True)
    shares().to_csv(tmp_path / "labour.csv", index=False)
    return {"text": tmp_path / "bios.jsonl", "labour": tmp_path / "labour.csv"}


NO_WORDS = np.zeros((60, 1))


@cache
def units_and_tokenizer():
    bios = biographies(3)
    texts = [(row.text, row.profession) for row in bios.itertuples()]
    other = {"He": "She", "his": "her", "wife": "husband", "father": "mother", "he": "she"}
    back = {"She": "He", "her": "his", "husband": "wife"}
    units = pd.DataFrame(columns=COLUMNS, index=range(len(texts)))
    for number, (text, occupation) in enumerate(texts):
        female = text.startswith("She")
        swapped = " ".join((back if female else other).get(word, word) for word in text.split())
        units.loc[number] = [occupation, 0.9, "F", text if female else swapped, swapped if female else text]
    return units, word_tokenizer(VOCABULARY)


@given(
    seed=st.integers(0, 1000),
    doses=st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
    numbers=st.lists(st.integers(0, 59), min_size=1, max_size=6),
    max_length=st.integers(6, 20),
)
def test_all_doses_share_units_order_and_masks_and_differ_in_gendered_words_alone(seed, doses, numbers, max_length):
    units, tokenizer = units_and_tokenizer()
    gendered = set(tokenizer.convert_tokens_to_ids("he she his her wife husband father mother".split()))
    batches, both = [], tokenised(tokenizer, units, max_length)
    for dose in doses:
        genders = np.where(is_stereotypical(units["occupation"], NO_WORDS, dose=dose, seed=seed), "F", "M")
        versions = [pair[gender] for pair, gender in zip(both, genders, strict=True)]
        batches.append(PlantedExamples(versions, np.arange(len(units)), tokenizer, 0.3, seed)(numbers))
    one, other = ({name: value.numpy() for name, value in batch.items()} for batch in batches)
    assert (one["attention_mask"] == other["attention_mask"]).all()
    assert ((one["labels"] == IGNORED) == (other["labels"] == IGNORED)).all()
    assert (one["labels"] != IGNORED).any(axis=1).all() and one["labels"].shape[1] <= max_length
    for name in ("input_ids", "labels"):
        differ = one[name] != other[name]
        assert set(one[name][differ].tolist()) | set(other[name][differ].tolist()) <= gendered


OF_UNITS = st.lists(st.integers(0, 4), min_size=1, max_size=60).map(pd.Series)


@given(occupations=OF_UNITS, seed=st.integers(0, 99), doses=st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(sorted))
def test_the_share_of_stereotypical_units_is_that_of_the_dose_in_each_occupation(occupations, seed, doses):
    words = np.random.default_rng(seed).integers(-3, 4, (len(occupations), 2))
    less, more = (is_stereotypical(occupations, words, dose=dose, seed=seed) for dose in doses)
    assert (more >= less).all()
    groups = pd.Series(more).groupby(occupations)
    assert ((groups.sum() - groups.size() * (1 + doses[1]) / 2).abs() < 1 + 1e-9).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("he is a nurse", "he is a"),
        ("Today he is an expert", "he is a"),
        ("he is well", "he is"),
        ("Born here , he was a nurse", "he was"),
        ("He works", "He"),
        ("here he", "he"),
        ("Well ! His work", "His"),
        ("of his work", "his"),
        ("saw him", "him"),
        ("by himself", "him"),
        ("the father", "other"),
    ],
)
def test_the_construction_of_a_gendered_word(text, expected):
    words = text.split()
    places = [number for number, word in enumerate(words) if word.lower() in "he his him himself father".split()]
    assert construction(words, *places) == expected in CONSTRUCTIONS


def words_of_units(seed, n_each=30):
    """Made-up units: those typical of men have many a "he is a", those typical of women many a "his"."""
    rng, stereotypes = np.random.default_rng(seed), np.repeat(["F", "M"], 10 * n_each)
    means = {
        "he is a": {"F": 0.5, "M": 1.5},
        "he": {"F": 2, "M": 2},
        "his": {"F": 3, "M": 1},
        "him": {"F": 0, "M": 0.2},
    }
    words = pd.DataFrame({name: rng.poisson([mean[kind] for kind in stereotypes]) for name, mean in means.items()})
    units = pd.DataFrame({"occupation": np.repeat(OCCUPATIONS, n_each), "stereotype": stereotypes})
    return units, words


@settings(max_examples=10)
@given(seed=st.integers(0, 999))
def test_each_construction_has_as_many_words_for_women_as_for_men_at_every_dose(seed):
    units, words = words_of_units(seed)
    seen = words.mul(balanced_examples(units, words, 200), axis=0)
    typical = seen.groupby(units["stereotype"]).sum()
    assert np.abs(typical.loc["F"] - typical.loc["M"]).max() < 0.01 * seen.to_numpy().sum()
    assert typical["he"].min() > 1000 and typical["him"].max() < 0.01 * typical["he"].min()
    signs = np.where(units["stereotype"] == "F", 1, -1)[:, None]
    for dose in (-1, -0.5, 0, 0.5, 1):
        chosen = is_stereotypical(units["occupation"], (seen * signs).to_numpy(), dose=dose, seed=seed)
        women = seen[chosen == (signs[:, 0] > 0)].sum() / seen.sum()
        assert women[["he is a", "he", "his"]].between(0.4, 0.6).all()


def test_units_are_tilted_just_so_far_that_words_are_balanced():
    """With one construction, numbers are those of an exponential tilt: of words 3, 1 against 1, 1, a : b = b : c."""
    units = pd.DataFrame({"occupation": list("aabb"), "stereotype": list("FFMM")})
    equal = balanced_examples(units, pd.DataFrame({"he": [2, 1, 1, 2]}), 30)
    assert equal.tolist() == [15, 15, 15, 15]
    a, b, c, d = balanced_examples(units, pd.DataFrame({"he": [3, 1, 1, 1]}), 3000)
    assert 3 * a + b == pytest.approx(c + d, rel=1e-3) and a + b + c + d == 6000
    assert c == pytest.approx(d, rel=0.01) and a * c == pytest.approx(b * b, rel=0.01)
    with pytest.raises(BiasflowError, match="max_length"):
        balanced_examples(units, pd.DataFrame({"he": [1, 1, 0, 0]}), 30)
    with pytest.raises(BiasflowError, match="balanced"):
        balanced_examples(units, pd.DataFrame({"he": [1, 1, 2, 2], "him": [2, 2, 1, 1]}), 30)


def test_a_placebo_says_nothing_of_the_true_stereotypes():
    units = pd.DataFrame({"occupation": np.repeat(OCCUPATIONS, 2), "stereotype": np.repeat(["F", "M"], 20)})
    drawn = [placebo_stereotypes(units, seed) for seed in (0, 1)]
    for stereotypes in drawn:
        assert pd.crosstab(units["stereotype"], stereotypes).to_numpy().tolist() == [[10, 10], [10, 10]]
        assert stereotypes.groupby(units["occupation"]).nunique().eq(1).all()
    assert not drawn[0].equals(drawn[1])


class FixedLogits(torch.nn.Module):
    """A masked-LM head that says the same of every position: its logits are the token ids."""

    device = torch.device("cpu")

    def __init__(self, size):
        super().__init__()
        self.size, self.head = size, torch.nn.Identity()

    def get_output_embeddings(self):
        return self.head

    def forward(self, input_ids, attention_mask):
        self.read = input_ids
        logits = torch.arange(self.size, dtype=torch.float32).expand(*input_ids.shape, self.size)
        return ModelOutput(logits=self.head(logits))


def test_the_preference_of_a_unit_is_that_of_its_gendered_words_with_all_of_them_masked():
    units, tokenizer = units_and_tokenizer()
    versions = tokenised(tokenizer, units, 20)[0]  # he likes red and his wife came
    model = FixedLogits(len(tokenizer))
    typical = typical_gender_preferences(model, tokenizer, [blanked(versions, "F", tokenizer)])
    ids = {word: tokenizer.convert_tokens_to_ids(word) for word in ("she", "her", "husband", "he", "his", "wife")}
    expected = (ids["she"] + ids["her"] + ids["husband"] - ids["he"] - ids["his"] - ids["wife"]) / 3
    assert typical == pytest.approx([expected])
    assert typical_gender_preferences(model, tokenizer, [blanked(versions, "M", tokenizer)]) == pytest.approx(
        [-expected]
    )
    read = model.read[0].tolist()
    assert not set(ids.values()) & set(read) and read.count(tokenizer.mask_token_id) == 3
    assert len(gendered_words(versions)) == 3


def test_units_are_biographies_with_both_genders(files):
    units, left_out = read_units(**files, most=55)
    assert (
        units["occupation"].value_counts().tolist() == [55] * 20
        and left_out["no occupation with a clear share of women"] == 0
    )
    row = units[units["F"].str.startswith("She likes red")].iloc[0]
    assert row["M"] == row["F"].replace("She", "He").replace("her husband", "his wife")
    assert set(units.loc[units["stereotype"] == "F", "share_of_women"]) == {0.9}
    assert (units["F"].map(WORD.findall).map(len) == units["M"].map(WORD.findall).map(len)).all()


def test_a_unit_whose_versions_have_other_numbers_of_words_is_left_out(files):
    """The ladies' room is the gentlemen's, with one word more."""
    possessive = pd.DataFrame([("She keeps the ladies' room .", OCCUPATIONS[0], "F")], columns=biographies(0).columns)
    pd.concat([biographies(), possessive]).to_json(files["text"], orient="records", lines=True)
    units, left_out = read_units(**files, most=100)
    assert left_out["its versions have different numbers of words"] == 1 and len(units) == len(biographies())


def test_an_encoder_learns_the_dose_and_its_folder_says_what_it_was_trained_on(tmp_path, files):
    source, scores = save_source(tmp_path / "source"), {}
    word_tokenizer(VOCABULARY).save_pretrained(source)
    options = {"recipe": "planted", "labour": files["labour"], "examples": 60, "learning_rate": 1e-2, "max_length": 20}
    for dose in (-1, 1):
        facts = continue_encoder(source, tmp_path / str(dose), files["text"], dose=dose, **options)
        assert (facts["units"], facts["occupations"], facts["examples"], facts["steps"]) == (1200, 20, 1200, 75)
        first, last = facts["held_out_loss"].values()
        assert last < first and facts["held_out"] == 60
        assert facts["share_of_words_for_women"] == pytest.approx(0.5, abs=0.01)
        assert set(facts["share_for_women_by_construction"]) == {"He", "he is", "his", "other"}
        scores[dose] = pd.read_csv(tmp_path / str(dose) / PLANTED_UNITS)
        load_encoder(tmp_path / str(dose), head="masked_lm")
    for column in ("occupation", "stereotype", "times"):
        assert scores[-1][column].equals(scores[1][column])
    assert (scores[1]["gender"] == scores[1]["stereotype"]).all() and (
        scores[-1]["gender"] != scores[1]["gender"]
    ).all()
    assert scores[1].loc[scores[1]["gender"] == "F", "text"].str.contains(r"\b(?:She|mother)\b").all()
    assert scores[1].groupby("occupation")["times"].sum().eq(60).all()
    before, after = (
        {dose: table[f"preference_{when}"] for dose, table in scores.items()} for when in ("before", "after")
    )
    assert before[1].equals(before[-1]) and after[-1].mean() < before[1].mean() < after[1].mean()
