"""The golden tables of Orgad, Goldfarb-Tarrant & Belinkov (2022): what makes each, from the scores with new keys."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import pandas as pd

from biasflow.papers.frames import Run
from biasflow.papers.orgad2022.targets import TABLES as FUNCTIONS
from biasflow.papers.published import read_published
from biasflow.results.scores import NA, tidy
from biasflow.stimuli.ceat_sets import WORDS
from tests.golden.keys import new_keys, read_old

HERE = Path(__file__).parent
INPUTS = HERE / "inputs"
COREF = "coref"
ROBERTA, DEBERTA, TINY, LOST, GONE = "roberta-base", "deberta-base", "tiny", "lost", "gone"
RAN = [ROBERTA, DEBERTA, TINY, LOST]
STRATEGIES = ["plain", "oversampling", "subsampling", "scrubbing"]
SEEDS = [0, 5, 11, 26, 42, 46]
NOT_RUN = [  # metric and training of cells, and why encoders that lack them were not run
    ("ceat", "bios/plain/seed0", "no corpus"),
    ("fairness", "bios/plain/seed0", "no heads"),
    ("fairness", "pretrained", "no time"),
    ("compression", "bios/plain/seed0", "no probe"),
]
PLAN = ["block", "encoder", "training", "method", "metric", "dataset", "status", "reason"]


@cache
def scores() -> pd.DataFrame:
    """The stored scores. They have CEAT of pretrained encoders by seed, which no run has: as if by split."""
    new = new_keys(read_old(HERE / "internal_scores.csv"))
    drawn = new["metric"].str.startswith("ceat_") & (new["readout_seed"] != NA)
    return new.assign(split_seed=new["readout_seed"].where(drawn, new["split_seed"]))


def run(
    encoders: Sequence[str], *, reasons: bool = False, files: Mapping[str, Mapping[str, Path]] | None = None
) -> Run:
    """The run of these encoders, with the reasons for what it lacks, or without any."""
    cells = [
        ("orgad2022", name, training, "none", metric, "-", "not run", "no weights" if name == GONE else reason)
        for name in encoders
        for metric, training, reason in NOT_RUN
        if reasons
    ]
    return Run(
        scores(),
        pd.DataFrame(cells, columns=PLAN),
        pd.DataFrame(columns=["name", "kind", "attribute", "value"]),
        partial(read_published, "orgad2022"),
        files=files or {},
        options={"encoders": list(encoders), "task": "bios", "strategies": STRATEGIES, "seeds": SEEDS},
    )


@cache
def coreference_scores() -> pd.DataFrame:
    """The stored scores of coreference, of one encoder."""
    stored = pd.read_csv(INPUTS / "coreference_scores.csv", dtype=str, keep_default_na=False, na_values={"n": [""]})
    return tidy(stored.astype({"value": float, "n": float}), encoder=ROBERTA, method="none")


def coreference_run(encoders: Sequence[str], *, task: str | None = COREF) -> Run:
    """The run of these encoders, of which one has scores and another lacks the documents; task: null for none."""
    trainings = ("coref/plain/seed0", "pretrained")
    cells = [("orgad2022", GONE, each, "none", "winobias", "-", "not run", "no documents") for each in trainings]
    files = {role: {COREF: INPUTS / f"coreference_{role}.csv"} for role in ("baseline", "pairs_baseline", "sources")}
    return Run(
        coreference_scores(),
        pd.DataFrame(cells, columns=PLAN),
        pd.DataFrame(columns=["name", "kind", "attribute", "value"]),
        partial(read_published, "orgad2022"),
        files=files,
        options={
            "encoders": list(encoders),
            "seeds": SEEDS,
            "coreference": task,
            "coreference_strategies": ["plain", "anon", "ca", "anon+ca"],
        },
    )


def _words(table: str, profession: str, folder: Path) -> pd.DataFrame:
    """A table of words, from a file of this profession's."""
    top = pd.read_csv(INPUTS / "top_words.csv", keep_default_na=False).assign(converged=True)
    file = folder / f"{table}-{profession}.csv"
    top[top["part"].isin(["all", profession])].to_csv(file, index=False)
    return FUNCTIONS[table](run([TINY], files={"top_words": {"bios": file}}))


def _data(folder: Path) -> pd.DataFrame:
    file = folder / "sources.csv"
    file.write_text("source,biographies\nplanted,100\n")
    files = {"professions": {"bios": INPUTS / "professions.csv"}, "sources": {"bios": file}}
    return FUNCTIONS["data"](run([TINY], files=files))


CEAT_FILES = {"ceat_counts": {ROBERTA: INPUTS / "ceat_counts_roberta-base.csv"}, "ceat_words": {"ceat": WORDS}}


def _of(name: str, encoders: Sequence[str], _: Path, **options) -> pd.DataFrame:
    return FUNCTIONS[name](run(encoders, **options))


def _of_coreference(name: str, encoders: Sequence[str], _: Path, **options) -> pd.DataFrame:
    return FUNCTIONS[name](coreference_run(encoders, **options))


OF_COREFERENCE = ("table1b", "table2_coreference", "table7", "table8", "ceat_coreference", "data_coreference")
TABLES: dict[str, Callable[[Path], pd.DataFrame]] = (
    {
        f"internal_{name}": partial(_of, name, [*RAN, GONE], reasons=True)
        for name in ("table1", "table3", "table4", "table5")
    }
    # The first version showed an encoder without weights in these two only if it was named first.
    | {f"internal_{name}": partial(_of, name, RAN, reasons=True) for name in ("table2", "table6")}
    | {f"internal_table{number}-few": partial(_of, f"table{number}", [TINY]) for number in range(1, 7)}
    | {
        "internal_correlations": partial(_of, "correlations", [DEBERTA, LOST]),
        "internal_ceat": partial(_of, "ceat", [*RAN, GONE], reasons=True, files=CEAT_FILES),
        "internal_ceat-few": partial(_of, "ceat", [TINY]),
        "internal_table9": partial(_words, "table9", "nurse"),
        "internal_table10": partial(_words, "table10", "nurse"),
        "internal_table10-other-profession": partial(_words, "table10", "surgeon"),
        "internal_data": _data,
    }
    | {f"internal_{name}": partial(_of_coreference, name, [ROBERTA, GONE]) for name in OF_COREFERENCE}
    | {f"internal_{name}-unnamed": partial(_of_coreference, name, [ROBERTA], task=None) for name in OF_COREFERENCE}
)
