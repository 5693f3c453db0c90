"""No table changes because code moves: each, made of a drawn run, is the stored bytes.

To replace tables for a change that is meant: `PYTHONPATH=scripts:. python -m tests.golden.test_tables`, and say in the
commit which of them changed and why.

The runs are the made-up ones of tests/unit/papers, with scores that are drawn."""

from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest

from biasflow.papers.dawkins2024.examples import printed_examples
from biasflow.papers.dawkins2024.grid import DURING
from biasflow.papers.frames import Run
from biasflow.papers.paper import load
from biasflow.papers.rows import function_of
from biasflow.results.scores import concatenate
from biasflow.results.tables import write_table
from tests.unit.papers.dawkins2024 import made_up as dawkins2024
from tests.unit.papers.liang2020 import made_up as liang2020
from tests.unit.papers.orgad2022 import made_up as orgad2022

BERT, ROBERTA, GONE = "bert", "roberta-base", "gone"
COUNTS = "(weat|seat)_(partitions|exact)|occtmp_p_sum|diverged|truncated|undefined_cells"


def drawn(scores: pd.DataFrame) -> pd.DataFrame:
    """The same rows with values between 0 and 1, of which no two are alike or in an order; counts as they are."""
    values = np.random.default_rng(0).random(len(scores)).round(4)
    return scores.assign(value=scores["value"].where(scores["metric"].str.fullmatch(COUNTS), values))


def run_of_dawkins2024(folder: Path) -> Run:
    """Two encoders on two sets of stimuli, one of them fine-tuned twice, and one without weights."""
    made = [dawkins2024.inside_scores(encoders=[BERT, "tiny"], sets=[dawkins2024.AUTHORS, "planted"])]
    for seed in "01":
        made += [
            dawkins2024.nli_scores(encoder=BERT, seed=seed),
            dawkins2024.nli_scores(encoder=BERT, seed=seed, reading="after fine-tuning, head retrained"),
            dawkins2024.nli_scores(encoder=BERT, seed=seed, reading=DURING, settings=dawkins2024.of_levels("sent")),
        ]
    return dawkins2024.run_of(
        drawn(dawkins2024.together(*made)),
        encoders=[BERT, "tiny"],
        not_run={(GONE, "strength"): "no weights", (GONE, "nli_fairness"): "no weights"},
        settings_in_training=dawkins2024.of_levels("sent"),
        files=files_of_dawkins2024(folder),
        about={BERT: dawkins2024.BERT},
        seeds=[0, 1],
    )


def files_of_dawkins2024(folder: Path) -> dict[str, dict[str, Path]]:
    """Stimuli of which some are printed, and what an untouched encoder makes of them."""
    printed = printed_examples(dawkins2024.NUMBERS)["context_id"].unique().tolist()
    stimuli = dawkins2024.stimuli([*printed, *(f"t{number}" for number in range(9))])
    cells = stimuli[["triple", "label"]].merge(pd.DataFrame({"swapped": [False, True]}), how="cross")
    p = np.random.default_rng(1).beta(0.3, 0.3, len(cells)).round(6)
    stimuli.to_csv(folder / "stimuli.csv", index=False)
    cells.assign(method="none", setting="-", p=p).to_parquet(folder / "next_sentence.parquet")
    return {
        "stimuli": {dawkins2024.AUTHORS: folder / "stimuli.csv"},
        "next_sentence": {f"{BERT}/{dawkins2024.AUTHORS}": folder / "next_sentence.parquet"},
    }


def run_of_liang2020(folder: Path) -> Run:
    """The paper's encoder and another one; sentences were not measured, and one encoder has no weights."""
    scores = concatenate(
        [
            liang2020.scores(encoder="bert-base-uncased"),
            liang2020.scores(sets=liang2020.EMBEDDED, layers=2, measures=("occtmp", "association", "glue")),
        ]
    )
    why = [("tiny", "seat", "no sentences"), ("tiny", "perplexity", "no text")]
    why += [(GONE, metric, "no weights") for metric in ("occtmp", "weat", "seat", "perplexity", "accuracy")]
    reasons = [
        {"encoder": encoder, "training": "pretrained", "metric": metric, "reason": reason, "method": method}
        for encoder, metric, reason in why
        for method in liang2020.PLACES
    ]
    return liang2020.run(drawn(scores), reasons=reasons, encoders=["bert-base-uncased", "tiny", GONE])


def run_of_orgad2022(folder: Path) -> Run:
    """The paper's encoder, of which one training diverged, and one without weights."""
    scores = orgad2022.scores(encoder=ROBERTA, seeds=orgad2022.SIX, probes=(0,), tests=("C6",))
    coreference = orgad2022.coreference_scores(encoder=ROBERTA, heads=(0,), orders=(0,))
    made = orgad2022.with_diverged(drawn(concatenate([scores, coreference])), "oversampling", 11)
    return orgad2022.run(
        made,
        not_run={GONE: "no weights"},
        files=orgad2022.item_files(folder),
        coreference=orgad2022.COREFERENCE["task"],
        coreference_strategies=orgad2022.COREFERENCE["strategies"],
    )


RUNS: dict[str, Callable[[Path], Run]] = {
    "dawkins2024": run_of_dawkins2024,
    "liang2020": run_of_liang2020,
    "orgad2022": run_of_orgad2022,
}


STORED = Path(__file__).parent / "tables"
ROWS = 40  # of a longer table every n-th row is stored, so that about as many remain
ELSEWHERE = {"text"}  # not of scores


def made(paper: str, folder: Path) -> dict[str, bytes]:
    """Table -> its CSV, or as many of its rows as are stored."""
    run, text = RUNS[paper](folder), load(paper)
    tables = {}
    for name, target in text.tables.items():
        if name in ELSEWHERE:
            continue
        table = function_of(text, target)(run)
        path = folder / f"{name}.csv"
        some = table.iloc[:: -(-len(table) // ROWS) or 1]
        write_table(some, path, path.with_suffix(".tex"), path.with_suffix(".html"), caption="")
        tables[f"{paper}_{name}"] = path.read_bytes()
    return tables


@pytest.mark.parametrize("paper", RUNS)
def test_tables_are_the_stored_ones(paper, tmp_path):
    tables = made(paper, tmp_path)
    assert set(tables) == {path.stem for path in STORED.glob(f"{paper}_*.csv")}
    for name, content in tables.items():
        lines = zip_longest(content.splitlines(), (STORED / f"{name}.csv").read_bytes().splitlines())
        differ = [(number, *pair) for number, pair in enumerate(lines, start=1) if pair[0] != pair[1]]
        assert not differ, f"{name}: {len(differ)} lines differ, the first is line, now, stored: {differ[0]}"


if __name__ == "__main__":
    STORED.mkdir(exist_ok=True)
    for each in RUNS:
        with TemporaryDirectory() as temporary:
            for table, lines in made(each, Path(temporary)).items():
                (STORED / f"{table}.csv").write_bytes(lines)
