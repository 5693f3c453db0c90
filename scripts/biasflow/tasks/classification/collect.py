"""The labelled texts of people, each with a gender: files of the user's, biographies, or embedded ones."""

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from biasflow.base.errors import printable
from biasflow.base.genders import GENDERS, WOMEN_FIRST
from biasflow.base.sample import sampled
from biasflow.base.tabular import write_csv, write_parquet
from biasflow.corpora.bios import PROFESSIONS, UNKNOWN, collect_bios
from biasflow.corpora.labour import read_labour
from biasflow.planted.bios import biographies as planted_biographies
from biasflow.planted.world import load_world
from biasflow.tasks.classification.labels import dropped, has_enough, keep_labels, of_further
from biasflow.tasks.classification.splits import how_split
from biasflow.tasks.classification.versions import scrubbed_texts

# What the keys of the columns of a user's texts are called by the reader of biographies.
NAMES = {"text": "text", "label": "profession", "group": "gender", "name": "name", "split": "split"}
PROFESSION = {"label": "profession"}  # what labels of biographies are called


def prepare(
    sources: Mapping[str, Sequence[Path]],
    outputs: Mapping[str, Path],
    *,
    data: str | Mapping[str, object],
    scrubbing: str | None,
    advice: str,
    limit: int | None = None,
    planted: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Write the texts with scrubbed ones beside them, the table of labels, and that of sources.

    data: "planted", or the names of files (in the order of `sources`) and the other options of `kept`; planted: the
    options of `from_world`; scrubbing: the terms of text.scrub, None: nothing is scrubbed; advice: what to do where
    there are too few; limit: at most so many texts, of which small labels are left out after that. Where the labels are
    professions, the table has the labour statistics beside them (`profession_table`)."""
    if data == "planted":
        collected = from_world(advice=advice, limit=limit, **planted)
    else:
        files = dict(zip(data["files"], map(str, sources["files"]), strict=True))
        collected = kept(files, data, advice=advice, limit=limit)
    texts = collected.scrubbed(scrubbing)
    write_parquet(texts, outputs["texts"])
    write_csv(collected.sources, outputs["sources"])
    labels = collected.labels
    if "professions" in outputs:
        shares = pd.Series(load_world().shares) if data == "planted" else read_labour(sources["labour"][0])
        labels = profession_table(labels, shares)
    write_csv(labels, outputs.get("professions") or outputs["labels"])
    if "understood" in outputs:
        write_csv(pd.DataFrame({"understood": [collected.understood]}), outputs["understood"])
    if said := collected.understood:
        logging.getLogger(__name__).warning(said)
        print(f"biasflow: {printable(said)}", file=sys.stderr, flush=True)  # before anything is trained
    return {"texts": len(texts)}


@dataclass(frozen=True)
class Collected:
    """Labelled texts. texts: text, label, gender, name, scrubbed and, where the data say it, split; labels: which are
    kept, or why not (column label, of biographies profession); sources: the files they are from; understood: what was
    read, counted and left out, in a sentence."""

    texts: pd.DataFrame
    labels: pd.DataFrame
    sources: pd.DataFrame
    understood: str = ""

    def scrubbed(self, terms: str | None) -> pd.DataFrame:
        """Return the texts with a column `scrubbed` (terms: text.scrub; None: without), and the source's own as
        `scrubbed_by_source`."""
        if terms is None:
            return self.texts.drop(columns="scrubbed")
        by_source = self.texts["scrubbed"]
        return self.texts.assign(scrubbed=scrubbed_texts(self.texts, terms=terms), scrubbed_by_source=by_source)


def from_world(*, bias: float, seed: int, biographies: int, advice: str, limit: int | None = None) -> Collected:
    """Make the embedded biographies."""
    table = _limited(_labelled(planted_biographies(bias=bias, seed=seed, n=biographies)), limit)
    table, labels = keep_labels(table, least=2, advice=advice)
    source = {"source": f"planted, bias {bias:g}", "biographies": len(table)}
    return Collected(table, labels.rename(columns=PROFESSION), pd.DataFrame([source]))


def kept(
    files: Mapping[str, str | Path], data: Mapping, *, advice: str = "give more texts", limit: int | None = None
) -> Collected:
    """The texts of files that a task keeps.

    data: least and small of `keep_labels`, and of biographies the `professions` that may occur (None: those of Bias in
    Bios, empty: any), of other texts the names of the `columns` text, label, group, and split or None, `parts`, the
    part of each file where a file is one, and groups and unknown as `collect_bios` has them.
    Which labels are kept follows from their counts alone, so that a further seed changes no text, and trains no
    finished model again. The rule of the splits tries the seeds that are asked for."""
    columns = data.get("columns")
    if columns:
        names = {NAMES[key]: (name,) for key, name in columns.items() if name}
        about = {key: data[key] for key in ("groups", "unknown") if key in data}
        about |= {"parts": dict(zip(files, data["parts"], strict=True))} if data.get("parts") else {}
        table, sources = collect_bios(files, professions=None, names=names, **about)
    else:
        known = PROFESSIONS if data["professions"] is None else data["professions"] or None
        table, sources = collect_bios(files, professions=known)
    genders = table["gender"].value_counts()
    table = _limited(_labelled(table), limit)
    further = [group for group in data.get("groups") or () if group not in GENDERS]
    table, labels = keep_labels(table, least=data["least"], small=data["small"], advice=advice, further=further)
    if further:
        table = table.assign(compared=has_enough(table, table, data["least"]))
    lacking = [of_further(table, group, data["least"]) for group in further]
    labels = labels if columns else labels.rename(columns=PROFESSION)
    said = _understood(sources, genders, labels, limit)
    parts = how_split(table, columns and columns["split"], "each seed draws train, validation and test")
    return Collected(table, labels, sources, "; ".join(filter(None, [*said, parts, dropped(labels), *lacking])))


def _understood(sources: pd.DataFrame, genders: pd.Series, labels: pd.DataFrame, limit: int | None) -> list[str]:
    """What was read of the files, and what was left out of it."""
    counts = sources.drop(columns="file").sum()
    groups = dict.fromkeys([*WOMEN_FIRST, *genders.index])
    people = ", ".join(f"{genders.get(group, 0):,} {group}" for group in groups)
    values = ", ".join(f"{value or 'empty'} {n:,}" for value, n in sources.attrs["unknown"].items())
    unknown = f"{counts[UNKNOWN]:,} unknown left out" + (f" ({values})" if values else "") if UNKNOWN in counts else ""
    others = {"no_profession": "without a label", "duplicate": "repeated", "conflicting": "with contradicting labels"}
    more = [f"{counts[name]:,} {why}" for name, why in others.items() if counts[name]]
    said = f"{counts['read']:,} rows, {labels['kept'].sum()} {labels.columns[0]}s, {people}"
    return [
        f"{said}, {unknown}" if unknown else said,
        f"{', '.join(more)} left out" if more else "",
        f"a sample of {limit:,} is used" if limit is not None and limit < genders.sum() else "",
    ]


def profession_table(labels: pd.DataFrame, labour: pd.Series) -> pd.DataFrame:
    """The professions of the data, used or not, beside the labour statistics.

    labels: as `Collected` has them. labour: share of women in [0, 1] by profession. Columns: profession,
    women, men, share_of_women (of all the biographies read), labour_share (NaN where the statistics have none), kept,
    reason."""
    shares = labels["women"] / (labels["women"] + labels["men"])
    labour_shares = labour.reindex(labels["profession"]).to_numpy(float)
    table = labels.assign(share_of_women=shares, labour_share=labour_shares)
    return table[["profession", "women", "men", "share_of_women", "labour_share", "kept", "reason"]]


def _labelled(biographies: pd.DataFrame) -> pd.DataFrame:
    return biographies.rename(columns={"profession": "label"})


def _limited(texts: pd.DataFrame, limit: int | None) -> pd.DataFrame:
    return sampled(texts, limit, strata=["label", "gender"])
