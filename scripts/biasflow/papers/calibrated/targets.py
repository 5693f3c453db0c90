"""The targets of the calibration: whether each measure follows the dose, and what was planted."""

import numpy as np
import pandas as pd

from biasflow.asking.sources import calibrated_encoders
from biasflow.papers.calibrated.values import measured
from biasflow.papers.frames import Run
from biasflow.papers.judge import judge, smallest_dose
from biasflow.results.statistics import t_interval

WHAT = ["measure", "occupations"]


def calibration(run: Run) -> pd.DataFrame:
    """A row per measure and set of occupations: its values by dose, and whether and from which dose on it follows."""
    return judged(measured(run))


def judged(values: pd.DataFrame) -> pd.DataFrame:
    """Return `judge` of the values by dose, with four differences.

    before: the value of the encoder without further training. smallest_dose: the smallest dose above 0 that differs
    from 0 at 5 %. slope: the mean over seeds of the least-squares slope of the values on the dose, with Student's 95 %
    interval over seeds (slope_low, slope_high; NaN for fewer than three). Fisher's interval of the rank correlation is
    left out: encoders of a seed share their text and masks, so they are not independent."""
    values = values.assign(key=values["measure"] + "|" + values["occupations"])
    dosed = values.dropna(subset="bias")
    table = judge(dosed.drop(columns="measure").rename(columns={"key": "measure"})).drop(columns=["low", "high"])
    table = table.rename(columns=lambda name: name.replace("_bias_", "_dose_"))
    table[WHAT] = table.pop("measure").str.split("|", expand=True).to_numpy()
    by_key = dict(iter(dosed.groupby("key", sort=False)))
    before = values[values["bias"].isna()].set_index("key")["value"]
    keys = table["measure"] + "|" + table["occupations"]
    more = pd.DataFrame([_slope(by_key[key]) | {"before": before.get(key, np.nan)} for key in keys])
    table["smallest_dose"] = [_smallest(by_key[key]) for key in keys]
    return pd.concat([table[[*WHAT, "group"]], more, table.drop(columns=[*WHAT, "group"])], axis=1)


def _slope(block: pd.DataFrame) -> dict[str, float]:
    complete = block.pivot(index="seed", columns="bias", values="value").dropna()
    doses = complete.columns.to_numpy(float)
    slopes = complete.to_numpy() @ (doses - doses.mean()) / ((doses - doses.mean()) ** 2).sum()
    low, high = t_interval(slopes)
    return {"slope": slopes.mean() if len(slopes) else np.nan, "slope_low": low, "slope_high": high}


def _smallest(block: pd.DataFrame) -> float:
    rows = block[block["bias"] >= 0].dropna(subset="value")
    groups = {dose: part["value"].to_numpy() for dose, part in rows.groupby("bias")}
    return smallest_dose(groups, int(block["sign"].iloc[0])) if 0 in groups else np.nan


def planted(run: Run) -> pd.DataFrame:
    """A row per occupation: its share of women, the stereotype, how many units it has and how often each was seen in
    one training, and by dose, over the seeds, the share of examples with the stereotypical gender."""
    models = calibrated_encoders(run.options)
    tables = [pd.read_csv(path).assign(dose=models[encoder][0]) for encoder, path in run.files["units"].items()]
    units = pd.concat(tables)
    units["stereotypical"] = units["times"] * (units["gender"] == units["stereotype"])
    table = (
        tables[0]
        .groupby("occupation")
        .agg(
            share_of_women=("share_of_women", "first"),
            stereotype=("stereotype", "first"),
            units=("times", lambda times: (times > 0).sum()),
            examples=("times", "sum"),
        )
    )
    sums = units.groupby(["occupation", "dose"])[["stereotypical", "times"]].sum()
    shares = (sums["stereotypical"] / sums["times"]).unstack("dose")
    return table.join(shares.rename(columns="stereotypical_dose_{:g}".format)).reset_index()


TABLES = {"calibration": calibration, "units": planted}
