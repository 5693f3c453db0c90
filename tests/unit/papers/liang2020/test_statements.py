"""What the paper says, counted in made-up scores and in the printed values."""

import pandas as pd
import pytest

from biasflow.papers.liang2020.statements import STATEMENTS, statements
from biasflow.results.scores import concatenate
from tests.unit.papers.liang2020.made_up import PLACES, run, scores

FURTHER = PLACES | {"hard-last": "last", "conceptor-all": "all"}
ABOUT = {"hard-last": {"eraser": "hard"}, "conceptor-all": {"eraser": "conceptor"}}


def found(frame, places=PLACES, about=None, **options):
    return statements(run(frame, places=places, about=about, **options)).set_index("id")


def setting(frame, value, **keys):
    """The scores with the value of the rows that have these keys replaced."""
    chosen = pd.concat([frame[key] == wanted for key, wanted in keys.items()], axis=1).all(axis=1)
    assert chosen.any()
    return frame.assign(value=frame["value"].mask(chosen, value))


@pytest.fixture(scope="module")
def further():
    return scores(methods=tuple(FURTHER))


def test_every_statement_is_counted_where_all_methods_are_there(further):
    table = found(further, FURTHER, ABOUT)
    assert table.index.tolist() == [statement.id for statement in STATEMENTS.known] and table.index.is_unique
    assert table["holds"].notna().all() and (table["k"] <= table["n"]).all()


def test_the_printed_values_bear_out_densray_but_not_hard_debiasing():
    table = found(scores())
    printed = ["holds_published", "k_published", "n_published"]
    assert table.loc["less-association-densray", printed].tolist() == [True, 3, 3]
    # |d| of C7 goes from 0.4009 to 0.5144, and that of C8 from 0.596 to 0.7833.
    assert table.loc["less-association-hard-debiasing", printed].tolist() == [False, 1, 3]
    assert table.loc["less-association-hard-debiasing", "exceptions_published"] == "bert-large-uncased: c7, c8"
    assert table.loc["less-occtmp-hard-debiasing", "detail_published"] == "bert-large-uncased: 0.69 against 1.82"
    assert table.loc["perplexity-kept-densray", "detail_published"] == "bert-base-uncased: 3.7714 to 3.8058"
    assert table.loc["he-on-average", printed].tolist() == [True, 4, 4]
    # No share of templates is printed.
    assert table.loc["sum-in-most-templates", printed].isna().all() and table.loc["sum-in-most-templates", "holds"]


def test_hard_debiasing_in_all_layers_against_the_last(further):
    better = setting(further, 0.2, method="hard-last", metric="occtmp_diff", dataset="professions")
    for value, holds in ((0.1, True), (0.3, False)):
        own = setting(better, value, method="hard", metric="occtmp_diff", dataset="professions")
        assert found(own, FURTHER, ABOUT).loc["hard-all-occtmp", "holds"] == holds
    # Four tests: more than half of them have to be closer to zero.
    one = setting(further, 0.0, method="hard", metric="weat_effect_size", dataset="C6")
    one = setting(one, 9.0, method="hard", metric="weat_effect_size", dataset="C7")
    one = setting(one, 9.0, method="hard", metric="weat_effect_size", dataset="C8")
    row = found(one, FURTHER, ABOUT).loc["hard-all-association"]
    assert (row["holds"], row["k"], row["n"], row["exceptions"]) == (False, 2, 4, "c7, c8")


def test_the_conceptor_in_all_layers_ruins_the_language_model_or_not(further):
    assert not found(further, FURTHER, ABOUT).loc["conceptor-all-perplexity", "holds"]
    poor = setting(further, 11.0, method="conceptor-all-pretrained", metric="perplexity", variant="released")
    row = found(poor, FURTHER, ABOUT).loc["conceptor-all-perplexity"]
    assert row["holds"] and row["k"] == row["n"] == 6  # twice the untouched encoder's, and above five placements
    poorer = setting(poor, 12.0, method="hard-last-pretrained", metric="perplexity", variant="released")
    assert found(poorer, FURTHER, ABOUT).loc["conceptor-all-perplexity", "exceptions"] == "hard last"


def test_what_was_neither_run_nor_printed_is_left_out():
    table = found(scores(measures=["occtmp"]))
    assert "hard-all-occtmp" not in table.index and "conceptor-all-perplexity" not in table.index
    assert (
        pd.isna(table.loc["perplexity-kept-densray", "holds"]) and table.loc["perplexity-kept-densray", "detail"] == ""
    )
    assert statements(run(scores().head(0), encoders=["tiny"])).empty


def test_options_that_are_not_the_papers_do_not_count():
    plain = {"densray": {"options": "normalize=false"}}
    assert "less-occtmp-densray" not in found(scores(), about=plain).index


def test_each_encoder_has_its_own_rows():
    two = concatenate([scores(), scores(encoder="a")])
    table = statements(run(two))
    assert set(table["encoder"]) == {"a", "tiny"}
    assert not table.duplicated(["encoder", "id"]).any()
