"""What the checks of the audit read: the tables and numbers that the paper prints, complete and indexed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.papers.dawkins2024.rows import (
    ATTENTION,
    BASE,
    DEBIAS,
    LAYER_11,
    LAYER_12,
    LEVELS,
    MEASURES,
    SENT,
    SETTING,
)
from scripts.biasflow.results.rounding import DECIMALS, EQUAL

OWN_LEVELS = LEVELS[2:]  # the paper's own levels: neither Base nor the baseline
TABLE5_SCORES = [*MEASURES, "fairness", "snli_accuracy"]  # which table 7 prints of every row
HALF_UNIT = 0.5 * 10**-DECIMALS  # how far an unrounded value may be from a printed one
_NUMBER_OF_SETTINGS = {SENT: 1, LAYER_12: 3, LAYER_11: 5, ATTENTION: 5}  # weights n and second dimensions c
_COLUMNS = {
    "table 5": ["level", "fairness", "fairness_settings", "snli_accuracy"]
    + [column for measure in MEASURES for column in (measure, f"{measure}_settings")],
    "table 6": ["level", "model_pairs", "snli_accuracy_np0", "snli_accuracy_np1", "increase", "increase_sd"],
    "table 7": [*SETTING, *TABLE5_SCORES, "parity", "accuracy"],
    "the numbers of the text": ["id", "where", "unit", "decimals", "value"],
    "the examples of tables 1, 3 and 4": ["table", "example", "label", "swapped", "p", "s", "d"],
}


@dataclass(frozen=True)
class Claims:
    """The text's numbers, by id: where, unit, decimals, value."""

    rows: Mapping[str, Mapping]

    def __getitem__(self, name: str) -> Mapping:
        if name not in self.rows:
            raise BiasflowError(f"the numbers of the text have no row {name!r}; add it to text.csv")
        return self.rows[name]

    def number(self, name: str) -> float:
        """The claim's value, percentages as shares."""
        return self[name]["value"] * (0.01 if self[name]["unit"] == "percent" else 1)

    def count(self, name: str) -> int:
        return int(self[name]["value"])


@dataclass(frozen=True)
class Printed:
    """All that is printed. Tables 5 and 6: index level; table 7: index level, settings; examples: a row per p(NS)."""

    table5: pd.DataFrame
    table6: pd.DataFrame
    table7: pd.DataFrame
    claims: Claims
    examples: pd.DataFrame

    @classmethod
    def of(
        cls,
        table5: pd.DataFrame,
        table6: pd.DataFrame,
        table7: pd.DataFrame,
        claims: pd.DataFrame,
        examples: pd.DataFrame,
    ) -> "Printed":
        """The frames that `read_published` gives; BiasflowError for a missing column, level or row of table 7."""
        for (name, columns), frame in zip(_COLUMNS.items(), (table5, table6, table7, claims, examples), strict=True):
            missing = [column for column in columns if column not in frame]
            if missing:
                raise BiasflowError(f"audit: {name} has no column {missing[0]}; give the file of the folder published")
        for name, frame, levels in (("table 5", table5, LEVELS), ("table 6", table6, [*OWN_LEVELS, "all"])):
            absent = [level for level in levels if level not in set(frame["level"])]
            if absent:
                raise BiasflowError(f"audit: {name} has no level {absent[0]}; give all levels")
        _refuse_incomplete(table7)
        return cls(
            table5.set_index("level"),
            table6.set_index("level"),
            table7.set_index(SETTING),
            Claims(claims.set_index("id").to_dict("index")),
            examples,
        )

    @property
    def base_accuracy(self) -> float:
        """SNLI accuracy of Base."""
        return float(self.table7.loc[(BASE, ""), "snli_accuracy"])

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
    wanted = {(BASE, ""), (DEBIAS, "")}
    for level, length in _NUMBER_OF_SETTINGS.items():
        wanted |= {(level, ",".join(bits)) for bits in product("01", repeat=length)}
    given = list(table7[SETTING].itertuples(index=False, name=None))
    for model in sorted(wanted - set(given)):
        raise BiasflowError(f"audit: table 7 has no row {model_name(*model)}; give all settings of all levels")
    for model in given:
        if model not in wanted or given.count(model) > 1:
            raise BiasflowError(f"audit: table 7 has a row {model_name(*model)} too many; give each setting once")


def model_name(level: str, settings: str) -> str:
    """A row of table 7: "layer-12 (0,1,1)", "base"."""
    return f"{level} ({settings})" if settings else level


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
