"""The labelled texts, or pairs, of a task in fixed parts: of a user's files, of corpora that have a reader, or
embedded."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from biasflow.base.errors import printable
from biasflow.base.sample import sampled
from biasflow.base.tabular import write_csv
from biasflow.corpora.bios import PARTS as NAMES_OF_PARTS
from biasflow.corpora.glue import read_glue
from biasflow.corpora.nli import COLUMNS, collect_parts
from biasflow.corpora.records import columns_of, read_records, refuse, without_empty
from biasflow.planted.nli import planted_parts
from biasflow.tasks.classification.splits import PARTS, how_split, split

SEED = 0  # of a split that the data lack; it does not depend on the fine-tunings
NO_VALIDATION = {"train": "train", "validation": "test"}  # of embedded pairs, if nothing is selected on the test part
Sources = Mapping[str, Sequence[Path]]
Read = tuple[dict[str, pd.DataFrame], dict[str, object]]  # the examples of each part, and facts about them


def prepare(
    sources: Sources, outputs: Mapping[str, Path], *, reader: str, limit: int | None = None, **options
) -> dict[str, object]:
    """Write the examples of each part, and the table of their sources if it is among the outputs.

    reader: of READERS, with its options; limit: at most so many examples of each part."""
    parts, facts = READERS[reader](sources, **options)
    strata = ["label"] if reader != "glue" else []
    parts = {part: sampled(examples, limit, strata=strata) for part, examples in parts.items()}
    for part, examples in parts.items():
        write_csv(examples, outputs[part])
    if "sources" in outputs:
        write_csv(facts.pop("sources"), outputs["sources"])
    if "understood" in outputs:
        said = facts["understood"]
        write_csv(pd.DataFrame({"understood": [said]}), outputs["understood"])
        print(f"biasflow: {printable(said)}", file=sys.stderr, flush=True)  # before anything is trained
    return {**facts, "examples": {part: len(examples) for part, examples in parts.items()}}


def of_nli(sources: Sources, *, data: str | Mapping[str, object], planted: Mapping[str, object]) -> Read:
    """Pairs of natural language inference. data: "planted", or the names of each part's files (in the order of
    `sources`) and validation_share; planted: the options of `planted_parts`."""
    if data == "planted":
        parts, table = planted_parts(**planted)
    else:
        files = {part: dict(zip(data[part], paths, strict=True)) for part, paths in sources.items()}
        parts, table = collect_parts(files, validation_share=data["validation_share"], seed=SEED)
    return {part: pairs[[*COLUMNS]] for part, pairs in parts.items()}, {"seed": SEED, "sources": table}


def of_glue(sources: Sources, *, data: str, planted: Mapping[str, object]) -> Read:
    """Train and validation of a task of GLUE. data: its name, or "planted-nli" with the options `planted` of
    `planted_parts`."""
    if data == "planted-nli":
        embedded, _ = planted_parts(**planted)
        return {part: embedded[source] for part, source in NO_VALIDATION.items()}, {}
    read = {
        part: read_glue(data, "validation_matched" if (data, part) == ("mnli", "validation") else part, paths)
        for part, paths in sources.items()
    }
    facts = {part: {"dropped": examples.dropped, "published": examples.published} for part, examples in read.items()}
    return {part: examples.examples for part, examples in read.items()}, facts


def of_table(sources: Sources, *, columns: Mapping[str, object], parts: Sequence[str] = ()) -> Read:
    """Texts or pairs of the files of a user. columns: the names of those of the text (or the two texts) and the label,
    and of the split or None; parts: the part that each file is, where files are. Without either 65 % are train, 10 %
    validation and 25 % test, with the same shares of labels.

    Rows without a text or a label, repeated ones, and all copies of a text with two labels are left out and counted, so
    that no text is in two parts. BiasflowError names file, row and column of a wrong value."""
    texts, label, part = columns["text"], columns["label"], columns["split"]
    names = [*texts, label, *([part] if part else [])]
    tables, read = [], 0
    for number, path in enumerate(sources["files"]):
        table = read_records(path, names)
        read += len(table)
        table = table[list(columns_of(path, table, names))].map(lambda value: "" if value is None else str(value))
        if part:
            known = table[part].map(NAMES_OF_PARTS)
            refuse(path, table[part], known.isna(), f"is none of {', '.join(NAMES_OF_PARTS)}")
            table = table.assign(**{part: known})
        table = without_empty(path, table, *texts, label).rename(columns={label: "label", part: "split"})
        tables.append(table.assign(split=parts[number]) if parts else table)
    filled = pd.concat(tables, ignore_index=True)
    once = filled[~filled.duplicated([*texts, "label"])]
    table = once[~once.duplicated(texts, keep=False)].reset_index(drop=True)
    lost = {"empty": read - len(filled), "repeated": len(filled) - len(once)}
    lost["with contradicting labels"] = len(once) - len(table)
    more = [f"{n:,} {why}" for why, n in lost.items() if n]
    said = [f"{read:,} rows, {table['label'].nunique()} labels", f"{', '.join(more)} left out" if more else ""]
    said.append(how_split(table, part, "train, validation and test are drawn"))
    rows = split(table, SEED)
    examples = {name: table.iloc[getattr(rows, name)][[*texts, "label"]] for name in PARTS}
    return examples, {"understood": "; ".join(filter(None, said))}


READERS: Mapping[str, Callable[..., Read]] = {"nli": of_nli, "glue": of_glue, "table": of_table}
