"""Our values beside the printed ones, and the rows of a table in its order."""

from collections.abc import Sequence

import pandas as pd

from biasflow.papers.frames import RUN, Run
from biasflow.papers.orgad2022.halves import RAW, Half
from biasflow.papers.orgad2022.measures import COMPRESSION_VALUE
from biasflow.papers.orgad2022.selection import BASELINES, PLAIN, Selection
from biasflow.registry import STRATEGIES
from biasflow.results.tables import DIFFERENCE, PUBLISHED

ENCODER, REPLICA = "roberta-base", "deberta-base"  # the printed values stand beside these
# Model -> what its printed probe is read to have read. The paper does not say what scrubbed models were tested and
# probed on. Tested: raw texts, the default of the released code; its table 5 has scrubbing above no debiasing, which
# scrubbed texts cannot give. Probed: scrubbed ones, as the compression of 1.699 fits the 68.8 % probing accuracy that
# appendix C reports for them.
PROBED_ON = dict.fromkeys(BASELINES, RAW) | {strategy.label: strategy.text for strategy in STRATEGIES.values()}


# Model in print -> in our tables.
LABELS = {name: strategy.label for name, strategy in STRATEGIES.items() if name != PLAIN}


def printed_values(run: Run, half: Half, *tables: str) -> pd.DataFrame:
    """Return the printed values of a half in these tables, with the test input that we take them to have; models have
    our names."""
    values = run.printed.assign(table=run.printed["table"].str.removeprefix("table "))
    values = values[(values["task"] == half.kind) & values["table"].isin(tables)]
    values = values.assign(model=values["model"].replace(LABELS), sd=values["value_sd"])
    text = values["model"].map(PROBED_ON).where(values["metric"] == COMPRESSION_VALUE, RAW)
    return values.assign(text=text.where(values["model"] != "", ""))


def encoders_of(chosen: Selection) -> list[str]:
    """Return the encoders of a table: those of the run, and the paper's, whether it was run or not."""
    return list(dict.fromkeys([*chosen.encoders, ENCODER]))


def beside(
    ours: pd.DataFrame, printed: pd.DataFrame, keys: Sequence[str], values: Sequence[str], encoders: Sequence[str]
) -> pd.DataFrame:
    """The rows of `ours` and of `printed`, joined on `keys`, of these encoders; `status` is "run" or still empty.

    Of the columns that both have the printed ones end in `_published`; `values` also have a `_difference`, ours minus
    published. An encoder without any row gets one, to say why."""
    ours, printed = (frame[frame["encoder"].isin(encoders)] for frame in (ours, printed))
    table = ours.assign(status=RUN).merge(printed, on=[*keys], how="outer", suffixes=("", PUBLISHED))
    table = with_all(table, encoders)
    table[[*keys, "status"]] = table[[*keys, "status"]].astype(object).fillna("")
    return table.assign(**{name + DIFFERENCE: table[name] - table[name + PUBLISHED] for name in values})


def with_all(table: pd.DataFrame, encoders: Sequence[str]) -> pd.DataFrame:
    """Return the table with an empty row for each of these encoders that has no row."""
    silent = pd.DataFrame({"encoder": [name for name in encoders if name not in set(table["encoder"])]})
    return pd.concat([table, silent], ignore_index=True)


def with_labels(table: pd.DataFrame, half: Half) -> pd.DataFrame:
    """The table of metrics and variants with the `key` of each measure and its label, "" without one, as `measure`."""
    keys, labels = list(zip(table["metric"], table["variant"], strict=True)), half.labels
    return table.assign(key=keys, measure=[labels.get(key, "") for key in keys])
