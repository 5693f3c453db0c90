"""The sweep equals the plainly hooked model, for every setting, family, padding and way of fitting."""

import pandas as pd
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.encoders.edit import edited
from biasflow.methods.fitted import Fitted, Grid
from biasflow.methods.fitting import fit_block
from biasflow.methods.grid import all_settings, chosen_settings, edits_of
from biasflow.methods.sweep import check_reports, sweep
from tests.unit.conftest import logits_of, random_batch, random_subspaces
from tests.unit.fake_tokenizer import word_tokenizer

TOLERANCE = 1e-5


def hooked(model, batch, setting, subspaces):
    with torch.inference_mode(), edited(model, edits_of(setting, subspaces)):
        return logits_of(model(**batch))


def only_the_grid(subspaces) -> Fitted:
    return Fitted({"grid": Grid("grid", chosen_settings(), subspaces)}, {"grid": {}})


def test_there_are_76_settings_in_the_printed_order():
    settings = all_settings()
    assert [s.level for s in settings] == (
        ["base", "sentence-debias"] + ["sent"] * 2 + ["layer-12"] * 8 + ["layer-11"] * 32 + ["layer-11+attention"] * 32
    )
    assert len({(s.level, s.settings) for s in settings}) == 76
    assert [s.settings for s in settings[:7]] == ["", "", "0", "1", "0,0,0", "0,0,1", "0,1,0"]
    assert settings[-1].settings == "1,1,1,1,1"


def test_every_setting_equals_the_hooked_model(model):
    subspaces, batch, settings = random_subspaces(), random_batch(model), all_settings()
    logits = sweep(model, batch, settings, subspaces)
    for setting, ours in zip(settings, logits, strict=True):
        assert torch.allclose(ours, hooked(model, batch, setting, subspaces), atol=TOLERANCE, rtol=0), setting
    assert (logits - logits[0]).abs().amax((1, 2))[1:].min() > 1e-4  # every intervention moves the logits


@pytest.mark.parametrize("sequential", [False, True])
def test_fitted_subspaces_in_both_ways_of_fitting(bert, sequential):
    tokenizer = word_tokenizer("the man woman king queen is here he she went home father mother".split())
    pairs = pd.DataFrame(
        {
            "masculine": ["the man is here", "he went home", "the king went home", "father is here"],
            "feminine": ["the woman is here", "she went home", "the queen went home", "mother is here"],
        }
    )
    method = {"grid": "dawkins2024", "eraser": "pca", "module": "biasflow.erasers.pca", "sequential": sequential}
    sets = {"interventions": pairs, "sentence-debias": pairs}
    subspaces = fit_block(bert, tokenizer, {"g": method}, sentence_pairs=sets, batch_size=2).grids[0].subspaces
    assert len(subspaces.erasers) == (7 if not sequential else 7 + 1 + 8 + 36)
    batch = random_batch(bert)
    settings = all_settings()
    logits = sweep(bert, batch, settings, subspaces)
    for setting, ours in zip(settings, logits, strict=True):
        assert torch.allclose(ours, hooked(bert, batch, setting, subspaces), atol=TOLERANCE, rtol=0), setting


def test_reports_show_that_every_edit_acted(bert):
    reports = {}
    for _ in range(2):
        sweep(bert, random_batch(bert), all_settings(), random_subspaces(), reports)
    rows = check_reports(reports, only_the_grid(random_subspaces()))
    assert len(rows) == 3 + 1 + 8 + 36 + 1 + 74 - 1  # attention, SentenceDebias and each distinct upstream x projection
    assert all(row["calls"] == 2 and row["mean_change"] > 0 for row in rows)
    hard = [row for row in rows if "n=0" in row["edit"]]
    assert all(row["residual"] < 1e-4 for row in hard)


def test_an_edit_that_changes_nothing_is_an_error(bert):
    from dataclasses import replace

    subspaces = random_subspaces()
    pooled = subspaces.erasers["pooled", "plain"]
    nothing = replace(pooled, right=torch.zeros_like(pooled.right))
    subspaces = replace(subspaces, erasers={**subspaces.erasers, ("pooled", "plain"): nothing})
    reports = {}
    sweep(bert, random_batch(bert), all_settings(), subspaces, reports)
    with pytest.raises(BiasflowError, match="pooled"):
        check_reports(reports, only_the_grid(subspaces))
