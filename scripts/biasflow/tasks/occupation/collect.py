"""The biographies of a task: from files, or embedded ones with a known bias."""

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from biasflow.base.errors import printable
from biasflow.base.sample import sampled
from biasflow.base.tabular import write_csv, write_parquet
from biasflow.corpora.bios import PROFESSIONS, collect_bios, dropped, keep_professions
from biasflow.corpora.labour import read_labour
from biasflow.planted.bios import biographies as planted_biographies
from biasflow.planted.world import load_world
from biasflow.tasks.occupation.data import profession_table
from biasflow.tasks.occupation.versions import scrubbed_texts


def prepare(
    sources: Mapping[str, Sequence[Path]],
    outputs: Mapping[str, Path],
    *,
    data: str | Mapping[str, object],
    planted: Mapping[str, object],
    scrubbing: str,
    advice: str,
    limit: int | None = None,
) -> dict[str, object]:
    """Write the biographies with scrubbed ones beside them, the table of professions, and that of sources.

    data: "planted", or the names of files (in the order of `sources`) and the other options of `from_files`; planted:
    the options of `from_world`; scrubbing: the terms of text.scrub; advice: what to do where there are too few; limit:
    at most so many biographies, of which small professions are left out after that."""
    if data == "planted":
        collected = from_world(advice=advice, limit=limit, **planted)
    else:
        files = dict(zip(data["files"], map(str, sources["files"]), strict=True))
        collected = from_files(files, data, read_labour(sources["labour"][0]), advice=advice, limit=limit)
    biographies = collected.scrubbed(scrubbing)
    write_parquet(biographies, outputs["biographies"])
    write_csv(collected.professions, outputs["professions"])
    write_csv(collected.sources, outputs["sources"])
    if said := dropped(collected.professions):
        logging.getLogger(__name__).warning(said)
        print(f"biasflow: {printable(said)}", file=sys.stderr, flush=True)  # before anything is trained
    return {"biographies": len(biographies)}


@dataclass(frozen=True)
class Collected:
    """Biographies. texts: the biographies; professions: which are kept, or why not; sources: the files they are
    from."""

    texts: pd.DataFrame
    professions: pd.DataFrame
    sources: pd.DataFrame

    def scrubbed(self, terms: str) -> pd.DataFrame:
        """Return the biographies with a column `scrubbed` (terms: text.scrub), and the source's as
        `scrubbed_by_source`."""
        by_source = self.texts["scrubbed"]
        return self.texts.assign(scrubbed=scrubbed_texts(self.texts, terms=terms), scrubbed_by_source=by_source)


def from_world(*, bias: float, seed: int, biographies: int, advice: str, limit: int | None = None) -> Collected:
    """Make the embedded biographies; their shares of women are planted, too."""
    table = _limited(planted_biographies(bias=bias, seed=seed, n=biographies), limit)
    table, professions = keep_professions(table, least=2, advice=advice)
    labour = pd.Series(load_world().shares)
    source = {"source": f"planted, bias {bias:g}", "biographies": len(table)}
    return Collected(table, profession_table(professions, labour), pd.DataFrame([source]))


def from_files(
    files: Mapping[str, str],
    data: Mapping,
    labour: pd.Series,
    *,
    advice: str = "give more biographies",
    limit: int | None = None,
) -> Collected:
    """The biographies of files. data: professions, least, small of the configuration.

    Which professions are kept follows from their counts alone, so that a further seed changes no biography, and trains
    no finished model again. Rule `splits` tries the seeds that are asked for."""
    table, professions, sources = kept(files, data, advice=advice, limit=limit)
    return Collected(table, profession_table(professions, labour), sources)


def kept(
    files: Mapping[str, str | Path], data: Mapping, *, advice: str, limit: int | None
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The biographies of files that a task keeps, the table of professions, and that of sources."""
    known = PROFESSIONS if data["professions"] is None else data["professions"] or None
    table, sources = collect_bios(files, professions=known)
    return *keep_professions(_limited(table, limit), least=data["least"], small=data["small"], advice=advice), sources


def _limited(biographies: pd.DataFrame, limit: int | None) -> pd.DataFrame:
    return sampled(biographies, limit, strata=["profession", "gender"])
