"""What the checks of the audit read: the tables and numbers that the paper prints, complete and indexed."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.methods.grid import all_settings
from biasflow.papers.dawkins2024.rows import BASE, MEASURES, OWN_LEVELS, SETTING, model_name
from biasflow.results.rounding import DECIMALS, EQUAL
from biasflow.results.viability import READINGS, cutoff, viable

TABLE5_SCORES = [*MEASURES, "fairness", "snli_accuracy"]  # which table 7 prints of every row
HALF_UNIT = 0.5 * 10**-DECIMALS  # how far an unrounded value may be from a printed one
NO_THRESHOLD = "no threshold"
VIABLE_READINGS = (*READINGS, NO_THRESHOLD)  # of the paper's "not reduced by more than 5 %"


@dataclass(frozen=True)
class Printed:
    """All that is printed. Tables 5 and 6: index level; table 7: index level, settings; claims: the text's numbers by
    id (where, unit, decimals, value); examples: a row per p(NS)."""

    table5: pd.DataFrame
    table6: pd.DataFrame
    table7: pd.DataFrame
    claims: Mapping[str, Mapping]
    examples: pd.DataFrame

    @classmethod
    def of(cls, published: Callable[[str], pd.DataFrame]) -> "Printed":
        """Read all; BiasflowError for a table 7 that has not every setting once."""
        tables = {name: published(name) for name in ("table5", "table6", "table7", "text", "tables1_3_4")}
        _refuse_incomplete(tables["table7"])
        return cls(
            tables["table5"].set_index("level"),
            tables["table6"].set_index("level"),
            tables["table7"].set_index(SETTING),
            tables["text"].set_index("id").to_dict("index"),
            tables["tables1_3_4"],
        )

    def claim(self, name: str) -> Mapping:
        """A number of the text."""
        if name not in self.claims:
            raise BiasflowError(f"the numbers of the text have no row {name!r}; add it to text.csv")
        return self.claims[name]

    def count(self, name: str) -> int:
        return int(self.claim(name)["value"])

    @property
    def threshold(self) -> float:
        """The share of SNLI accuracy that a viable model may lose."""
        claim = self.claim("viability-threshold")
        return claim["value"] * (0.01 if claim["unit"] == "percent" else 1)

    @property
    def base_accuracy(self) -> float:
        """SNLI accuracy of Base."""
        return float(self.table7.loc[(BASE, ""), "snli_accuracy"])

    def viable(self, reading: str) -> pd.Series:
        """Which rows of table 7 are viable; `no threshold`: all."""
        accuracy = self.table7["snli_accuracy"]
        if reading == NO_THRESHOLD:
            return pd.Series(True, index=accuracy.index)
        mask = viable(accuracy, self.base_accuracy, threshold=self.threshold, reading=reading)
        return pd.Series(mask, index=accuracy.index)

    def viable_from(self, reading: str) -> str:
        """The smallest viable accuracy in words; "" for a reading that has none."""
        if reading not in READINGS:
            return ""
        return f"viable from {cutoff(self.base_accuracy, threshold=self.threshold, reading=reading):.5f}"

    def row_named_in_table5(self, level: str, settings: str) -> pd.Series:
        """The row of table 7 that table 5 names."""
        if (level, settings) not in self.table7.index:
            raise BiasflowError(
                f"audit: table 5 names {level} ({settings}), which table 7 does not have; mend one of them"
            )
        return self.table7.loc[(level, settings)]

    def own_models_with(self, n_p: str) -> pd.DataFrame:
        """The rows of table 7 of the paper's own levels with this n_p, which is the last of the settings."""
        levels, settings = (self.table7.index.get_level_values(name) for name in SETTING)
        return self.table7[levels.isin(OWN_LEVELS) & (settings.str[-1] == n_p)]


def _refuse_incomplete(table7: pd.DataFrame) -> None:
    """Table 7 must have every combination of settings once; more levels or settings are an error too."""
    wanted = [(setting.level, setting.settings) for setting in all_settings()]
    given = list(table7[SETTING].itertuples(index=False, name=None))
    for model in wanted:
        if model not in given:
            raise BiasflowError(f"audit: table 7 has no row {model_name(*model)}; give all settings of all levels")
    for model in given:
        if model not in wanted or given.count(model) > 1:
            raise BiasflowError(f"audit: table 7 has a row {model_name(*model)} too many; give each setting once")


def best(values: pd.Series, level: str, *, largest: bool) -> tuple[float, list[str]]:
    """The best value of a level and all settings that print it; (NaN, []) if the level has no value.

    `values`: a column of table 7, or some of its rows."""
    own = values[values.index.get_level_values("level") == level].droplevel("level")
    value = own.max() if largest else own.min()
    return float(value), list(own.index[(own - value).abs() <= EQUAL])


def value_at(value: float, settings: Iterable[str]) -> str:
    """A best value and the settings that reach it: "0.1934 at (0,0,1,1,0)"."""
    where = " and ".join(f"({s})" for s in settings if s)
    return f"{value:.{DECIMALS}f}" + (f" at {where}" if where else "")
