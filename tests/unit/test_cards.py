"""The cards: one for every measure, up to date, one screen long at most, and made from stored results with a source."""

import importlib
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from biasflow.overview import calibrated
from biasflow.overview.bias import bias_rows
from biasflow.registry import METRICS
from biasflow.results.evidence import COULD_NOT_TELL, DID_NOT, IN_ALL, IN_SOME, NOT_TRIED, evidence_of
from biasflow.studies.judge import SEES, TOO_FEW

ROOT = Path(__file__).parents[2]
SCREEN = 40  # lines
DEFINED = re.compile(r"^\* \*\*.+\*\* \(`(\w+)`", re.MULTILINE)  # a measure on its card


@pytest.fixture(scope="module")
def site():
    sys.path.insert(0, str(ROOT / "docs/_site"))
    yield importlib.import_module
    sys.path.remove(str(ROOT / "docs/_site"))


@pytest.fixture(scope="module")
def cards(site):
    return site("cards")


def test_the_cards_are_as_make_cards_writes_them(cards):
    written = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/measures").iterdir()}
    assert written == cards.cards(), "the cards are out of date: run `make cards`"


def test_every_measure_has_a_card_of_one_screen_without_an_empty_field(cards):
    pages = cards.cards()
    defined = [key for name, text in pages.items() if name != "index.md" for key in DEFINED.findall(text)]
    assert sorted(defined) == sorted({name for entry in METRICS.values() for name in entry.measures})
    assert all(f"({name})" in pages["index.md"] for name in pages if name != "index.md")
    for name, text in pages.items():
        if name != "index.md":
            assert len(text.splitlines()) <= SCREEN, name
            assert not [line for line in text.splitlines() if line.startswith("* ") and line.endswith(":")], name
            assert "nan" not in text.split(), name


def test_a_card_names_every_metric_that_has_the_measure(cards):
    assert "(`separation` of `fairness` or `winobias`)" in cards.cards()["fairness.md"]


def test_a_card_says_once_what_holds_of_all_its_measures_and_names_those_of_which_it_does_not(cards):
    strength = cards.cards()["strength.md"]
    assert strength.count("a pre-trained encoder, with a next-sentence head") == 1
    assert "Distance: it can lie off neutral without any bias" in strength


def test_a_card_of_files_that_somebody_gives_asks_for_no_encoder(cards):
    assert "`given_rankings`: files of yours" in cards.cards()["people_search.md"]


def test_every_stored_row_belongs_to_a_measure_and_every_table_to_a_run():
    known = {name for entry in METRICS.values() for name in entry.measures}
    tables = {path.stem for path in calibrated.CARDS.glob("*.csv") if len(calibrated.stored(path.stem))}
    assert {table for about in calibrated.runs().values() for table in about["tables"]} == tables
    for table in tables:
        assert set(calibrated.stored(table).get("card", pd.Series()).dropna()) <= known, table
    assert set(calibrated.stored("calibration")["encoder"]) <= set(calibrated.runs())
    for about in calibrated.runs().values():
        own = {"sha256"} if "calibration" in about["tables"] else set()
        assert set(about) == {"tables", "config", "commit", "date", "units"} | own


def test_a_row_of_a_table_finds_its_card(cards):
    assert cards.card_of("perplexity (given)") is None
    assert cards.card_of("SEAT (sent-weat6)") == "seat_effect_size"
    assert cards.card_of("StereoSet SS (sentences)") == "intersentence_stereotype_score"
    assert cards.card_of("log-odds slope") == "log_odds_r" and cards.card_of("Strength, all triples") == "strength"
    assert cards.card_of("NLI parity (nli)") == "nli_fairness" and cards.card_of("gender share, last layer") is None


@pytest.fixture()
def stored(monkeypatch):
    """A study of planted bias, and the held-out world."""
    doses = pd.DataFrame({"card": ["strength", "perplexity"], "q": [0.01, 0.35]})
    held_out = pd.DataFrame({"card": ["bec_pro_interaction", "lpbs"], "q": [0.02, 0.8]})
    tables = {"planted_calibration": doses, "held_out_calibration": held_out}
    more = {"verdict": SEES, "smallest_dose": 0.5}
    tables = {name: rows.assign(measure=rows["card"].map(calibrated.LABELS), **more) for name, rows in tables.items()}
    tables["calibration"] = calibrated.stored("calibration")
    monkeypatch.setattr(calibrated, "stored", tables.__getitem__)


def known(label, test, kind, of_run=None):
    return evidence_of(calibrated.evidence_for(kind, of_run), calibrated.BY_LABEL[label], test)


@pytest.mark.parametrize(
    ("label", "kind", "found"),
    [
        ("Strength", "embedded", IN_ALL),
        ("perplexity", "embedded", DID_NOT),
        ("BEC-Pro", "embedded", IN_ALL),  # of the held-out world
        ("GEST rate", None, NOT_TRIED),
        ("Strength", "head", NOT_TRIED),
    ],
)
def test_a_measure_followed_a_planted_bias_did_not_or_was_never_tried(stored, label, kind, found):
    assert known(label, "-", kind).evidence == found


def test_a_measure_that_moved_against_a_planted_bias_is_not_green():
    assert known("SEAT", "sent-weat8", "head")[:3:2] == (IN_SOME, 1)
    assert known("GEST rate", "gest", "head")[:3:2] == (IN_ALL, 0)
    assert known("SEAT", "sent-weat8", "") == known("SEAT", "sent-weat8", "head")  # it needs no head
    cell = SimpleNamespace(measure="seat_effect_size", dataset="sent-weat8", value=1.0, low=0.5, high=1.5)
    (row,) = bias_rows([SimpleNamespace(is_bias=True, weak=False, cell=cell)], "head")
    assert row.less_evidence


def test_an_encoder_that_was_calibrated_itself_has_its_own_verdict_alone():
    weights = [calibrated.runs()["splade-tiny"]["sha256"], "0" * 64, ""]
    own = calibrated.own_calibrations(
        pd.DataFrame({"encoder": ["mine", "other", "external"], "sha256": weights}), [], []
    )
    assert list(own) == ["mine"] and set(own["mine"]["encoder"]) == {"splade-tiny"}
    assert known("SEAT", "sent-weat8", "head", own["mine"])[:3:2] == (DID_NOT, 1)  # it followed in the other one
    assert known("SEAT", "sent-weat6", "head", own["mine"])[:3:2] == (IN_SOME, 0)
    briefs = [known("SEAT", f"sent-weat{n}", "head", own["mine"]).brief.replace("\n", " ") for n in (6, 8)]
    assert briefs == ["yes, in all 4, not equally far", "reversed in this very model"]
    assert known("GEST rate", "gest", "head", own["mine"]).green


def test_a_run_that_calibrates_its_encoder_says_what_followed_in_it():
    stored = calibrated.stored("calibration")
    run = stored[stored["encoder"] == "splade-tiny"].drop(columns=["encoder", "card"])
    assert calibrated.learnt(run) and known("GEST rate", "gest", "head", run).green
    assert known("SEAT", "words-of-mine", "head", run).evidence == NOT_TRIED
    assert known("LPBS", "-", "head", run).evidence == COULD_NOT_TELL
    only_here = run.assign(verdict=SEES, q=0.01, slope=9.0, slope_low=8.9, slope_high=9.1)
    assert known("LPBS", "-", "head", only_here).evidence == IN_SOME
    too_few = run.assign(verdict=TOO_FEW)
    assert known("GEST rate", "gest", "head", too_few).evidence == NOT_TRIED and not calibrated.learnt(too_few)


def test_published_models_have_a_score_on_the_same_data_alone():
    assert len(calibrated.published("gest_stereotype_rate", "gest")) == 9
    assert calibrated.published("crows_pairs_score", "crows-pairs-gender")["bert"] == pytest.approx(0.580153)
    assert not calibrated.published("crows_pairs_score", "crows-pairs-age")


def test_the_kind_of_an_encoder_is_that_of_the_one_it_continues():
    names = pd.DataFrame(
        [
            ("a", "corpus", "planted"),
            ("b", "parent", "a"),
            ("c", "source", "local"),
            ("d", "source", "hub"),
            ("e", "parent", "d"),
            ("f", "path", "scripts/biasflow/data/planted_bert"),
        ],
        columns=["name", "attribute", "value"],
    ).assign(kind="encoder")
    heads = pd.DataFrame({"encoder": list("abcdef"), "masked_lm_head": ["yes", "yes", "yes", "no", "ours", "yes"]})
    kinds = {name: calibrated.kind_of(names, heads, name) for name in "abcdefg"}
    assert kinds == {"a": "embedded", "b": "embedded", "c": "head", "d": "", "e": "head", "f": "embedded", "g": None}


@pytest.fixture()
def folders(cards, tmp_path, monkeypatch):
    """A folder of stored results in place of that of the package, and one of a finished calibration."""
    stored, run = tmp_path / "stored", tmp_path / "run"
    shutil.copytree(calibrated.CARDS, stored)
    for module in (cards, calibrated):
        monkeypatch.setattr(module, "CARDS", stored)
    for cached in (calibrated.stored, calibrated.stored_evidence, calibrated.runs):
        cached.cache_clear()
    (run / "tables").mkdir(parents=True)
    (run / "index.html").write_text("Made on 2026-01-02 at commit <code>0123456789ab</code>.", encoding="utf-8")
    yield run
    for cached in (calibrated.stored, calibrated.stored_evidence, calibrated.runs):
        cached.cache_clear()


def test_a_calibration_is_stored_beside_others_and_its_cards_say_what_it_found(cards, folders):
    run = folders
    numbers = dict.fromkeys(["slope_low", "before", "mean_dose_0", "share_seed", "share_items"], 0.1)
    numbers |= {
        "mean_dose_1": 0.6,
        "mean_dose_-1": 0.0,
        "sd_dose_-1": 9.9,
        "slope": 0.5,
        "slope_high": 0.9,
        "sd_dose_0": 0.1,
        "sd_dose_1": 0.1,
        "share_dose": 0.8,
        "seeds": 3,
    }
    numbers |= {
        "spearman": 0.9,
        "q": 0.01,
        "verdict": SEES,
        "smallest_dose": 1.0,
        "occupations": "all",
        "group": "inside",
    }
    rows = [{"measure": "SEAT (sent-weat6)"} | numbers, {"measure": "SEAT (sent-weat7)"} | numbers | {"q": 0.3}]
    pd.DataFrame(rows).to_csv(run / "tables/calibrated_calibration.csv", index=False)
    pairs = [("SEAT (sent-weat6)", other, 0.9, 0.5, 1.0, q) for other, q in (("GEST rate", 0.01), ("WEAT (C6)", 0.2))]
    encoders = pd.DataFrame({"encoder": ["mine", "calibrated-dose-0-seed0"], "sha256": ["a" * 64, "b" * 64]})
    encoders.to_csv(run / "encoders.csv", index=False)
    columns = ["measure_a", "measure_b", "spearman", "low", "high", "q"]
    pd.DataFrame(pairs, columns=columns).to_csv(run / "tables/calibrated_agreement.csv", index=False)
    for _ in range(2):  # a second time it replaces its rows
        cards.store(run, "config/calibrate.yaml", "tiny")
        for cached in (calibrated.stored, calibrated.stored_evidence, calibrated.runs):
            cached.cache_clear()
    table = calibrated.stored("calibration")
    assert table.loc[table["encoder"] == "tiny", "card"].tolist() == ["seat_effect_size"] * 2
    assert dict(cards.card("seat_effect_size"))["moves with, on tiny"] == "sent-weat6: GEST rate 0.90 [0.50, 1.00]"
    pairs = calibrated.stored("calibration_agreement")
    assert sorted(pairs.loc[pairs["encoder"] == "tiny", "card"]) == ["gest_stereotype_rate", "seat_effect_size"]
    about = calibrated.runs()["tiny"]
    assert (about["commit"], about["date"], about["sha256"]) == ("0123456", "2026-01-02", "a" * 64)
    assert about["units"].startswith("3 encoders at each of the doses 0, 1,")
    fields = dict(cards.card("seat_effect_size"))
    own = "tiny 0.50 [0.10, 0.90])"
    n = table.loc[table["measure"] == "SEAT (sent-weat6)", "encoder"].nunique()
    assert f"followed in {n} of {n} encoders" in fields["on real encoders (sent-weat6)"]
    followed, _, _ = fields["on real encoders (sent-weat7)"].partition(")")
    assert f"of {n} encoders" in followed and "tiny" not in followed  # q is too large
    assert all(fields[f"on real encoders (sent-weat{test})"].endswith(own) for test in (6, 7))
    assert fields["in short"] == "real encoders: followed in some (6)"
    assert dict(cards.card("gest_stereotype_rate"))["price"].startswith(
        "13 processor minutes on BERT-base (computed: 297,"
    )
    assert dict(cards.card("disco"))["price"].startswith("not run: ")
