"""The ledger of numbers that were printed from published scores of single items."""

import numpy as np
import pandas as pd
import pytest

from biasflow.papers.items.ledger import PUBLISHED, ledger
from biasflow.papers.ledger import NOT_RUN, OFF, REPRODUCED, summary

FILE, OTHER = "crows-pairs-scores-bert-crows-score", "gest-scores-albert-base-v2-template-0"
PLAN = ["encoder", "dataset", "reason"]
SCORES = ["encoder", "dataset", "metric", "part", "variant", "value", "n", "low", "high"]


def printed(name: str) -> pd.DataFrame:
    return pd.read_csv(PUBLISHED / f"{name}.csv", dtype=str, keep_default_na=False)


def rows(given: dict, *scores: tuple, reasons: tuple = ()) -> pd.DataFrame:
    table = ledger(given, pd.DataFrame(list(scores), columns=SCORES), pd.DataFrame(list(reasons), columns=PLAN))
    return table.set_index(["row", "measure"])


def test_a_number_is_compared_in_its_own_unit_and_to_its_own_rounding():
    own = ("theirs", "crows-pairs-all", "crows_pairs_score")
    found = rows(
        {FILE: ["theirs"]},
        (*own, "all", "released", 0.60477, 1508, 0.58, 0.63),
        (*own, "stereo", "released", 0.612, 1290, 0.5, 0.7),
        reasons=[("theirs", "crows-pairs-age", "metrics.x has no dataset"), ("theirs", "crows-pairs-all", "")],
    )
    assert len(found) == 13
    share = found.loc[("crows-pairs-all; all", "crows_pairs_score")]
    assert (share["status"], share["printed"], share["unit"]) == (REPRODUCED, "60.48", "percent")
    assert share["ours"] == pytest.approx(60.477) and share["ours_n"] == 1508
    off = found.loc[("crows-pairs-all; stereo", "crows_pairs_score")]
    assert (off["status"], off["off_by"], off["reason"]) == (OFF, "11.0 units of the last decimal", "")
    age = found.loc[("crows-pairs-age; all", "crows_pairs_score")]
    assert (age["status"], age["reason"]) == (NOT_RUN, "metrics.x has no dataset")
    gender = found.loc[("crows-pairs-gender; all", "crows_pairs_score")]
    assert (gender["status"], gender["reason"]) == (NOT_RUN, "not asked for")
    (line,) = summary(found.reset_index()).to_dict("records")
    assert (line["numbers"], line["reproduced"], line["off"], line["not_run"]) == (13, 1, 1, 11)


def test_a_file_of_several_columns_is_compared_in_the_one_that_was_printed_from():
    """A p below 1e-70 in its own unit: as 0.00 it would agree with every other one."""
    file, key = "bec-pro-scores-results-bert-replicated", ("theirs", "bec-pro-english", "bec_pro_wilcoxon_p")
    for p, status in ((4.114e-74, REPRODUCED), (4.2e-74, OFF), (4.114e-75, OFF)):
        found = rows({f"{file}:Pre_Assoc": ["theirs"]}, (*key, "female", "-", p, 900, np.nan, np.nan))
        row = found.loc[("bec-pro-english; female", "bec_pro_wilcoxon_p")]
        assert (row["status"], row["unit"], row["printed"]) == (status, "1 / 1e74", "4.11")
    assert rows({f"{file}:Post_Assoc": ["theirs"]}).empty and rows({file: ["theirs"]}).empty


@pytest.mark.parametrize(("shift", "reason"), [(0.0, None), (0.0056, "noise"), (0.02, "")])
def test_noise_explains_what_resampling_can_and_no_more(shift, reason):
    number = printed("gest").set_index(["file", "part"]).loc[(OTHER, "he-said-stereotype-1")]
    value, low, high = (float(number[name]) for name in ("printed", "low", "high"))
    key = ("theirs", "gest-paper", "gest_rate", "he-said-stereotype-1", "released")
    found = rows({OTHER: ["theirs"]}, (*key, value, 200, low + shift, high + shift))
    end = found.loc[("gest-paper; he-said-stereotype-1", "gest_rate, low end")]
    assert end["status"] == (REPRODUCED if reason is None else OFF)
    if reason is not None:
        assert "standard errors" in end["off_by"] and reason in end["reason"] and bool(end["reason"]) == bool(reason)
