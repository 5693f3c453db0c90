"""What the audit says of a made-up paper without mistakes, of the same with one mistake, and of the real one."""

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from biasflow.base.errors import BiasflowError
from biasflow.papers.dawkins2024.audit import AUDIT, audit
from biasflow.papers.dawkins2024.rows import ATTENTION, BASE, DEBIAS, LAYER_11, LAYER_12, LEVELS, SENT
from biasflow.papers.dawkins2024.table7 import viable_settings
from biasflow.papers.frames import Run
from biasflow.papers.ledger import AGREES, DISAGREES
from biasflow.papers.make import make_paper
from biasflow.papers.published import read_published
from biasflow.results.statistics import correlation
from tests.unit.papers.dawkins2024.audit.checks import NOT_COMPUTABLE, NOTE
from tests.unit.papers.dawkins2024.audit.recompute import DEPENDS, recomputed
from tests.unit.papers.dawkins2024.audit.tables import SNLI_TEST_PAIRS
from tests.unit.papers.dawkins2024.made_up import published

TEXT, EXAMPLES = published("text"), published("tables1_3_4")
NO_SCORES = pd.DataFrame()
BEST_FAIRNESS = {SENT: "0", LAYER_12: "0,0,1", LAYER_11: "0,0,1,1,1", ATTENTION: "1,1,0,0,1"}
FEW = settings(max_examples=8, deadline=None)


@dataclass(frozen=True)
class Paper:
    """The tables of a paper, made up or real."""

    table5: pd.DataFrame
    table6: pd.DataFrame
    table7: pd.DataFrame
    claims: pd.DataFrame
    examples: pd.DataFrame

    def audit(self):
        tables = {"table5": self.table5, "table6": self.table6, "table7": self.table7}
        tables |= {"text": self.claims, "tables1_3_4": self.examples}
        return recomputed(tables.__getitem__)

    def changed(self, table, mask, column, value):
        frame = getattr(self, table).copy()
        assert mask.sum() == 1
        frame.loc[mask, column] = value
        return replace(self, **{table: frame})


def made_up_table7():
    """76 rows of which everything is true that the paper says of its own."""
    random = np.random.default_rng(1)
    rows = []
    single = [(BASE, "", 0.40, 0.70, 16, 0.384, 0.90), (DEBIAS, "", 0.41, 0.69, 15, 0.39, 0.89)]
    single += [(SENT, "0", 0.42, 0.60, 10, 0.30, 0.86), (SENT, "1", 0.43, 0.61, 9, 0.30, 0.93)]
    best = {LAYER_12: (41, 0.6), LAYER_11: (130, 0.8), ATTENTION: (120, 0.7)}
    for level, length in ((LAYER_12, 3), (LAYER_11, 5), (ATTENTION, 5)):
        for i, bits in enumerate(product("01", repeat=length)):
            plane = bits[:2] == ("0", "1")
            if level == LAYER_12:
                strength, distance = (0.45, 0.65) if plane else (0.35, 0.55)
            else:
                strength, distance = 0.25 + 0.12 * plane, 0.40 + 0.12 * plane
                step = (0.05 if plane else -0.05) * (level == ATTENTION)
                strength, distance = strength + step, distance + step
            low = level == LAYER_12
            parity, accuracy = random.integers(1, 41 if low else 100), round(random.uniform(0.1, 0.5), 4)
            if ",".join(bits) == BEST_FAIRNESS[level]:
                parity, accuracy = best[level]
            snli = 0.80 + 0.07 * int(bits[-1]) - 0.0005 * (i // 2) - 0.003 * (level == ATTENTION)
            single.append((level, ",".join(bits), strength + 0.001 * i, distance + 0.001 * i, parity, accuracy, snli))
    for level, setting, strength, distance, parity, accuracy, snli in single:
        snli = round(snli * SNLI_TEST_PAIRS) / SNLI_TEST_PAIRS
        numbers = [strength, distance, parity / 164, accuracy, parity / 164 * accuracy, snli]
        rows.append([level, setting, *(round(number, 4) for number in numbers)])
    return pd.DataFrame(
        rows, columns=["level", "settings", "strength", "distance", "parity", "accuracy", "fairness", "snli_accuracy"]
    )


def table5_of(table7):
    rows = []
    for level, block in table7.groupby("level", sort=False):
        block, row = block.set_index("settings"), {"level": level}
        for measure in ("strength", "distance"):
            row |= {measure: block[measure].min(), f"{measure}_settings": block[measure].idxmin()}
        chosen = BEST_FAIRNESS.get(level, "")
        row |= {"fairness": block["fairness"][chosen], "fairness_settings": chosen}
        rows.append(row | {"snli_accuracy": block["snli_accuracy"][chosen]})
    return pd.DataFrame(rows)


def table6_of(table7):
    table7 = table7[table7["settings"] != ""]
    zero, one = (table7[table7["settings"].str[-1] == n_p].reset_index(drop=True) for n_p in "01")
    rows = []
    for level in (*LEVELS[2:], "all"):
        own = (zero["level"] == level) | (level == "all")
        gains = one["snli_accuracy"][own] - zero["snli_accuracy"][own]
        numbers = [zero["snli_accuracy"][own].mean(), one["snli_accuracy"][own].mean(), gains.mean(), gains.std()]
        rows.append([level, own.sum(), *(round(number, 4) for number in numbers)])
    return pd.DataFrame(
        rows, columns=["level", "model_pairs", "snli_accuracy_np0", "snli_accuracy_np1", "increase", "increase_sd"]
    )


def text_of(table7):
    claims = TEXT.set_index("id")
    row = table7.set_index(["level", "settings"])
    for column in ("parity", "accuracy", "fairness"):
        for which, model in (("base", (BASE, "")), ("best", (LAYER_11, BEST_FAIRNESS[LAYER_11]))):
            claim = f"{column}-{which}"
            value = row.loc[model, column] * (100 if claims.loc[claim, "unit"] == "percent" else 1)
            claims.loc[claim, "value"] = round(value, claims.loc[claim, "decimals"])
    found = stats.spearmanr(table7["strength"], table7["fairness"])
    claims.loc["spearman-rho", "value"] = round(found.statistic, 3)
    claims.loc["spearman-p", "value"] = round(found.pvalue, 2)
    return claims.reset_index()


@pytest.fixture(scope="module")
def made_up():
    table7 = made_up_table7()
    return Paper(table5_of(table7), table6_of(table7), table7, text_of(table7), EXAMPLES)


@pytest.fixture(scope="module")
def made_up_audit(made_up):
    return made_up.audit()


@pytest.fixture(scope="module")
def real():
    return Paper(*(published(f"table{n}") for n in (5, 6, 7)), TEXT, EXAMPLES)


@pytest.fixture(scope="module")
def real_audit(real):
    return real.audit()


def newly_disagreeing(before, after):
    """(claim, where) of which some reading agreed before and disagrees now."""
    assert len(before) == len(after)
    turned = (before["verdict"].to_numpy() == AGREES) & (after["verdict"].to_numpy() == DISAGREES)
    return set(after.loc[turned, ["claim", "where"]].itertuples(index=False, name=None))


def changed_rows(before, after):
    keys = ["claim", "where", "reading"]
    both = before.merge(after, on=keys, suffixes=("", "_after"))
    assert len(both) == len(before) == len(after)
    return set(both.loc[both["verdict"] != both["verdict_after"], "claim"])


def test_a_paper_without_mistakes_has_no_disagreement(made_up_audit):
    assert made_up_audit.loc[made_up_audit["verdict"] == DISAGREES].empty
    assert set(made_up_audit["verdict"]) == {AGREES, NOT_COMPUTABLE, NOTE}
    assert not made_up_audit.duplicated(["claim", "where", "reading"]).any()


AMOUNTS = st.floats(0.0015, 0.02).flatmap(lambda size: st.sampled_from([size, -size]))


@FEW
@given(data=st.data(), amount=AMOUNTS)
def test_a_wrong_number_of_table_6_is_found_and_nothing_else(made_up, made_up_audit, data, amount):
    depends = {
        "snli_accuracy_np0": ["mean-accuracy-n_p-0", "increase-is-difference-of-means"],
        "snli_accuracy_np1": ["mean-accuracy-n_p-1", "increase-is-difference-of-means"],
        "increase": ["mean-increase", "increase-is-difference-of-means"],
        "increase_sd": ["spread-of-increase"],
        "model_pairs": ["number-of-pairs"],
    }
    level = data.draw(st.sampled_from(LEVELS[3:]))  # SENT has one pair and no spread
    column = data.draw(st.sampled_from(list(depends)))
    own = made_up.table6["level"] == level
    value = made_up.table6.loc[own, column].item() + (int(np.sign(amount)) if column == "model_pairs" else amount)
    after = made_up.changed("table6", own, column, value).audit()
    assert newly_disagreeing(made_up_audit, after) == {(claim, f"table 6, {level}") for claim in depends[column]}
    assert changed_rows(made_up_audit, after) == set(depends[column])


@FEW
@given(data=st.data(), amount=AMOUNTS)
def test_a_wrong_number_of_table_5_is_found_and_nothing_else(made_up, made_up_audit, data, amount):
    depends = {
        "strength": ["best-strength", "same-strength-in-table-7"],
        "distance": ["best-distance", "same-distance-in-table-7"],
        "fairness": ["best-fairness", "same-fairness-in-table-7"],
        "snli_accuracy": ["best-fairness", "same-snli-accuracy-in-table-7"],
    }
    level, column = data.draw(st.sampled_from(LEVELS)), data.draw(st.sampled_from(list(depends)))
    own = made_up.table5["level"] == level
    value = made_up.table5.loc[own, column].item() + amount
    after = made_up.changed("table5", own, column, value).audit()
    expected = depends[column][level in LEVELS[:2] :]  # Base and the baseline have no settings to choose from
    assert newly_disagreeing(made_up_audit, after) == {(claim, f"table 5, {level}") for claim in expected}


@pytest.mark.parametrize("part", [0, 1])
def test_wrong_numbers_of_the_text_are_found_and_nothing_else(made_up, made_up_audit, part):
    """Every second number is wrong: exactly their claims fail."""
    names = sorted(set(TEXT["id"]) - {"occupations", "viability-threshold"} - {"stereoset-triples", "attention-heads"})
    wrong = made_up.claims["id"].isin(names[part::2])
    step = 3 * 10.0 ** -made_up.claims["decimals"].where(wrong, np.inf)
    after = replace(made_up, claims=made_up.claims.assign(value=made_up.claims["value"] + step)).audit()
    renamed = {"occupation-sentence-pairs": "same-pairs-for-each-occupation"}
    found = {claim for claim, _ in newly_disagreeing(made_up_audit, after)}
    assert found == {renamed.get(name, name) for name in names[part::2]}


def test_the_numbers_that_other_claims_use_are_used(made_up, made_up_audit):
    for name, claim in (("stereoset-triples", "stereoset-sentence-pairs"), ("attention-heads", "attention-subspaces")):
        after = made_up.changed("claims", made_up.claims["id"] == name, "value", 11).audit()
        assert {claim for claim, _ in newly_disagreeing(made_up_audit, after)} == {claim}
    occupations = made_up.changed("claims", made_up.claims["id"] == "occupations", "value", 163).audit()
    assert {claim for claim, _ in newly_disagreeing(made_up_audit, occupations)} >= {"same-pairs-for-each-occupation"}
    assert (occupations.query("claim == 'parity-is-a-share-of-occupations'")["verdict"] == DISAGREES).any()
    strict = made_up.changed("claims", made_up.claims["id"] == "viability-threshold", "value", 1).audit()
    assert "layer-12-weighted-viable" in changed_rows(made_up_audit, strict)


@FEW
@given(data=st.data(), amount=AMOUNTS)
def test_a_wrong_factor_or_product_of_table_7_is_found_in_its_row(made_up, made_up_audit, data, amount):
    eta = "fairness-is-accuracy-x-parity"
    column, finds = data.draw(
        st.sampled_from([("fairness", {eta}), ("accuracy", {eta}), ("parity", {"parity-is-a-share-of-occupations"})])
    )
    table7 = made_up.table7
    row = data.draw(st.sampled_from(list(table7.index[(table7["level"] == LAYER_11) & (table7["parity"] > 0.15)])))
    value = table7.loc[row, column]
    # Half a step of 1/164 is the largest distance to a multiple; a factor must move the product visibly.
    value += {"parity": 0.5 / 164, "accuracy": 5 * amount, "fairness": amount}[column]
    after = made_up.changed("table7", table7.index == row, column, value).audit()
    where = f"table 7, {LAYER_11} ({table7.loc[row, 'settings']})"
    found = newly_disagreeing(made_up_audit, after)
    assert {(claim, where) for claim in finds} <= found
    others = {w for claim, w in found if claim in (eta, "parity-is-a-share-of-occupations")}
    assert others == {where}
    # Intrinsic bias and SNLI accuracy do not change.
    assert not {c for c, _ in found if "strength" in c or "distance" in c or "mean" in c or "weighted" in c}


def one(table, level, setting):
    return (table["level"] == level) & (table["settings"] == setting)


@pytest.mark.parametrize(
    ("level", "setting", "column", "value", "claims"),
    [
        (LAYER_12, "1,0,1", "strength", 0.5, {"layer-12-extends-sent-1"}),
        (LAYER_12, "1,0,0", "distance", 0.3, {"best-distance", "record-distance", "steeper-at-layer-11"}),
        (LAYER_11, "1,1,0,0,0", "strength", 0.9, {"layer-11-plane-worst"}),
        (ATTENTION, "1,1,0,0,0", "strength", 0.9, {"attention-improves-strength", "attention-improved"}),
        (SENT, "1", "distance", 0.71, {"sent-distance"}),
        (SENT, "0", "strength", 0.39, {"sent-strength", "best-strength"}),
        (SENT, "0", "fairness", 0.2, {"sent-fairness", "record-fairness"}),
        (
            LAYER_12,
            "1,0,1",
            "snli_accuracy",
            0.7,
            {"layer-12-weighted-viable", "weighting-keeps-accuracy", "weighting-improved"},
        ),
        (LAYER_12, "1,0,0", "snli_accuracy", 0.88, {"layer-12-unweighted-unviable", "some-cutoff"}),
        (LAYER_11, "1,0,0,0,0", "snli_accuracy", 0.8695, {"viable-weighted-layer-11", "some-cutoff"}),
        (ATTENTION, "0,0,0,0,1", "fairness", 0.7, {"best-fairness", "record-fairness", "some-cutoff"}),
        (BASE, "", "parity", 0.5, {"parity-base", "fairness-is-accuracy-x-parity"}),
        (BASE, "", "snli_accuracy", 0.99, {"best-fairness", "same-snli-accuracy-in-table-7"}),
    ],
)
def test_each_statement_can_fail(made_up, made_up_audit, level, setting, column, value, claims):
    after = made_up.changed("table7", one(made_up.table7, level, setting), column, value).audit()
    assert {claim for claim, _ in newly_disagreeing(made_up_audit, after)} >= claims


def test_a_correlation_within_one_level_is_found(made_up, made_up_audit):
    table7 = made_up.table7
    attention = table7["level"] == ATTENTION
    fairness = table7["fairness"].mask(attention, table7["strength"])
    after = replace(made_up, table7=table7.assign(fairness=fairness)).audit()
    within = {each for each in newly_disagreeing(made_up_audit, after) if each[0] == "not-correlated-within-the-level"}
    assert within == {("not-correlated-within-the-level", f"sec. 5, {ATTENTION}")}


def test_settings_of_table_5_count_as_much_as_values(made_up, made_up_audit):
    own = made_up.table5["level"] == LAYER_11
    after = made_up.changed("table5", own, "strength_settings", "1,1,1,1,1").audit()
    where = f"table 5, {LAYER_11}"
    assert newly_disagreeing(made_up_audit, after) == {("best-strength", where), ("same-strength-in-table-7", where)}


@pytest.mark.parametrize(("table", "claim"), [("1", "example-order"), ("3", "example-s"), ("4", "example-d")])
def test_examples_can_fail(made_up, made_up_audit, table, claim):
    first = EXAMPLES.index == EXAMPLES.index[EXAMPLES["table"] == table][0]
    after = made_up.changed("examples", first, "p", 0.9).audit()
    assert {name for name, _ in newly_disagreeing(made_up_audit, after)} == {claim}


def test_rows_may_come_in_any_order(made_up, made_up_audit):
    def shuffled(frame):
        return frame.sample(frac=1, random_state=3)

    tables = (shuffled(frame) for frame in (made_up.table5, made_up.table6, made_up.table7, made_up.claims))
    after = Paper(*tables, made_up.examples).audit()
    assert not changed_rows(made_up_audit, after)


def row_of(audited, claim, where="", reading=""):
    found = audited[(audited["claim"] == claim) & audited["where"].str.contains(where, regex=False)]
    found = found[found["reading"].str.contains(reading, regex=False)]
    assert len(found) == 1
    return found.iloc[0]


def test_the_real_fairness_scores(real_audit):
    eta = real_audit[real_audit["claim"] == "fairness-is-accuracy-x-parity"]
    assert len(eta) == 76
    (wrong,) = eta[eta["verdict"] == DISAGREES].itertuples()
    assert (wrong.where, wrong.printed, float(wrong.recomputed)) == ("table 7, sent (1)", "0.1231", 0.06901)
    parity = real_audit[real_audit["claim"] == "parity-is-a-share-of-occupations"]
    assert len(parity) == 76 and set(parity["verdict"]) == {AGREES}
    share = row_of(real_audit, "accuracy-is-a-share-of-occupation-sentence-pairs")
    assert share["verdict"] == NOT_COMPUTABLE
    snli = real_audit[real_audit["claim"] == "snli-accuracy-is-a-share-of-test-pairs"]
    assert len(snli) == 76 and set(snli["verdict"]) == {AGREES}
    assert snli["recomputed"].iloc[0] == "8733/9824 = 0.88895"


def test_an_accuracy_that_no_number_of_right_answers_gives_is_found(made_up, made_up_audit):
    near = {round(k / SNLI_TEST_PAIRS, 4) for k in range(SNLI_TEST_PAIRS + 1)}
    impossible = next(value / 10_000 for value in range(8000, 10_000) if value / 10_000 not in near)
    row = one(made_up.table7, LAYER_12, "1,1,1")
    after = made_up.changed("table7", row, "snli_accuracy", impossible).audit()
    where = f"table 7, {LAYER_12} (1,1,1)"
    assert ("snli-accuracy-is-a-share-of-test-pairs", where) in newly_disagreeing(made_up_audit, after)


def test_slips_of_notation_are_notes(real_audit):
    notes = real_audit[real_audit["verdict"] == NOTE].set_index("claim")
    assert set(notes.index) == {"subscripts-of-the-last-layer", "index-of-the-weight"}
    subscripts = notes.loc["subscripts-of-the-last-layer"]
    assert "n_10" in subscripts["printed"] and "n_12" in subscripts["recomputed"]


@pytest.mark.parametrize(
    ("claim", "reading", "printed", "recomputed", "verdict"),
    [
        ("spearman-rho", "as printed", 0.040, -0.0382, DISAGREES),
        ("spearman-p", "as printed", 0.73, 0.743, DISAGREES),
        ("spearman-rho", "mended", 0.040, -0.0405, DISAGREES),
        ("spearman-p", "mended", 0.73, 0.728, AGREES),
    ],
)
def test_the_real_correlation(real_audit, claim, reading, printed, recomputed, verdict):
    row = row_of(real_audit, claim, reading=reading)
    assert (float(row["printed"]), float(row["recomputed"]), row["verdict"]) == (printed, recomputed, verdict)


@pytest.mark.parametrize(
    ("claim", "where", "reading", "found"),
    [
        ("among-viable-models", "", "strength, absolute, fairness as printed", ("rho -0.7540, p 5e-05", "n = 22")),
        ("among-viable-models", "", "distance, absolute, fairness as printed", ("rho -0.7523, p 5e-05", "n = 22")),
        ("among-viable-models", "", "strength, absolute, fairness mended", ("rho -0.7730, p 2e-05", "n = 22")),
        ("among-viable-models", "", "strength, relative, fairness mended", ("rho -0.8632, p 2e-06", "n = 19")),
        ("within-the-level", ATTENTION, "strength", ("rho 0.3717, p 0.0362", "n = 32")),
    ],
)
def test_the_real_correlations_that_the_paper_does_not_tell(real_audit, claim, where, reading, found):
    row = row_of(real_audit, f"not-correlated-{claim}", where, reading)
    assert (row["recomputed"], row["detail"].split(";")[0], row["verdict"]) == (*found, DISAGREES)


def test_the_documentation_mixes_no_populations():
    """README once set the rho of all settings of a level beside that of the viable settings of all levels."""
    printed = read_published("dawkins2024", "table7")
    sets = {"all viable": printed[viable_settings(printed, threshold=0.05, reading="absolute")]}
    levels = {LAYER_12: "layer 12", LAYER_11: "layer 11", ATTENTION: "layer 11 + attention"}
    sets |= {level: sets["all viable"].query("level == @level") for level in levels}
    found = {name: correlation(own["strength"], own["fairness"]) for name, own in sets.items()}
    assert [name for name, each in found.items() if each.p < 0.05] == ["all viable"]
    root = Path(__file__).parents[4]
    pages = {page: " ".join(page.read_text(encoding="utf-8").split()) for page in root.glob("docs/**/*.md")}
    (text,) = [text for text in pages.values() if "rho is" in text]
    of_levels = [f"{found[name].estimate:.2f} ({label}, n {found[name].n})" for name, label in levels.items()]
    assert f"rho is {of_levels[0]}, {of_levels[1]} and {of_levels[2]}, none of them significant" in text
    assert f"rho = {found['all viable'].estimate:.3f}, n = {found['all viable'].n} " in text
    assert "rho" not in (root / "README.md").read_text(encoding="utf-8")


def test_the_real_table_5(real_audit):
    best = row_of(real_audit, "best-strength", ATTENTION)
    assert (best["printed"], best["recomputed"]) == ("0.1938 at (0,0,1,0,0)", "0.1934 at (0,0,1,1,0)")
    assert best["verdict"] == DISAGREES
    same = row_of(real_audit, "same-fairness-in-table-7", ATTENTION)
    assert same["verdict"] == DISAGREES and "layer-11 (1,1,0,0,1)" in same["detail"]
    fairness = real_audit[(real_audit["claim"] == "best-fairness") & (real_audit["where"] == f"table 5, {LAYER_11}")]
    assert fairness.set_index("reading")["recomputed"].to_dict() == {
        "absolute": "0.3205 at (1,1,1,0,1), SNLI 0.8618",
        "relative": "0.3205 at (1,1,1,0,1), SNLI 0.8618",
        "no threshold": "0.9171 at (0,1,0,1,0), SNLI 0.6966",
    }


def test_the_real_table_6_uses_the_divisor_n_minus_1(real_audit):
    spread = real_audit[real_audit["claim"] == "spread-of-increase"]
    assert spread.groupby("reading")["verdict"].unique().map(list).to_dict() == {
        "divisor n": [DISAGREES],
        "divisor n - 1": [AGREES],
    }
    assert set(spread["overall"]) == {DEPENDS}


def test_no_reading_of_viable_makes_all_real_statements_true(real_audit):
    kinds = {"absolute": (AGREES, DISAGREES), "relative": (DISAGREES, AGREES)}
    for reading, (layer_12, layer_11) in kinds.items():
        assert row_of(real_audit, "layer-12-weighted-viable", reading=reading)["verdict"] == layer_12
        assert row_of(real_audit, "viable-weighted-layer-11", reading=reading)["verdict"] == layer_11
    assert row_of(real_audit, "some-cutoff", "all of these")["verdict"] == DISAGREES


def test_the_audit_of_a_run_is_the_stored_one_and_that_is_what_the_printed_tables_give(real_audit, tmp_path):
    run = Run(NO_SCORES, NO_SCORES, NO_SCORES, published)
    paths = [tmp_path / f"audit.{kind}" for kind in ("csv", "tex", "html")]
    make_paper("dawkins2024", run, {"tables_dawkins2024_audit": paths})
    assert paths[0].read_bytes() == AUDIT.read_bytes()
    assert audit(run).to_dict("records") == real_audit.to_dict("records")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: replace(p, table7=pd.concat([p.table7, p.table7.tail(1)])), "1,1,1,1,1"),
        (lambda p: replace(p, table7=p.table7.iloc[:-1]), "1,1,1,1"),
        (lambda p: replace(p, table7=p.table7.replace({"settings": {"1,1,1": "1,1,2"}})), "layer-12 .1,1,1."),
        (lambda p: p.changed("table5", p.table5["level"] == LAYER_11, "strength_settings", "9"), "layer-11 .9."),
        (lambda p: replace(p, examples=p.examples[:-1]), "table 4 .b.* unrelated"),
        (lambda p: replace(p, claims=p.claims[p.claims["id"] != "spearman-p"]), "spearman-p"),
    ],
)
def test_incomplete_tables_are_refused(made_up, change, message):
    with pytest.raises(BiasflowError, match=message):
        change(made_up).audit()
