"""Maps, trade-offs and the page's contents from a small matrix."""

import numpy as np
import pandas as pd
import pytest

from biasflow.overview.about import PermutationTest
from biasflow.overview.contents import contents
from biasflow.overview.judgements import DIFFERS, NOT_VIABLE, SAME, UNCLEAR, UNMEASURED, VIABLE
from biasflow.overview.maps import UNTOUCHED, maps
from biasflow.overview.measured import with_test
from biasflow.overview.tradeoff import HEIGHT, WIDTH, plots
from biasflow.papers.calibrated.values import TEXTS
from biasflow.papers.judge import SEES
from biasflow.results.matrix import matrix
from biasflow.results.scores import concatenate, tidy
from tests.unit.overview import made_up


@pytest.fixture(scope="module")
def found():
    return list(maps(made_up.run()[0]))


@pytest.fixture(scope="module")
def whole():
    return contents(*made_up.run())


def test_a_map_for_every_task_and_head(found):
    assert [each.title for each in found] == [
        "bert, as pre-trained",
        "bert, fine-tuned on bios",
        "bert, fine-tuned on bios, retrained heads",
    ]
    assert [each.is_own for each in found] == [True, True, False]


def test_what_is_left_and_viable(found):
    left = found[0].table("left")
    assert left.loc[UNTOUCHED, "Strength"] == 1 and left.loc["alpha", "Strength"] == 0.25
    assert left.loc["beta", "Strength"] == 1.5
    # alpha doubles the perplexity; zeta's is 4 % higher
    assert found[0].rows["quality"].to_dict() == {
        UNTOUCHED: VIABLE,
        "zeta": VIABLE,
        "alpha": NOT_VIABLE,
        "beta": VIABLE,
        "gamma": VIABLE,
    }


def test_methods_without_a_cost_do_not_hide_those_that_are_not_viable():
    scored = made_up.scores()
    costs = scored["metric"] == "perplexity"
    scored.loc[costs & (scored["method"] != "none"), ["value", "low", "high"]] *= 100
    scored = scored[~(costs & (scored["method"] == "gamma"))]
    lines = contents(matrix(scored, made_up.plan(scored)), made_up.plan(scored), scored).summary
    why = "(every cost at most 5 % worse): 3 lose quality; for 1 no cost was measured."
    assert any(why in line for line in lines)


def test_trade_off_names_its_front_and_stays_in_the_drawing(found):
    plot = next(plot for plot in plots(found[0]) if plot.bias == "Strength")
    assert plot.cost == "perplexity" and set(plot.front) == {"alpha", "zeta", "gamma", "beta"}
    assert {point.kind for point in plot.points if point.name == UNTOUCHED} == {"untouched"}
    for point in plot.points:
        assert 0 <= point.x <= WIDTH and 0 <= point.y <= HEIGHT
    by_name = {point.name: point for point in plot.points}
    assert by_name["alpha"].x > by_name["zeta"].x  # a higher perplexity
    assert by_name["alpha"].y > by_name["zeta"].y  # less bias: lower on the page
    bars = next(plot for plot in plots(found[0]) if plot.bias == "Distance").points[0].y_bar
    assert bars[0] > bars[1]  # pixels grow downwards


def test_a_method_of_one_seed_is_judged_by_the_untouched_model_of_that_seed():
    """Seed 1 is better than seed 0 at everything: alpha, measured with it alone, changes nothing."""
    scored = made_up.fine_tuned().query("head == 'own' and method == 'none' and strategy == 'plain'")
    scored = pd.concat([scored, scored[scored["seed"] == "1"].assign(method="alpha")])
    scored.loc[scored["seed"] == "0", "value"] -= 0.3
    (only,) = maps(matrix(scored, made_up.plan(scored)))
    assert (only.table("left").loc["alpha"] == 1).all() and not list(plots(only))  # nor does it cost anything
    scored.loc[scored["method"] == "alpha", "value"] -= 0.1
    (only,) = maps(matrix(scored, made_up.plan(scored)))
    (plot,) = plots(only)
    assert plot.moved == ("alpha",) and only.rows.loc["alpha", "quality"] == UNCLEAR  # one seed has no interval
    points = {point.name: point for point in plot.points}
    assert points["alpha"].x < points[UNTOUCHED].x  # a lower accuracy, though above the mean over seeds


def test_what_was_measured_on_seeds_of_its_own_is_compared_with_nothing():
    scored = made_up.fine_tuned().query("head == 'own' and strategy == 'plain'")
    scored = scored[(scored["method"] == "none") != (scored["seed"] == "2")]  # alpha on seed 2 alone
    (only,) = maps(matrix(scored, made_up.plan(scored)))
    assert only.table("left").loc["alpha"].isna().all() and only.rows.loc["alpha", "quality"] == UNMEASURED
    assert not list(plots(only))


def test_a_cell_where_nothing_is_left_has_a_mark_and_so_has_one_that_cannot_be_compared():
    scored = made_up.scores(delta=(0.0, 10.0))
    planned = made_up.plan(scored)
    cells = {name: cells for name, _, cells in contents(matrix(scored, planned), planned, scored).sections[0].heat.rows}
    assert 0 < cells["delta"][1].size < cells["alpha"][1].size < cells[UNTOUCHED][1].size
    scored = scored[scored["method"] != "none"]
    heat = contents(matrix(scored, planned), planned, scored).sections[0].heat
    assert {(cell.kind, cell.size > 0) for _, _, of in heat.rows for cell in of} == {("unknown", True)}


def test_what_got_worse_without_a_claim_or_was_turned_over_stands_in_the_row_of_the_method():
    """LEACE on splade-tiny: OCCTMP, of a head that expects no pronoun, and GEST, which is nearer on the other side."""
    of_gest = {"metric": "gest_stereotype_rate", "part": "all", "variant": "base10"}
    rows = [
        {"method": method, **keys, "value": value, "low": low, "high": high, "n": 300}
        for method, keys, value, low, high in (
            ("none", {"metric": "occtmp_diff"}, 1.17, 1.07, 1.29),
            ("leace", {"metric": "occtmp_diff"}, 1.77, 1.69, 1.85),
            ("none", {"metric": "occtmp_p_sum"}, 0.008, np.nan, np.nan),
            ("none", of_gest, 1.21, 1.16, 1.26),
            ("leace", of_gest, 0.95, 0.90, 0.99),
        )
    ]
    scored = tidy(pd.DataFrame(rows).fillna({"part": "-", "variant": "-"}), encoder="bert", dataset="data")
    (only,) = contents(matrix(scored, made_up.plan(scored)), made_up.plan(scored), scored).answers
    (leace,) = only.methods
    assert (leace.nearer, leace.farther, leace.tested) == (["GEST rate"], [], 1)  # OCCTMP judges nothing
    assert leace.aside == {"farther": ["OCCTMP 1.170 → 1.770"], "past neutral": ["GEST rate 1.210 → 0.950"]}
    assert "OCCTMP 1.170 → 1.770" in only.helps and "GEST rate 1.210 → 0.950" in only.helps


def seeds(encoders=4, **values):
    """The summary of encoders that differ in their seed, a little in all scores: of methods beside those of every run,
    (strength, perplexity)."""
    scored = concatenate(made_up.scores(encoder=f"e{number}", **values) for number in range(encoders))
    up = (
        scored["encoder"].str[1:].astype(int)
        / 100
        * ((scored["method"] != "none") & (scored["metric"] != "perplexity"))
    )
    scored["value"] = scored["value"] * (1 + up)
    planned = made_up.plan(scored)
    found = contents(matrix(scored, planned), planned, scored, dict.fromkeys(scored["encoder"], "e0"))
    return found.answers[0].helps


def test_after_one_seed_no_method_is_named(whole):
    first = whole.answers[0]
    assert first.helps == (
        "On this one model, 3 of 4 methods move more measures nearer to the neutral value than farther from it, by the "
        "95 % interval of each change; 2 of these 3 keep quality. No method is named best: that takes at least 3 "
        "encoders that differ only in their seed, and this run has 1."
    )
    assert f"{first.title}: {first.helps}" in whole.summary
    # Distance makes no claim, so that it judges no method; alpha doubles the perplexity
    assert [(row.name, row.nearer, row.farther, row.tested, row.price, row.quality) for row in first.methods] == [
        ("alpha", ["Strength"], [], 1, "perplexity 100.0 % worse [99.9, 100.1]", NOT_VIABLE),
        ("beta", [], ["Strength"], 1, "no cost is worse", VIABLE),
        ("gamma", ["Strength"], [], 1, "no cost is worse", VIABLE),
        ("zeta", ["Strength"], [], 1, "perplexity 4.0 % worse [3.9, 4.1]", VIABLE),
    ]


def test_three_seeds_name_a_winner_with_an_interval():
    said = seeds()
    assert said.startswith("zeta reduces bias: it removes 4")
    assert "mean over 4 encoders that differ only in their seed of " in said
    assert "; adjusted for the choice among the 3 compared methods" in said
    assert (
        said.endswith(" Every other method removes less. Its price: perplexity 4.0 % worse [4.0, 4.0].")
        and "alpha" not in said
    )


def test_a_map_without_a_control_says_so_and_one_with_says_how_little_it_changes(whole):
    assert "has no control" in whole.sections[0].notes[0]
    moved = [
        {"method": method, "metric": "vector_change", "value": value}
        for method, value in (("none", 0.0), ("zeta", 0.31), ("zeta-random0", 0.004))
    ]
    scored = made_up.scores(**{"zeta-random0": (1.9, 10.0)})
    scored = concatenate([scored, tidy(pd.DataFrame(moved), encoder="bert", dataset="text")])
    (note,) = contents(matrix(scored, made_up.plan(scored)), made_up.plan(scored), scored).sections[0].notes
    assert note.endswith("as a share of its length: zeta 0.31 (controls: zeta-random0 0.004).")


def nli(fairness, parity, accuracy, label, method="none"):
    rows = {"nli_fairness": fairness, "nli_parity": parity, "nli_accuracy": accuracy, "largest_label_share": label}
    return [
        {"method": method, "metric": metric, "value": value, "low": value, "high": value, "n": 900}
        | {"variant": "majority" if metric in ("nli_fairness", "nli_parity") else "-"}
        for metric, value in rows.items()
    ]


def test_a_model_that_always_says_the_same_claims_no_bias():
    """NLI Fairness of 0.001 with parity 1.000: all pairs are entailments."""
    rows = nli(0.001, 1.0, 0.001, 0.999) + nli(0.6, 0.8, 0.75, 0.75, method="zeta")
    scored = tidy(
        pd.DataFrame(rows), encoder="bert", task="nli", strategy="plain", seed="0", head="own", dataset="pairs"
    )
    found = contents(matrix(scored, made_up.plan(scored)), made_up.plan(scored), scored)
    (one,) = found.encoders["bert"]
    assert (one.verdict, one.caution) == ("no claim", "one label has 95 % or more of the predictions")
    assert one.beside.startswith("parity 1.000, called neutral 0.001")
    assert found.answers[0].bias.startswith("No score of bias can be judged here, so nothing is claimed.")
    cells = {name: cells for name, _, cells in found.sections[0].heat.rows}
    assert cells["zeta"][0].kind == "unknown"  # no nearer than a model of which nothing is known


def test_readings_of_a_test_that_disagree_are_named():
    rows = [
        {"metric": "crows_pairs_score", "part": "all", "variant": variant, "value": value, "n": 262}
        | {"low": value - 0.05, "high": value + 0.05}
        for variant, value in {"exact": 0.57, "released": 0.57, "aul": 0.49, "aula": 0.51}.items()
    ]
    scored = tidy(pd.DataFrame(rows), encoder="bert", dataset="data", method="none")
    found = contents(matrix(scored, made_up.plan(scored)), made_up.plan(scored), scored)
    assert found.encoders["bert"][0].contrary == ("aul", "aula")
    assert found.answers[0].bias.endswith(" In other readings of the same test, CrowS-Pairs (aul, aula) shows no bias.")


def test_of_encoders_that_differ_in_their_seed_the_first_is_shown_and_all_are_compared():
    names = ["a", "b", "c"]
    scored = concatenate(made_up.scores(encoder=name) for name in names)
    planned = pd.concat([made_up.plan(scored[scored["encoder"] == name]) for name in names])
    run = matrix(scored, planned), planned, scored
    found, every = contents(*run, {"unmeasured": "unmeasured", "a": "unmeasured", "b": "unmeasured"}), contents(*run)
    assert list(found.encoders) == ["a", "c"] and list(found.other_seeds) == ["b"]
    assert {each.encoder for each in found.sections} == {each.encoder for each in found.shares} == {"a", "c"}
    assert list(every.encoders) == names and not every.other_seeds
    pd.testing.assert_frame_equal(found.pairs, every.pairs)


def test_items_that_were_left_out_are_counted_by_test_with_the_models_and_reasons():
    keys = ["encoder", "method", "variant", "dataset", "part", "value", "n"]
    crows, gest = ("crows_pairs", "crows-pairs-all"), ("gest", "gest")
    rows = [(name, method, *crows, "long", 1.0, 1508) for name in ("a", "b") for method in ("none", "hard")]
    rows += [("a", "none", *gest, why, number, 3565) for why, number in (("long", 2.0), ("empty", 1.0))]
    left_out = tidy(pd.DataFrame(rows, columns=keys), metric="left_out")
    scored = concatenate([*(made_up.scores(encoder=name) for name in ("a", "b")), left_out])
    plan = made_up.plan(scored[scored["metric"] != "left_out"])
    found = contents(matrix(scored, plan), plan, scored)
    assert found.limits == [
        "CrowS-Pairs (crows-pairs-all): 1 of 1,508 items left out (long), on a, b.",
        "GEST (gest): 3 of 3,565 items left out (empty (1); long (2)), on a.",
    ]
    assert found.summary[-2] == f"{found.limits[0]} The page says so of 1 more."


def test_a_limited_run_says_so_first_and_in_every_limited_column():
    scored = made_up.scores()
    limited = scored.assign(dataset=scored["dataset"] + "-limit500")
    plan = made_up.plan(limited)
    found = contents(matrix(limited, plan), plan, limited)
    assert (
        found.summary[0] == found.limits[0]
        and found.limits[0].startswith("These datasets are samples")
        and "-limit500" in found.summary[0]
    )
    headers = [header for section in found.sections for header, *_ in section.heat.columns]
    assert headers and all("-limit500" in header for header in headers)
    whole = matrix(scored, made_up.plan(scored)), made_up.plan(scored), scored
    assert contents(*whole).limits == []
    of_holes = made_up.plan(limited).assign(status="not run", reason="it has no head")
    unmeasured = pd.concat([whole[1], of_holes])
    assert contents(matrix(scored, unmeasured), unmeasured, scored).limits == []
    said = ["bios: 26 of 28 professions dropped (fewer than 30 of a gender): dj (1 women, 9 men), and 25 more"]
    assert contents(*whole, dropped=said).limits == contents(*whole, dropped=said).summary[:1] == said


@pytest.mark.parametrize(
    ("value", "p", "said"),  # corrected p of an effect above 0, and of one below
    [
        (0.9, (0.079, 0.01), SAME),
        (0.9, (0.04, 1), DIFFERS),
        (0.9, (np.nan, np.nan), DIFFERS),
        (-0.9, (0.01, 0.079), SAME),
        (-0.9, (1, 0.04), DIFFERS),
    ],
)
def test_an_effect_size_needs_its_permutation_test_to_differ(whole, value, p, said):
    measured = next(one for one in whole.encoders["bert"] if one.verdict == DIFFERS)
    found = with_test(measured, value, PermutationTest("p", *p))
    assert (found.test, found.verdict) == ("p", said)
    assert found.significant == (said == DIFFERS and not np.isnan(p[0]))  # each of several seeds has its own test
    assert with_test(measured, value, None) == measured


def test_a_run_says_of_its_measures_whether_they_were_calibrated_on_this_kind_of_encoder():
    lines = contents(*made_up.run(), kinds={"bert": ""}).answers[0].trusted
    assert lines == ["Never tested with a planted bias in an encoder without a masked-LM head: Strength, Distance."]
    embedded = contents(*made_up.run(), kinds={"bert": "embedded"}).answers[0].trusted
    assert embedded == [
        "Followed the known bias that we planted in encoders of the embedded language: Strength, Distance."
    ]
    calibration = pd.DataFrame({"measure": [TEXTS, "Strength"], "occupations": ["seen", "all"], "q": 0.01, "seeds": 3})
    calibration = calibration.assign(verdict=SEES)
    (what, own, _) = contents(*made_up.run(), kinds={"bert": ""}, calibrations={"bert": calibration}).answers[0].trusted
    assert what.startswith("This run planted a known bias") and own == "Followed it: Strength."
    assert contents(*made_up.run()).answers[0].trusted == []  # nothing is known of its weights
