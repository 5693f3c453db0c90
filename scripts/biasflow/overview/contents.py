"""The contents of the overview, ready for its templates: rows of scores and methods, tables and numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from biasflow.base.sample import limit_of
from biasflow.overview.about import Copy, permutation_tests
from biasflow.overview.agreement import Conflict, InShort, agreement, conflicts, in_short, mean_ranks, observations
from biasflow.overview.beside import Beside, of_encoders
from biasflow.overview.bias import BiasRow, bias_rows, judging_rows
from biasflow.overview.calibrated import learnt
from biasflow.overview.decisions import Answers, Decisions, decisions
from biasflow.overview.helps import MOST_LEFT, Change, MethodRow, common, left_under_draws, method_rows
from biasflow.overview.judgements import COST, NO_CLAIM, compared, turned
from biasflow.overview.maps import GROUPS, UNTOUCHED, Map, maps
from biasflow.overview.measured import Measured, other_readings, untouched_scores
from biasflow.overview.notes import Controls, controls, left_out
from biasflow.overview.verdicts import VERDICTS, verdicts
from biasflow.results.differences import BETWEEN
from biasflow.results.matrix import ROW, claimable, criticisms, limited
from biasflow.results.scores import NA, NONE, NOT_RUN

PLACE = r"^layer\[(?P<layer>\d+)\](?:\.attention\.value\[(?P<unit>\d+)\])?$"
CONFLICTS = 10  # that are shown
COLUMNS = 3  # methods in the table of what helps
NOTHING_APART = pd.DataFrame(columns=BETWEEN)


@dataclass(frozen=True)
class Shares:
    """Gender by layer and head: rows (layer, shares), each share with its part of the largest of all encoders. what:
    "gender", or what tells the groups of the user's words apart."""

    encoder: str
    what: str
    heads: int
    rows: Sequence[tuple[str, Sequence[tuple[str, float]]]]


@dataclass(frozen=True, eq=False)
class Model:
    """What the page shows first of a model. measured: all its untouched scores; biases: those of bias; judging: those
    of them by which methods are judged; learnt: False where the run's own calibration says nothing; planted: whether
    it was pre-trained on text with a planted bias; encoders: how many that differ in their seed alone the methods were
    measured on; task: on which it was fine-tuned; copy: what `biasflow debias` can write, None of what was trained
    here."""

    title: str
    encoder: str
    measured: Sequence[Measured]
    biases: Sequence[BiasRow]
    judging: Sequence[BiasRow]
    methods: Sequence[MethodRow]
    learnt: bool
    planted: bool
    encoders: int
    task: str = NA
    copy: Copy | None = None

    @property
    def biased(self) -> list[str]:
        """The names of the scores that show bias and judge methods (`judging_rows`)."""
        return [row.name for row in judging_rows(self.biases)]

    @property
    def less_evidence(self) -> dict[str, str]:
        """The names of the scores without full evidence -> `BiasRow.lacks`."""
        return {row.name: row.lacks for row in self.biases if row.less_evidence}

    @property
    def doubts(self) -> dict[str, str]:
        """`less_evidence`, and which scores are not judged."""
        return self.less_evidence | {row.name: "not judged" for row in self.biases if not row.judged}

    @property
    def over(self) -> str:
        """What the bias left is a mean over."""
        judging, biased = len(self.judging), len(self.biased)
        of = f" of {biased} biased scores" if judging < biased else " scores"
        return f"mean of {judging}{of}" if biased > 1 else "one score"

    @property
    def helpful(self) -> list[MethodRow]:
        """The methods that help a biased score."""
        return [row for row in self.methods if row.is_method and self._helped(row)]

    def _helped(self, row: MethodRow) -> set[str]:
        return {*self.biased} & {one.name for one in row.helped}

    @property
    def effective(self) -> list[MethodRow]:
        """The helpful methods that leave clearly less than all of the bias: those that keep quality first, and of these
        those without a weak control, then those that can be kept in the weights, then those that help the most scores,
        then those that leave the least."""
        less = [row for row in self.helpful if not row.left[0] > MOST_LEFT]
        kept = {row.name: self.copy is not None and row.method in self.copy.methods for row in less}
        return sorted(
            less, key=lambda row: (not row.keeps_quality, row.weak_control, not kept[row.name], -len(self._helped(row)))
        )

    @property
    def beside(self) -> list[MethodRow]:
        """The methods that stand beside the untouched model in the table of what helps."""
        return self.effective[:COLUMNS]

    @property
    def helping(self) -> dict[tuple[int, int], list[str]]:
        """(How many biased scores a method helps, of how many that were measured under it) -> the effective methods."""
        counts: dict[tuple[int, int], list[str]] = {}
        for row in self.effective:
            counts.setdefault((len(self._helped(row)), len({*self.biased} & {*row.tried})), []).append(row.name)
        return counts

    @property
    def outcomes(self) -> list[tuple[BiasRow, list[Change | None]]]:
        """Each score that shows bias, or that a method `beside` makes worse, takes past neutral or may move off it,
        with its change under each of these methods, None where it was not measured."""
        changes = [{one.name: one for one in row.changes} for row in self.beside]
        ordered = sorted(self.biases, key=lambda row: (not row.shown, row.order))
        rows = [(row, [of.get(row.name) for of in changes]) for row in ordered]
        return [(row, of) for row, of in rows if row.shown or any(one and one.is_price for one in of)]

    @property
    def offered(self) -> tuple[MethodRow, list[str]] | None:
        """The first of the effective methods that keeps quality and of which a copy of the model has a help, with the
        scores that it helps there, also those with less evidence."""
        for row in self.effective if self.copy else ():
            helped = [one.name for one in row.helped if self._is_copied(one.name)]
            if row.keeps_quality and row.method in self.copy.methods and helped:
                return row, helped
        return None

    def _is_copied(self, name: str) -> bool:
        return any(row.name == name and self.copy.changes(row.score.cell.measure) for row in self.biases)

    def helped_by(self, name: str) -> str:
        """How many of the biased scores that were measured under a method it helps: "helps 2 of 5", "" for none, NA
        where it was not measured."""
        if name not in {row.name for row in self.methods}:
            return NA
        counts = (count for count, names in self.helping.items() if name in names)
        return next((f"helps {helped} of {tried}" for helped, tried in counts), "")

    @property
    def pretrained(self) -> bool:
        """Whether this is an encoder that was not fine-tuned."""
        return self.task == NA

    @property
    def lowering(self) -> list[str]:
        """The names of the effective methods that lower the bias on average."""
        return [row.name for row in self.effective if row.leaves_less]


@dataclass(frozen=True, eq=False)
class Section:
    """A map for its template. rows: (group, (measure, its cells)), costs first, with the cells of `columns`, each a row
    of `Map.cells` with `says` (`judgements.compared`) and `past` (`judgements.turned`), or None; columns: (name of the
    row of the map, its quality); left_out: methods of too many settings."""

    title: str
    encoder: str
    own: bool
    controls: Controls | None
    columns: Sequence[tuple[str, str]]
    rows: Mapping[str, Sequence[tuple[object, Sequence[object]]]]
    left_out: Sequence[str]


@dataclass(frozen=True, eq=False)
class Contents:
    """All that the page says. verdicts: of every cell, for matrix.csv (overview.verdicts); beside: the measures of bias
    that two or more encoders have; sampled: how many datasets are samples; limits: which datasets are samples, and of
    which items were left out; models: with their own heads; pairs: `agreement` of every two measures of bias, which is
    a table of its own; ranks: rows of `mean_ranks` with an interval, by task; other_seeds: encoders that are not
    shown; decisions: of classifiers that are given."""

    verdicts: pd.DataFrame
    sampled: int
    limits: Sequence[str]
    models: Sequence[Model]
    other_seeds: Sequence[str]
    sections: Sequence[Section]
    criticisms: Sequence[str]
    pairs: pd.DataFrame
    agreement: InShort | None
    ranks: Sequence[Sequence[NamedTuple]]
    conflicts: Sequence[Conflict]
    conflicts_left_out: int
    shares: Sequence[Shares]
    not_run: Sequence[tuple[str, int, str]]
    beside: Sequence[Beside]
    decisions: Sequence[Decisions] = ()

    @property
    def tested(self) -> list[Model]:
        """The models on which methods stand beside each other: pre-trained encoders, or classifiers that are given."""
        return [model for model in self.models if model.pretrained or self.decisions]

    @property
    def helped_on(self) -> dict[str, list[str]]:
        """Method that helps a score of one of `tested` -> on each of these "helps 2 of 5" of the scores that show
        bias, "" where it is not shown to help, NA where it was not measured."""
        names = dict.fromkeys(row.name for model in self.tested for row in model.effective)
        return {name: [model.helped_by(name) for model in self.tested] for name in names}

    @property
    def lacking(self) -> dict[tuple[str, str], str]:
        """(encoder, name) of the scores without full evidence -> `BiasRow.lacks`."""
        return {(model.encoder, name): said for model in self.models for name, said in model.less_evidence.items()}

    @property
    def encoders(self) -> dict[str, list[Measured]]:
        """Encoder -> the untouched scores of its models, by their group."""
        of_encoder: dict[str, list[Measured]] = {}
        for model in self.models:
            of_encoder.setdefault(model.encoder, []).extend(model.measured)
        order = list(GROUPS)
        return {
            name: sorted(scores, key=lambda one: order.index(one.cell.section)) for name, scores in of_encoder.items()
        }


def contents(
    matrix: pd.DataFrame,
    plan: pd.DataFrame,
    scores: pd.DataFrame,
    families: Mapping[str, str] = MappingProxyType({}),
    kinds: Mapping[str, str] = MappingProxyType({}),
    calibrations: Mapping[str, pd.DataFrame] = MappingProxyType({}),
    dropped: Sequence[str] = (),
    apart: pd.DataFrame = NOTHING_APART,
    copies: Mapping[str, Copy] = MappingProxyType({}),
    answers: Answers = MappingProxyType({}),
) -> Contents:
    """What the page says: matrix (results.matrix), the plan with reasons (results.scores) and the table of scores.

    kinds: encoder -> its kind (`calibrated.kind_of`), of those with weights. calibrations: encoder -> its calibration
    in this run (calibrated_calibration.csv). dropped: what the data of tasks leave out, in sentences. families
    (results.power): of encoders that differ in their seed alone the first is shown, as one page cannot hold dozens;
    agreement, ranks and contradictions are those of all. apart: how far encoders are (`differences.between`); copies:
    encoder -> what can be kept of it (`about.copies`); answers: of several classifiers that are given
    (`decisions.answers_of`)."""
    observed = observations(claimable(scores))
    pairs, contradictions, ranks = agreement(observed), conflicts(observed), mean_ranks(observed)
    all_maps = list(maps(matrix))
    # Of a family, those that were not measured left aside.
    first = {families.get(name, name): name for name in reversed(scores["encoder"].unique())}
    shown = [model_map for model_map in all_maps if model_map.encoder in first.values()]
    tests, readings = permutation_tests(scores), other_readings(scores)
    models, of_cells = [], [pd.DataFrame(columns=[*ROW, *VERDICTS])]
    for place, model_map in enumerate(shown):
        if model_map.is_own:
            of_encoder = [one for one in shown if one.encoder == model_map.encoder]
            measured, kind = untouched_scores(model_map, of_encoder, tests, readings), kinds.get(model_map.encoder)
            biases = bias_rows(measured, kind, calibration := calibrations.get(model_map.encoder))
            shown[place] = judged = _without_claims(model_map, biases)
            alike = [judged, *_alike(model_map, all_maps, families)[1:]]
            models.append(_model(alike, measured, biases, scores, kind, calibration, copies.get(model_map.encoder)))
            of_cells.append(verdicts(judged, biases, models[-1].methods))
    shown_scores = scores[scores["encoder"].isin(first.values())]
    datasets = matrix.loc[matrix["value"].notna(), "dataset"].unique()
    shown_names = {model_map.encoder for model_map in shown}
    return Contents(
        pd.concat(of_cells, ignore_index=True),
        sum(1 for name in datasets if limit_of(name)),
        [*limited(datasets), *dropped, *left_out(shown_scores)],
        models,
        list(dict.fromkeys(model_map.encoder for model_map in all_maps if model_map.encoder not in shown_names)),
        [_section(model_map, scores) for model_map in shown],
        criticisms({measure for model_map in shown for measure in model_map.cells["measure"]}),
        pairs,
        in_short(pairs),
        [[*block.itertuples()] for _, block in ranks[ranks["low"].notna()].groupby("task", sort=False)],
        contradictions[:CONFLICTS],
        max(len(contradictions) - CONFLICTS, 0),
        _shares(shown_scores),
        _not_run(plan),
        of_encoders(apart, _biases(models)),
        decisions(shown_scores, answers),
    )


def _without_claims(model_map: Map, biases: Sequence[BiasRow]) -> Map:
    """The map with a caution on methods wherever the score of the untouched model makes no claim."""
    cells = model_map.cells
    is_silent = cells["header"].isin([row.name for row in biases if not row.judged]) & (cells["name"] != UNTOUCHED)
    return replace(
        model_map, cells=cells.assign(untouched_caution=cells["untouched_caution"].mask(is_silent, NO_CLAIM))
    )


def _model(
    alike: Sequence[Map],
    measured: Sequence[Measured],
    biases: Sequence[BiasRow],
    scores: pd.DataFrame,
    kind: str | None,
    calibration: pd.DataFrame | None,
    copy: Copy | None,
) -> Model:
    """What the page says of the first of the maps that are `alike` (`_alike`)."""
    model_map = alike[0]
    headers = common(model_map.cells, [row.name for row in judging_rows(biases)])
    known, draws = controls(model_map, scores), left_under_draws(model_map.cells, headers, scores)
    claiming, weak = [row.name for row in biases if row.judged], known.weak if known else ()
    return Model(
        model_map.title,
        model_map.encoder,
        measured,
        biases,
        [row for row in biases if row.name in headers],
        method_rows(model_map, headers, claiming, alike, draws, weak),
        calibration is None or learnt(calibration),
        kind == "embedded",
        len(alike),
        model_map.task,
        copy and copy._replace(part="decisions") if model_map.is_given else copy if model_map.task == NA else None,
    )


def _biases(models: Sequence[Model]) -> dict[str, list[BiasRow]]:
    of_encoder: dict[str, list[BiasRow]] = {}
    for model in models:
        of_encoder.setdefault(model.encoder, []).extend(model.biases)
    return of_encoder


def _alike(model_map: Map, all_maps: Sequence[Map], families: Mapping[str, str]) -> list[Map]:
    """The maps of the encoders that differ from a map's in their seed alone, its own first, on the same task."""
    family = families.get(model_map.encoder, model_map.encoder)
    others = [
        other
        for other in all_maps
        if other.is_own and other.task == model_map.task and families.get(other.encoder, other.encoder) == family
    ]
    return sorted(others, key=lambda other: other is not model_map)


def _section(model_map: Map, scores: pd.DataFrame) -> Section:
    columns = model_map.columns.iloc[np.argsort(model_map.columns["section"] != COST, kind="stable")]
    shown = model_map.rows[~model_map.rows["grid"]]
    says = ["" if row.name == UNTOUCHED else compared(row) for row in model_map.cells.itertuples()]
    past = [turned(row) for row in model_map.cells.itertuples()]
    cells = {(row.name, row.header): row for row in model_map.cells.assign(says=says, past=past).itertuples()}
    rows: dict[str, list] = {}
    for measure in columns.reset_index().itertuples():
        of_measure = [cells.get((name, measure.header)) for name in shown.index]
        rows.setdefault(GROUPS[measure.section], []).append((measure, of_measure))
    return Section(
        model_map.title,
        model_map.encoder,
        model_map.is_own,
        controls(model_map, scores),
        list(shown["quality"].items()),
        rows,
        list(model_map.cells.loc[model_map.cells["grid"], "method"].unique()),
    )


def _shares(scores: pd.DataFrame) -> list[Shares]:
    held = scores[(scores["metric"] == "gender_share") & (scores["method"] == NONE)]
    held = held.join(held["part"].str.extract(PLACE))
    held = held[held["layer"].notna()].astype({"layer": int})
    largest = held["value"].max()
    tables = []
    for encoder, block in held.groupby("encoder", sort=False):
        units = block.assign(unit=block["unit"].fillna("-1").astype(int))  # -1: the layer as a whole
        table = units.pivot_table(index="layer", columns="unit", values="value")
        rows = [
            (
                f"layer {layer}",
                [("", 0.0) if np.isnan(value) else (f"{value:.2f}", round(value / largest, 3)) for value in row],
            )
            for layer, row in zip(table.index, table.to_numpy(), strict=True)
        ]
        attribute = "gender" if block["dataset"].iloc[0] == "words" else block["dataset"].iloc[0]
        tables.append(Shares(encoder, attribute, int((table.columns >= 0).sum()), rows))
    return tables


def _not_run(plan: pd.DataFrame) -> list[tuple[str, int, str]]:
    """(reason, how many cells, their metrics)."""
    absent = plan[plan["status"] == NOT_RUN]
    return [
        (reason, len(block), ", ".join(dict.fromkeys(block["metric"])))
        for reason, block in absent.groupby("reason", sort=False)
    ]
