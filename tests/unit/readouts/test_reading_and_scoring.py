"""From files of tests and a model to scores: the numbers of the first version, and whose scores they are."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.encoders.load import load_encoder
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.methods.grid import edits_of, setting_named
from biasflow.metrics import (
    association,
    bec_pro,
    crows_pairs,
    gest,
    intrasentence,
    occtmp,
    perplexity,
    retrieval,
    similarity,
    stereoset,
    winogender,
)
from biasflow.plan import datasets
from biasflow.plan.configuration import resolve
from biasflow.readouts import (
    document_similarities,
    likelihoods,
    losses,
    masked_words,
    next_sentence,
    sentence_vectors,
    vectors,
)
from biasflow.readouts.files import load_arrays
from biasflow.readouts.reader import open_reader
from biasflow.readouts.source import Source
from biasflow.results.matrix import matrix
from biasflow.results.scores import tidy
from tests.unit.plan.configs import SCHEMA, asked_of, asking
from tests.unit.readouts.conftest import ORDINARY, fitted, own_log_p

MODEL = {"encoder": "tiny", "dataset": "mine"}
OWN = {"templates": ["[MASK] is a {occupation} ."], "pronouns": ["he", "she is"]}
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
    "words": (lambda source, path: vectors.read(source("C6", test="words.json"), path), association.score),
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


def test_queries_and_documents_have_the_vectors_of_sentences_and_long_documents_are_cut(source, tmp_path):
    folder = Path(source("mine", stimuli="stimuli.csv").model_folder).parent
    header = "q_id,d_id,relevant,query,doc_title,document,content_gender,exp_stereotype\n"
    wordings = {"M": "the man was here .", "F": "the woman was here .", "N": "the nurse was here ."}
    rows = [
        f"{q},{q}{w}{r},{r},she is {job} .,,{text if r else ' '.join(['it was late .'] * 20)},{w},Towards Male"
        for q, job in enumerate(("nurse", "chef"))
        for r in (1, 0)
        for w, text in wordings.items()
    ]
    (folder / "grep.csv").write_text(header + "\n".join(rows) + "\n")
    about = {"items": "biasflow.corpora.retrieval", "pooling": "mean"}
    test = source("grep-biasir", ["none", "hard"], career="grep.csv")
    facts = document_similarities.read(test, tmp_path / "r", **about)
    assert facts["truncated"] == 1 and facts["texts"] == 2 + 3 + 1  # each distinct text once
    table = pd.read_parquet(tmp_path / "r").query("method == 'none' and reading == 'document'")
    reader = open_reader(test, "none")
    query, man = vectors.embed(reader, ["she is chef .", "the man was here ."], ["mean"])["mean"][0]
    cosine = query @ man / np.linalg.norm(query) / np.linalg.norm(man)
    found = table.query("item == '1' and relevant and wording == 'M'")["similarity"].item()
    assert found == pytest.approx(cosine, abs=1e-6)
    scores = retrieval.score_retrieval(tmp_path / "r").set_index(["method", "metric", "part", "variant"])["value"]
    assert scores["none", "retrieval_ties", "non-relevant", "document"] == 2  # equal texts
    none, hard = (scores[method, "retrieval_gap", "relevant", "document"] for method in ("none", "hard"))
    assert np.isfinite([none, hard]).all() and none != pytest.approx(hard)


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


CORPORA = "biasflow.corpora"


@pytest.fixture
def log_p(folder):
    return own_log_p(*load_encoder(folder / "model", head="masked_lm"))


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
