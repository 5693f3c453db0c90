"""CEAT in all tests and readings: summaries over seeds, printed values, dropped words, what is missing."""

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.papers.orgad2022.ceat import ceat, contexts, dropped_words
from biasflow.papers.orgad2022.overview import table1
from biasflow.results.scores import NA, concatenate
from biasflow.results.tables import write_table
from biasflow.stimuli.ceat_sets import WORDS, ceat_tests, words_of
from tests.unit.papers.orgad2022.made_up import MODELS as TUNED
from tests.unit.papers.orgad2022.made_up import SIX, run, scores, with_diverged, with_value, without

MODELS = ["random", "pretrained", *TUNED]
ROBERTA = "roberta-base"
PARTS = ("ceat", "training")
KEYS = ["test", "order", "variance", "model"]
STATED = ("concepts", "spread")


@pytest.fixture(scope="module")
def tiny():
    return scores(parts=PARTS)


def cells(table, encoder="tiny"):
    own = table[table["encoder"] == encoder]
    assert not own.duplicated(KEYS).any()
    return own.set_index(KEYS).sort_index()


def row_of(table, model, test="C6", reading=STATED, encoder="tiny"):
    return cells(table, encoder).loc[(test, *reading, model)]


def test_a_row_per_test_order_variance_and_model(tiny):
    table = ceat(run(tiny))
    table = table[table["encoder"] == "tiny"]
    assert len(table) == 2 * 2 * 2 * 6 and len(cells(table)) == len(table)
    assert table["model"].head(6).tolist() == MODELS
    readings = table[KEYS[:3]].drop_duplicates().apply(tuple, axis=1).tolist()
    assert readings[:5] == [
        ("C6", "concepts", "spread"),
        ("C6", "concepts", "sampling"),
        ("C6", "genders", "spread"),
        ("C6", "genders", "sampling"),
        ("C7", "concepts", "spread"),
    ]
    assert set(table["status"]) == {"run"} and (table["diverged"] == "").all()


def test_each_reading_has_its_own_numbers(tiny):
    keys = {"strategy": "plain", "dataset": "C7", "variant": "genders-sampling", "seed": "5"}
    own = with_value(tiny, -0.32, metric="ceat_effect_size", **keys)
    own = with_value(own, 0.3, metric="ceat_p_two_sided", **keys)
    own = with_value(own, 0.85, metric="ceat_p_one_sided", **keys)
    own = with_value(own, 0.7, metric="ceat_tau_squared", **keys)
    there = np.logical_and.reduce([own[key] == value for key, value in keys.items()])
    table = ceat(run(own.assign(n=own["n"].mask(there, 400))))
    row = row_of(table, "none", "C7", ("genders", "sampling"))
    values = [0, -0.32, 0.02]
    assert row["effect_size"] == pytest.approx(np.mean(values)) and row["n"] == 3
    assert row["effect_size_sd"] == pytest.approx(np.std(values, ddof=1))
    assert row["significant_two_sided"] == row["significant_one_sided"] == 2
    assert row["p_two_sided_median"] == 0.01 and row["p_one_sided_median"] == 0.005
    assert row["tau_squared"] == pytest.approx(0.3) and row["draws"] == 400
    others = cells(table).drop(index=("C7", "genders", "sampling", "none"))
    before = cells(ceat(run(tiny))).drop(index=("C7", "genders", "sampling", "none"))
    same = ["effect_size", "effect_size_sd", "n", "significant_two_sided", "p_one_sided_median", "tau_squared"]
    pd.testing.assert_frame_equal(others[same], before[same])


def test_both_sides_of_the_test_are_counted_at_the_level(tiny):
    # p is 0.2 two-sided and 0.1 one-sided for subsampling; here one seed has 0.08 and 0.04.
    keys = {"strategy": "subsampling", "seed": "0", "dataset": "C6"}
    own = with_value(tiny, 0.08, metric="ceat_p_two_sided", **keys)
    own = with_value(own, 0.04, metric="ceat_p_one_sided", **keys)
    row = row_of(ceat(run(own)), "subsampling")
    assert row["significant_two_sided"] == 0 and row["significant_one_sided"] == 1


def test_changes_from_none_are_tested_over_seeds():
    six = scores(seeds=SIX, parts=PARTS, tests=["C6"])
    table = ceat(run(six))
    over, none = row_of(table, "oversampling"), row_of(table, "none")
    assert over["change"] == pytest.approx(0.1) and over["pairs"] == 6 and over["p_change"] == pytest.approx(2 / 2**6)
    # Four models are compared with none; the pretrained encoder has no seed to be paired by.
    assert over["p_change_holm"] == pytest.approx(4 * 2 / 2**6)
    assert row_of(table, "pretrained")["pairs"] == 0 and row_of(table, "random")["pairs"] == 6
    assert np.isnan(none["change"]) and np.isnan(none["p_change"]) and pd.isna(none["pairs"])


def test_published_values_stand_beside_the_stated_roles_of_c6():
    table = ceat(run(scores(encoder=ROBERTA, parts=PARTS)))
    printed = table[table["effect_size_published"].notna()]
    assert printed["model"].tolist() == MODELS
    assert set(printed[KEYS[:3]].apply(tuple, axis=1)) == {("C6", *STATED)}
    assert printed["effect_size_published"].tolist() == [0.12, 0.49, 0.22, 0.29, 0.22, 0.23]
    row = row_of(table, "oversampling", encoder=ROBERTA)
    assert row["effect_size_difference"] == pytest.approx(0.11 - 0.29)


def test_it_agrees_with_table_1():
    made = run(scores())
    ours = cells(ceat(made)).loc[("C6", *STATED)]
    theirs = table1(made).dropna(subset="ceat").set_index("model")
    for model in MODELS:
        row, other = ours.loc[model], theirs.loc[model]
        assert row["effect_size"] == other["ceat"] and row["n"] == other["ceat_seeds"]
        assert row["significant_two_sided"] == other["ceat_significant"]


def test_diverged_seeds_are_left_out_and_listed(tiny):
    table = ceat(run(with_diverged(tiny, "oversampling", 5, 11)))
    row = row_of(table, "oversampling")
    assert row["diverged"] == "seeds 5, 11" and row["n"] == 1 and row["effect_size"] == pytest.approx(0.1)
    assert row["pairs"] == 1 and np.isnan(row["effect_size_sd"]) and row["significant_two_sided"] == 1
    assert row_of(table, "none")["diverged"] == "" and row_of(table, "none")["n"] == 3
    lost = row_of(ceat(run(with_diverged(tiny, "oversampling", 0, 5, 11))), "oversampling")
    assert lost["n"] == 0 and np.isnan(lost["effect_size"]) and pd.isna(lost["significant_two_sided"])


def test_a_seed_without_an_effect_is_left_out(tiny):
    keys = {"strategy": "plain", "seed": "0", "variant": "concepts-spread", "dataset": "C6"}
    none = with_value(tiny, np.nan, **keys)
    table = ceat(run(none.assign(n=none["n"].mask(none["value"].isna(), 0))))
    row = row_of(table, "none")
    assert row["n"] == 2 and row["effect_size"] == pytest.approx(0.015)
    assert row["draws"] == 1000 and row["significant_two_sided"] == 2


@pytest.mark.parametrize(
    ("named", "strategy", "keys"),
    [
        ("oversampling", "oversampling", {"variant": "genders-sampling", "metric": "ceat_tau_squared", "seed": "5"}),
        ("none", "plain", {"dataset": "C7", "seed": "0"}),
        ("none", "plain", {"dataset": "C7"}),
        ("scrubbing", "scrubbing", {"variant": "concepts-sampling"}),
        ("random", "random", {"dataset": "C7", "variant": "genders-spread"}),
        ("pretrained", NA, {"dataset": "C7", "variant": "genders-spread"}),
    ],
)
def test_a_gap_is_an_error_that_names_encoder_and_strategy(named, strategy, keys, tiny):
    with pytest.raises(BiasflowError, match=rf"encoder tiny, strategy {named}.*CEAT"):
        ceat(run(without(tiny, strategy=strategy, **keys)))


def test_encoders_that_were_not_run_say_so():
    not_run = {ROBERTA: "no weights", "other": "too large"}
    table = ceat(run(scores(parts=PARTS, tests=["planted"]), not_run=not_run))
    assert table["encoder"].unique().tolist() == ["tiny", ROBERTA, "other"]
    own = table[table["encoder"] == ROBERTA]
    assert set(own["status"]) == {"not run: no weights"} and own["model"].tolist() == MODELS
    assert own["effect_size_published"].notna().all() and own["effect_size"].isna().all() and own["n"].isna().all()
    (status,) = table.loc[table["encoder"] == "other", "status"]
    assert status == "not run: too large"


def test_a_run_without_ceat_gives_the_reason():
    part = concatenate([scores(encoder=name, parts=["training"]) for name in (ROBERTA, "tiny")])
    table = ceat(run(part, lacks={("bios/plain/seed0", "ceat"): "no tests"}))
    assert set(table["status"]) == {"not run: no tests"} and len(table) == 7
    assert set(ceat(run(part))["status"]) == {"not run: not asked for"}


def test_printed_values_of_a_test_that_was_not_run_have_their_own_rows():
    table = ceat(run(scores(encoder=ROBERTA, parts=PARTS, tests=["planted"])))
    printed = table[table["test"] == "C6"]
    assert printed["model"].tolist() == MODELS and set(printed["status"]) == {"not run: not asked for"}
    assert set(table.loc[table["test"] == "planted", "status"]) == {"run"}
    assert table.loc[table["test"] == "planted", "effect_size_published"].isna().all()


def counts(tests, **used):
    words = words_of(tests.values())
    table = pd.DataFrame({"word": words, "found": 500, "used": [used.get(word, 200) for word in words]})
    return table.assign(wanted=200, text="english-wikipedia")


def test_every_word_has_its_counts(tmp_path):
    both = concatenate([scores(encoder=name, parts=PARTS) for name in ("tiny", "other")])
    counts(ceat_tests(["C6", "C8"]), Donna=0, art=7).to_csv(tmp_path / "counts.csv", index=False)
    files = {"ceat_counts": {"tiny": tmp_path / "counts.csv"}, "ceat_words": {"ceat": WORDS}}
    table = contexts(run(both, not_run={ROBERTA: "no weights"}, files=files))
    assert set(table["encoder"]) == {"tiny", "other", ROBERTA}
    own = table[table["encoder"] == "tiny"].set_index("word")
    assert own.index.tolist() == words_of(ceat_tests(["C6", "C8"]).values())
    assert own.loc["Donna", "sets"] == "C6 female names" and own.loc["art", "sets"] == "C8 arts"  # C7 was not asked for
    assert own.index[own["short"]].tolist() == ["Donna", "art"] and set(own["status"]) == {"run"}
    assert own.loc["art", ["text", "wanted", "found", "used"]].tolist() == ["english-wikipedia", 200, 500, 7]
    rest = table[table["encoder"] != "tiny"].set_index("encoder")
    assert (
        rest.loc[ROBERTA, "status"] == "not run: no weights" and rest.loc["other", "status"] == "not run: not asked for"
    )
    assert (rest[["word", "sets", "text"]] == "").all(axis=None) and rest[["wanted", "short"]].isna().all(axis=None)
    write_table(table, *(tmp_path / f"table.{kind}" for kind in ("csv", "tex", "html")), caption="")
    assert len(pd.read_csv(tmp_path / "table.csv")) == len(table)


def test_counts_of_another_kind_are_named(tmp_path):
    counts(ceat_tests(["C6"])).drop(columns=["found", "text"]).to_csv(tmp_path / "counts.csv", index=False)
    files = {"ceat_counts": {"tiny": tmp_path / "counts.csv"}, "ceat_words": {"ceat": WORDS}}
    with pytest.raises(BiasflowError, match=r"tiny.*text, found"):
        contexts(run(scores(parts=PARTS), files=files))


def test_a_run_without_contexts_says_so(tiny):
    table = contexts(run(tiny))
    assert table["encoder"].tolist() == ["tiny"] and table["status"].tolist() == ["not run: not asked for"]


def test_dropped_words_are_listed_by_test():
    tests = ceat_tests(["C6", "C7", "C8"])
    words = dropped_words({"tiny": counts(tests, Donna=0, Amy=7, art=0, math=0, he=3), "other": counts(tests)}, tests)
    words = words.set_index(["encoder", "test"])
    assert words["words_dropped"].to_dict() == {
        ("tiny", "C6"): "Donna",
        ("tiny", "C7"): "math, art",
        ("tiny", "C8"): "art",
        **{("other", name): "" for name in tests},
    }
    assert words["least_contexts"].tolist() == [7, 3, 3, 200, 200, 200]


def test_dropped_words_stand_in_every_row_of_their_test(tmp_path):
    both = concatenate([scores(encoder=name, parts=PARTS) for name in ("tiny", "other")])
    file = tmp_path / "counts.csv"
    counts(ceat_tests(["C6", "C7"]), Donna=0, Amy=7).to_csv(file, index=False)
    files = {"ceat_counts": {"tiny": file, "not of the paper": tmp_path}, "ceat_words": {"ceat": WORDS}}
    table = ceat(run(both, not_run={ROBERTA: "no weights"}, files=files))
    own = table[(table["encoder"] == "tiny") & (table["test"] == "C6")]
    assert set(own["words_dropped"]) == {"Donna"} and set(own["least_contexts"]) == {7} and len(own) == 24
    rest = table.drop(index=own.index)
    assert set(rest["words_dropped"]) == {""}
    assert rest.loc[rest["encoder"] != "tiny", "least_contexts"].isna().all()


def test_counts_that_lack_a_column_or_a_word_are_named():
    tests = ceat_tests(["C6"])
    with pytest.raises(BiasflowError, match=r"tiny.*used"):
        dropped_words({"tiny": counts(tests).drop(columns="used")}, tests)
    with pytest.raises(BiasflowError, match=r"tiny.*John.*C6"):
        dropped_words({"tiny": counts(tests).query("word != 'John'")}, tests)


def test_it_can_be_written(tiny, tmp_path):
    table = ceat(run(with_diverged(tiny, "plain", 0), not_run={ROBERTA: "no weights"}))
    paths = [tmp_path / f"table.{kind}" for kind in ("csv", "tex", "html")]
    write_table(table, *paths, caption="")
    assert len(pd.read_csv(paths[0])) == len(table)
    assert pd.api.types.is_float_dtype(table["effect_size"]) and pd.api.types.is_integer_dtype(table["n"])
