"""Do the numbers that Dawkins et al. (2024) print agree with each other?"""

import pandas as pd

from biasflow.base.shipped import shipped
from biasflow.base.tabular import read_text_csv
from biasflow.papers.frames import Run

AUDIT = shipped("papers/dawkins2024/audit.csv")


def audit(_: Run) -> pd.DataFrame:
    """Every claim of the paper that its printed tables can confirm or refute, one row per claim and reading.

    The printed tables never change, so what they say of each other is a file of the package. The tests compute it anew
    from the printed tables (tests/unit/papers/dawkins2024/audit) and compare. Columns: claim, where, reading ("" where
    there is only one), printed, recomputed, verdict (agrees, disagrees, not computable; note: a slip of notation,
    recomputed is what is meant), overall (the verdict if all readings of the claim share it, else `depends on the
    reading`), detail.

    Source: Dawkins et al. (2024), eq. 2-4, sec. 2-5, tables 1 and 3-7."""
    return read_text_csv(AUDIT)
