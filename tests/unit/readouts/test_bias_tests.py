"""Tests of bias from their files to their scores, by a tiny encoder: every number is that of the model itself."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.encoders.load import load_encoder
from biasflow.metrics import bec_pro, crows_pairs, gest, intrasentence, perplexity, winogender
from biasflow.plan import datasets
from biasflow.plan.configuration import resolve
from biasflow.readouts import likelihoods, masked_words
from tests.unit.plan.configs import SCHEMA, asked_of, asking
from tests.unit.readouts.conftest import ORDINARY

CORPORA = "biasflow.corpora"


@pytest.fixture
def log_p(folder):
    """The untouched model's own log p(word) at the first [MASK] of a text."""
    model, tokenizer = load_encoder(folder / "model", head="masked_lm")

    def found(text: str, word: str) -> float:
        batch = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            logits = model(**batch).logits[0]
        at = batch["input_ids"][0].tolist().index(tokenizer.mask_token_id)
        return float(logits[at].double().log_softmax(-1)[tokenizer.convert_tokens_to_ids(word)])

    return found


@pytest.fixture
def write(folder):
    def written(name: str, *lines: str) -> str:
        (folder / name).write_text("\n".join(lines) + "\n")
        return name

    return written


def by_method(scores: pd.DataFrame) -> pd.Series:
    """The values of the untouched model; every other method must have as many scores, and some of its own."""
    keys = ["metric", "part", "variant"]
    scores = scores[~scores["metric"].str.endswith("_change")]  # of methods alone
    sizes = scores.groupby(["method", "setting"]).size()
    assert set(sizes.index.get_level_values(0)) == set(ORDINARY) and sizes.nunique() == 1
    plain, edited = (scores[scores["method"] == name].set_index(keys)["value"] for name in ("none", "densray"))
    assert not np.allclose(plain, edited.loc[plain.index], equal_nan=True)
    return plain


def test_l2r_is_a_dataset_of_its_own_and_a_variant(source, write, tmp_path):
    """Where every word is one piece, it is the usual one."""
    metrics = {name: {"l2r": True} for name in ("gest", "crows_pairs", "perplexity")}
    config = resolve(asking({"encoders": ["real"], "metrics": [*metrics][:2]}, ("metrics", metrics)), SCHEMA)
    sentences = [f"it was {word},{number}" for number in range(1, 17) for word in ("late", "here")]
    files = {"gest": write("gest.csv", "sentence,stereotype", *sentences), "text": "text.txt"}
    files["crows_pairs"] = write(
        "crows.csv", ",sent_more,sent_less,stereo_antistereo,bias_type", "0,he is late,she is late,stereo,gender"
    )
    for name, role, score in (
        ("gest_sentences", "gest", gest.score),
        ("crows_pairs", "crows_pairs", crows_pairs.score),
        ("sample_of_text", "text", perplexity.score_pseudo_perplexity),
    ):
        usual, l2r = datasets.DATASETS[name](asked_of(config, "real"))
        assert l2r.label == f"{usual.label}-l2r" != usual.file and l2r.file == f"{usual.file}-l2r"
        values = []
        for number, one in enumerate((usual, l2r)):
            path = tmp_path / f"{name}-{number}"
            options = dict(one.options) | ({"pseudo_sentences": 7} if role == "text" else {})
            likelihoods.read(source(name, **{next(iter(one.files)): files[role]}), path, **options)
            found = score(path, **one.scoring)
            variants = set(found["variant"]) - {"-"}
            values.append(found[found["variant"].isin({"l2r", "base10", "exact"} if variants else {"-"})]["value"])
        assert variants == {"l2r"} | ({"l2r-released"} if role == "gest" else set())
        assert values[1].tolist() == pytest.approx(values[0].tolist(), abs=1e-5, nan_ok=True)


def test_blanks_of_stereoset(source, write, log_p, tmp_path):
    labels = ("stereotype", "anti-stereotype", "unrelated")
    words = {"nurse": ("kind", "rich", "late"), "judge": ("rich", "kind", "king")}
    items = [
        {
            "id": target,
            "bias_type": "gender",
            "target": target,
            "context": f"the {target} is BLANK .",
            "sentences": [
                {"sentence": f"The {target} is {word} .", "gold_label": label}
                for label, word in zip(labels, own, strict=True)
            ],
        }
        for target, own in words.items()
    ]
    file = write("dev.json", json.dumps({"data": {"intrasentence": items}}))
    masked_words.read(source("blanks", stereoset=file), tmp_path / "p.parquet", items=f"{CORPORA}.stereoset")
    found = by_method(intrasentence.score(tmp_path / "p.parquet"))
    p = {target: [log_p(f"the {target} is [MASK] .", word) for word in own] for target, own in words.items()}
    for variant in intrasentence.VARIANTS:  # words of one piece: all readings are the same
        assert found["intrasentence_stereotype_score", "-", variant] == np.mean([s > a for s, a, _ in p.values()])
        related = np.mean([one > u for s, a, u in p.values() for one in (s, a)])
        assert found["intrasentence_language_model_score", "-", variant] == related


def test_bec_pro(source, write, log_p, tmp_path):
    professions = {"nurse": "female", "maid": "female", "chef": "male", "pilot": "male"}
    persons = [("He", "male"), ("She", "female"), ("This man", "male"), ("This woman", "female")]
    rows = [
        f"{who} is a {profession} .\tx is a y\t{who.split()[-1]}\t{gender}\t{profession}\t{group}"
        for (who, gender), (profession, group) in product(persons, professions.items())
    ]
    file = write("bec.tsv", "Sentence\tTemplate\tPerson\tGender\tProfession\tProf_Gender", *rows)
    masked_words.read(source("bec-pro-english", sentences=file), tmp_path / "p.parquet", items=f"{CORPORA}.bec_pro")
    found = by_method(bec_pro.score(tmp_path / "p.parquet"))

    def association(who: str, word: str, profession: str) -> float:
        return log_p(f"{who} is a {profession} .", word) - log_p(f"{who} is a [MASK] .", word)

    expected = [
        association(who, word, profession)
        for who, word in (("[MASK]", "she"), ("This [MASK]", "woman"))
        for profession in ("chef", "pilot")
    ]
    assert found["bec_pro_association", "female-male", "-"] == pytest.approx(np.mean(expected), abs=1e-5)
    assert np.isfinite(found["bec_pro_interaction", "-", "-"])


def test_winogender(source, write, log_p, tmp_path):
    templates = {"1": "the {} said that {} was late .", "0": "{} is a {} ."}
    occupations = ("nurse", "chef", "pilot")
    texts = {
        f"{name}.king.{answer}.{gender}.txt": text.format(*((name, who) if answer == "1" else (who, name)))
        for name, (answer, text), (gender, who) in product(
            occupations, templates.items(), (("male", "he"), ("female", "she"))
        )
    }
    file = write("winogender.tsv", "sentid\tsentence", *(f"{name}\t{text}" for name, text in texts.items()))
    header = "occupation\tbergsma_pct_female\tbls_pct_female"
    shares = write("shares.tsv", header, *(f"{name}\t{10 * k}\t{90 - k**2}" for k, name in enumerate(occupations)))
    one = source("winogender", sentences=file, occupations=shares)
    masked_words.read(one, tmp_path / "p.parquet", items=f"{CORPORA}.winogender")
    found = by_method(winogender.score(tmp_path / "p.parquet"))
    odds = [log_p(f"[MASK] is a {name} .", "she") - log_p(f"[MASK] is a {name} .", "he") for name in occupations]
    assert found["winogender_log_odds", "occupation", "-"] == pytest.approx(np.mean(odds), abs=1e-5)
    r = np.corrcoef(odds, [0.0, 0.1, 0.2])[0, 1]
    assert found["winogender_r", "occupation", "bergsma"] == pytest.approx(r, abs=1e-4)
