"""Which models of table 7 are viable, under each reading of the paper's "not reduced by more than 5 %"."""

import pandas as pd

from scripts.biasflow.papers.dawkins2024.audit.printed import Printed
from scripts.biasflow.results.viability import READINGS, cutoff, viable

NO_THRESHOLD = "no threshold"
VIABLE_READINGS = (*READINGS, NO_THRESHOLD)


def viable_models(printed: Printed, reading: str) -> pd.Series:
    """Which rows of table 7 are viable; `no threshold`: all."""
    accuracy = printed.table7["snli_accuracy"]
    if reading == NO_THRESHOLD:
        return pd.Series(True, index=accuracy.index)
    threshold = printed.claims.number("viability-threshold")
    mask = viable(accuracy, printed.base_accuracy, threshold=threshold, reading=reading)
    return pd.Series(mask, index=accuracy.index)


def viable_from(printed: Printed, reading: str) -> str:
    """The smallest viable accuracy in words; "" for a reading that has none."""
    if reading not in READINGS:
        return ""
    threshold = printed.claims.number("viability-threshold")
    return f"viable from {cutoff(printed.base_accuracy, threshold=threshold, reading=reading):.5f}"
