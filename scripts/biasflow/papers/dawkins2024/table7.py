"""Table 7, the source of the other tables and figures: every setting, inside the encoder and in NLI, and which of the
debiased models keep enough accuracy to be of use."""

from itertools import product
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError
from biasflow.papers.dawkins2024 import grid
from biasflow.papers.frames import RUN, Run
from biasflow.papers.make import NOTE
from biasflow.results.tables import arranged, merge_published

Reading = Literal["absolute", "relative"]
READINGS: tuple[Reading, ...] = get_args(Reading)
_SLACK = 1e-9  # accuracies are counts over n: only floating point can put one this close below the cutoff


def cutoff(base_accuracy: float, *, threshold: float = 0.05, reading: Reading = "absolute") -> float:
    """The smallest viable accuracy: base - threshold (`absolute`) or (1 - threshold) x base (`relative`).

    Dawkins et al. (2024, table 7) ask that the base accuracy is not reduced by more than 5 %, without saying 5 % of
    what; hence the two readings. `base_accuracy` and `threshold` are shares in [0, 1]. Raises BiasflowError for an
    unknown reading and for shares outside [0, 1]."""
    if reading not in READINGS:
        raise BiasflowError(f"reading {reading!r} of viable is unknown; choose from {', '.join(READINGS)}")
    for name, value in (("base accuracy", base_accuracy), ("threshold", threshold)):
        if not 0 <= value <= 1:
            raise BiasflowError(f"viable: the {name} is {value}, not in [0, 1]; give a share, not a percentage")
    return base_accuracy - threshold if reading == "absolute" else (1 - threshold) * base_accuracy


def viable(
    accuracy: ArrayLike, base_accuracy: float, *, threshold: float = 0.05, reading: Reading = "absolute"
) -> np.ndarray:
    """accuracy >= `cutoff(...)` for each model; accuracy: [...] shares in [0, 1] -> bool [...].

    A model exactly at the cutoff is viable. Raises BiasflowError as `cutoff` does, and for an accuracy that is not in
    [0, 1]."""
    accuracy = np.asarray(accuracy, dtype=float)
    outside = accuracy[~((accuracy >= 0) & (accuracy <= 1))]
    if outside.size:
        raise BiasflowError(f"viable: an accuracy is {outside.flat[0]}, not in [0, 1]; give shares, not percentages")
    return accuracy >= cutoff(base_accuracy, threshold=threshold, reading=reading) - _SLACK


def table7(run: Run) -> pd.DataFrame:
    """All settings of every encoder and stimuli set in the printed order, with the printed table's values beside the
    paper's own encoder and stimuli.

    NLI columns are means over the fine-tuning seeds (counted in `nli_seeds`), repeated for each stimuli set. A further
    reading of the interventions adds rows for the settings that it has. `viable` is "yes" or "no", "" without NLI
    scores. `status` and `nli_status` say why an encoder has no scores on stimuli (it has no stimuli then) or in NLI.
    BiasflowError names the first setting that is missing, or that the printed table does not have."""
    published = grid.printed_settings(run)
    measured, judged = _inside(run, published), nli_by_setting(run, published)
    blocks = []
    for encoder in grid.encoders(run):
        sets = measured.loc[measured["encoder"] == encoder, "stimuli"].unique()
        of_encoder = judged[judged["encoder"] == encoder]
        statuses = {
            "status": RUN if len(sets) else grid.not_run(run, encoder, grid.INSIDE),
            "nli_status": grid.not_run(run, encoder, grid.NLI) if of_encoder.empty else RUN,
        }
        further = [name for name in of_encoder["interventions"].unique() if name != grid.AFTER]
        for stimuli, interventions in product(sets if len(sets) else [""], [grid.AFTER, *further]):
            settings = published[grid.SETTING]
            if interventions != grid.AFTER:
                settings = settings.merge(of_encoder.loc[of_encoder["interventions"] == interventions, grid.SETTING])
            keys = dict(zip([*grid.BLOCK, "interventions"], (encoder, stimuli, interventions), strict=True))
            blocks.append(settings.assign(**keys, **statuses))
    rows = pd.concat(blocks, ignore_index=True)
    rows = rows.merge(measured, on=[*grid.BLOCK, *grid.SETTING], how="left", validate="many_to_one")
    rows = rows.merge(judged, on=[*grid.READING, *grid.SETTING], how="left", validate="many_to_one")
    rows = rows.fillna({"viable": "", "nli_seeds": 0}).astype({"nli_seeds": int})
    order = [*grid.BLOCK, "interventions", *grid.SETTING, *grid.MEASURES, *grid.CONTROLS, *grid.SCORES]
    rows = rows[[*order, "viable", "nli_seeds", "status", "nli_status"]]
    table = merge_published(rows, published, on=grid.SETTING, values=[*grid.MEASURES, *grid.PRINTED_SCORES])
    table = grid.published_where(grid.printed_inside(run, table), table, grid.MEASURES)
    table = grid.published_where(grid.printed_nli(run, table), table, grid.PRINTED_SCORES)
    table.attrs[NOTE] = _note(run)
    return table


def nli_by_setting(run: Run, published: pd.DataFrame) -> pd.DataFrame:
    """Means over the fine-tuning seeds (`nli_seeds`) of every setting, and whether the setting is `viable`.

    Fairness is the mean of the seeds' fairness, not the product of two means. A setting is viable by its mean SNLI
    accuracy against the untouched encoder's: Base of the main reading. `published`: the printed table 7, whose
    settings the main reading must all have; other readings may have some. BiasflowError otherwise."""
    keys = [*grid.READING, *grid.SETTING]
    table = (
        grid.nli(run)
        .groupby(keys, sort=False)
        .agg(**{c: (c, "mean") for c in grid.SCORES}, nli_seeds=("seed", "nunique"))
    )
    table = table.reset_index()
    for (encoder, interventions), block in table.groupby(grid.READING):
        _check_settings(
            block, published, f"encoder {encoder}, NLI {interventions}", complete=interventions == grid.AFTER
        )
    return table.assign(viable=against_base(table, ["encoder"], **run.options["viability"]))


def against_base(table: pd.DataFrame, keys: list[str], **viability: float | str) -> pd.Series:
    """ "yes" or "no" for each row, by the Base row of the main reading with the same `keys`."""
    verdicts = pd.Series("", index=table.index, dtype=object)
    for key, block in table.groupby(keys):
        try:
            base = _base_accuracy(block[block["interventions"] == grid.AFTER])
        except BiasflowError as error:
            named = ", ".join(f"{name} {value}" for name, value in zip(keys, key, strict=True))
            raise BiasflowError(f"NLI {grid.AFTER}, {named}: {error}") from error
        verdicts[block.index] = np.where(viable(block["snli_accuracy"], base, **viability), "yes", "no")
    return verdicts


def viable_settings(table: pd.DataFrame, **viability: float | str) -> np.ndarray:
    """Which rows (level, snli_accuracy) of one encoder are viable against its Base row: bool [rows]."""
    return viable(table["snli_accuracy"], _base_accuracy(table), **viability)


def in_printed_order(table: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Rows by encoder and reading (in the order of INTERVENTIONS), within each in the order of the printed table 7."""
    model = [*zip(table["level"], table["settings"], strict=True)]
    printed = published[grid.SETTING].itertuples(index=False, name=None)
    return arranged(table.assign(_model=model), encoder=None, interventions=grid.INTERVENTIONS, _model=printed)[
        list(table)
    ]


def _note(run: Run) -> str:
    """How the grid's subspaces were fitted, and what viable means here."""
    method, viability = run.options["method"], run.options["viability"]
    eraser, in_sequence = (run.attributes("method", name).get(method) for name in ("eraser", "sequential"))
    fitted = "in sequence" if in_sequence == str(True) else "on the untouched model"
    subspaces = f"The subspaces are those of {eraser}, fitted {fitted}. " if eraser else ""
    return f"{subspaces}The threshold is {viability['threshold']:g} ({viability['reading']})."


def _base_accuracy(table: pd.DataFrame) -> float:
    base = table.loc[table["level"] == grid.BASE, "snli_accuracy"]
    if len(base) != 1:
        raise BiasflowError(f"viability is judged against one Base row, but there are {len(base)}; score Base once")
    return float(base.iloc[0])


def _inside(run: Run, published: pd.DataFrame) -> pd.DataFrame:
    """encoder, stimuli, level, settings and the columns on stimuli; every setting is there."""
    measures = [*grid.MEASURES, *grid.CONTROLS]
    wide = grid.inside(run).reindex(columns=pd.MultiIndex.from_tuples(map(grid.key_of, measures)))
    table = wide.set_axis(measures, axis=1).reset_index()
    for (encoder, stimuli), block in table.groupby(grid.BLOCK):
        _check_settings(block, published, f"encoder {encoder}, stimuli {stimuli}")
    return table


def _check_settings(rows: pd.DataFrame, published: pd.DataFrame, where: str, *, complete: bool = True) -> None:
    """BiasflowError for the first setting that is not printed, or that the `rows` lack although they are complete."""
    ours, printed = (pd.MultiIndex.from_frame(frame[grid.SETTING]) for frame in (rows, published))
    for level, settings in ours.difference(printed)[:1]:
        raise BiasflowError(f"{where}: setting {level} ({settings}) is not in the printed table 7")
    for level, settings in printed.difference(ours)[:1] if complete else ():
        raise BiasflowError(f"{where}: setting {level} ({settings}) has no scores")
