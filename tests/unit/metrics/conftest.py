"""Items of one model as the file of a readout, and their scores."""

from collections.abc import Callable

import pandas as pd
import pytest


@pytest.fixture
def scored(tmp_path):
    """A function of a metric's `score` and the items of the untouched model: the table of their scores."""

    def scored(score: Callable[..., pd.DataFrame], items: pd.DataFrame, **options: object) -> pd.DataFrame:
        items.assign(method="none", setting="-").to_parquet(tmp_path / "p.parquet")
        return score(tmp_path / "p.parquet", **options)

    return scored
