"""What a run writes is what the documentation says that it writes."""

from scripts.biasflow.results.scores import read_scores
from tests.unit.test_docs import SCORES, documented_metrics


def test_every_metric_dataset_and_variant_of_a_run_is_documented(finished):
    scores = read_scores(finished.folder / "results/tiny/scores.csv")
    assert set(scores["metric"]) - documented_metrics() == set()
    assert [name for name in sorted(set(scores["variant"]) - {"-"}) if f"`{name}`" not in SCORES] == []
    heads = {name.partition("frozen-")[0] or "frozen-<strategy>" for name in scores["head"]}
    assert [name for name in sorted(heads) if f"`{name}`" not in SCORES] == []
