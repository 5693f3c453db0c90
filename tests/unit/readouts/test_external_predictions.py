"""What a classifier elsewhere predicted of people, scored as ours: gaps counted by hand."""

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.predictions import read_predictions
from biasflow.metrics.occupation import score
from biasflow.plan.configuration import resolve
from biasflow.plan.facts import gather
from biasflow.plan.listing import unused_columns
from biasflow.readouts import external_predictions
from biasflow.results.scores import OF_MEASURES
from tests.unit.plan.configs import SCHEMA, asking, jobs_of, planned, setup_of

# (label, prediction) -> how many people of the groups F, M and X.
COUNTS = {("0", "0"): (30, 40, 10), ("0", "1"): (10, 10, 10), ("1", "1"): (20, 45, 5), ("1", "0"): (40, 5, 15)}
# By hand: the shares of right answers among those of a label, F (30/40, 20/60), M (40/50, 45/50), X (10/20, 5/20).
TPR = {"F": (0.75, 1 / 3), "M": (0.8, 0.9), "X": (0.5, 0.25)}


def table(**names) -> pd.DataFrame:
    rows = [
        (label, prediction, names.get(group, group))
        for (label, prediction), of_groups in COUNTS.items()
        for group, n in zip("FMX", of_groups, strict=True)
        for _ in range(n)
    ]
    people = pd.DataFrame(rows, columns=["label", "prediction", "group"]).sample(frac=1, random_state=0)
    return people.assign(id=range(len(people)), probability=0.7)


def scores_of(tmp_path, pair, groups):
    about = external_predictions.read([tmp_path / "theirs.csv"], {}, tmp_path / "heads.parquet", groups=groups)
    rows = score(tmp_path / "heads.parquet", pair=pair)
    return rows.set_index(["metric", "part", "variant"]), rows.attrs.get(OF_MEASURES, {}), about


@pytest.mark.parametrize("pair", [("F", "M"), ("X", "M"), ("X", "F")])
def test_gaps_of_each_pair_of_groups_are_those_counted_by_hand(tmp_path, pair):
    table().to_csv(tmp_path / "theirs.csv", index=False)
    rows, why, _ = scores_of(tmp_path, pair, [("F", "M"), ("X", "M"), ("X", "F")])
    gaps = [abs(first - second) for first, second in zip(TPR[pair[0]], TPR[pair[1]], strict=True)]
    found = rows.loc[("tpr_gap_sum", "-", "-")]
    assert found["value"] == pytest.approx(sum(gaps)) and 0 <= found["low"] <= found["value"] <= found["high"]
    people = {group: sum(of[k] for of in COUNTS.values()) for k, group in enumerate("FMX")}
    right = {group: COUNTS["0", "0"][k] + COUNTS["1", "1"][k] for k, group in enumerate("FMX")}
    n = sum(people[group] for group in pair)
    assert rows.loc[("accuracy", "-", "-"), "value"] == pytest.approx(sum(right[group] for group in pair) / n)
    assert rows["n"].eq(n).all() and why["tpr_gap_pearson"].endswith("these data have 2")


def test_a_group_of_no_pair_is_left_out_and_counted_and_numbers_and_words_name_groups_alike(tmp_path):
    table(F=1.0, M=0.0, X=2.0).to_parquet(tmp_path / "theirs.csv")
    by_number, _, about = scores_of(tmp_path, [1, 0], [[1, 0]])
    assert about["people"] == 200 and len(about["left_out"]["items"]) == 40
    assert {*about["left_out"]["items"].values()} == {"the group is 2"}
    table(F="Female ", M="m").to_csv(tmp_path / "theirs.csv", index=False)
    by_word, _, _ = scores_of(tmp_path, ["F", "M"], [["F", "M"]])
    pd.testing.assert_frame_equal(by_number.drop(columns="resampled"), by_word.drop(columns="resampled"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": 1}, r"column id: .* is there a second time.*\(239 lines are wrong"),
        ({"prediction": "toxic"}, "none is a label"),
        ({"group": "F"}, "no one is of the group M"),
    ],
)
def test_a_table_that_is_wrong_as_a_whole_is_one_line(tmp_path, change, message):
    table().query("group != 'X' or id >= 0").assign(**change).to_csv(tmp_path / "theirs.csv", index=False)
    with pytest.raises(BiasflowError, match=message):
        read_predictions([tmp_path / "theirs.csv"], [("F", "M"), ("X", "M")])


def test_predictions_without_weights_are_planned_for_each_pair_and_read_without_torch(tmp_path):
    table().to_csv(tmp_path / "theirs.csv", index=False)
    given = {"files": str(tmp_path / "theirs.csv"), "groups": [["F", "M"], ["X", "M"]]}
    block = {"encoders": ["theirs"], "metrics": ["fairness", "compression"], "methods": ["none"]}
    config = resolve(asking(block, ("encoders.theirs", {"source": "external", "predictions": given})), SCHEMA)
    gather(config | {"encoders": {"theirs": config["encoders"]["theirs"]}})
    cells = {(cell.metric, cell.dataset): cell for cell in planned(config).cells}
    assert [cells["fairness", f"predictions-{pair}"].status for pair in ("F-M", "X-M")] == ["run", "run"]
    (lacking,) = [cell.reason for (metric, _), cell in cells.items() if metric == "compression"]
    assert "gives no probes for compression" in lacking
    (job,) = [job for job in jobs_of(setup_of(config)) if job.rule.startswith("external_heads")]
    ((first,),) = job.params["readouts"]  # all pairs are read in one file
    assert first["options"] == {"groups": [["F", "M"], ["X", "M"]]}
    assert job.inputs[f"{first['inputs']}/given"] == [given["files"]]


def test_a_label_that_one_group_alone_has_gives_no_gap_and_counts_in_the_accuracy(tmp_path):
    """Five women of the label 2, three of them right, beside the people of above: no man has a rate to compare."""
    more = pd.DataFrame({"label": "2", "prediction": ["2", "2", "2", "0", "1"], "group": "F", "id": range(1000, 1005)})
    pd.concat([table(), more]).to_csv(tmp_path / "theirs.csv", index=False)
    rows, _, _ = scores_of(tmp_path, ("F", "M"), [("F", "M")])
    gaps = [abs(first - second) for first, second in zip(TPR["F"], TPR["M"], strict=True)]
    assert rows.loc[("tpr_gap_sum", "-", "-"), "value"] == pytest.approx(sum(gaps))
    assert rows.loc[("accuracy", "-", "-"), ["value", "n"]].tolist() == [
        pytest.approx((30 + 20 + 40 + 45 + 3) / 205),
        205,
    ]
    assert rows.loc[("undefined_cells", "tpr", "-"), "value"] == 1


def test_a_probability_is_told_not_to_be_used_before_the_first_job(tmp_path):
    table().to_csv(tmp_path / "theirs.csv", index=False)
    given = {"predictions": [str(tmp_path / "theirs.csv")]}
    block = {"encoders": ["theirs"], "metrics": ["fairness"], "methods": ["none"]}
    config = resolve(asking(block, ("encoders.theirs", {"source": "external", **given})), SCHEMA)
    (line,) = unused_columns(setup_of(config))
    assert "theirs.csv: the column probability is not used" in line
    table().drop(columns="probability").to_csv(tmp_path / "theirs.csv", index=False)
    assert unused_columns(setup_of(config)) == []
