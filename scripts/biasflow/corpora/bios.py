"""Biographies with a profession and a gender: Bias in Bios (De-Arteaga et al. 2019) and files of one's own."""

import io
import json
import pickle
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import pandas as pd

from scripts.biasflow.errors import BiasflowError
from scripts.biasflow.files import read_text

PROFESSIONS = (
    "accountant", "architect", "attorney", "chiropractor", "comedian", "composer", "dentist", "dietitian", "dj",
    "filmmaker", "interior_designer", "journalist", "model", "nurse", "painter", "paralegal", "pastor",
    "personal_trainer", "photographer", "physician", "poet", "professor", "psychologist", "rapper",
    "software_engineer", "surgeon", "teacher", "yoga_teacher",
)  # fmt: skip # alphabetical: the order of the hub's numbers, and the positions of the Wasserstein distance
GENDERS = ("M", "F")  # in the order of the hub's numbers
COLUMNS = ("text", "profession", "gender", "name", "scrubbed")
# Our column -> what a file may call it, the first that is there counts.
NAMES_OF = {
    "text": ("text", "hard_text", "raw"),
    "profession": ("profession", "title"),
    "gender": ("gender",),
    "name": ("name",),
    "scrubbed": ("scrubbed", "bio"),
}
OPTIONAL = ("name", "scrubbed")
NAME_SEPARATOR = "|"
GENDER_OF = {"m": "M", "male": "M", "f": "F", "female": "F"}
SUMMARY_COLUMNS = ("file", "read", "no_profession", "duplicate", "conflicting", "kept")
KEPT_COLUMNS = ("profession", "women", "men", "kept", "reason")


def read_bios(path: str | Path, *, professions: Sequence[str] | None = PROFESSIONS) -> pd.DataFrame:
    """The biographies of one file: a table with the columns text, profession, gender, name, scrubbed (all text).

    Formats, told by content: Parquet, JSON lines, tab-separated with a header (quotes are plain characters), CSV with a
    header, and the pickle BIOS.pkl of the original distribution, of which nothing but plain values is ever built.
    Columns: text, hard_text or raw; profession or title; gender; and, where known, name and scrubbed (or bio).

    text        as in the file; of a record with start_pos it is raw[start_pos:], the leading space kept.
    profession  one of `professions`, blanks and capitals apart ("Yoga Teacher" is yoga_teacher); None accepts whatever
                the file holds, as it is spelt. The hub's numbers 0 to 27 are those of PROFESSIONS.
    gender      "F" or "M"; a file may write f, m, female, male, and the hub's own files 1 (F) and 0 (M).
    name        its parts joined by "|" ("Ada||King" of ("Ada", "", "King")), or as the file has it; "" where unknown.
    scrubbed    the source's own text without names and pronouns, "" where it has none.

    Left out, and counted by `collect_bios`: rows without a profession; repeated texts (outer blanks apart), but for the
    first; all copies of a text that occurs with two professions or two genders, since no copy can be trusted. So no
    text can be in two parts of a split. BiasflowError names the file, the place (line, row or record, from 1) and the
    value: a missing column, an empty text, an unknown profession or gender, a pickle that asks for any global; or the
    file that has no biography or cannot be read."""
    return collect_bios({str(path): path}, professions=professions)[0]


def collect_bios(
    files: Mapping[str, str | Path], *, professions: Sequence[str] | None = PROFESSIONS
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The biographies of several files (name -> path), one after the other, and what was read and left out.

    The first table is that of `read_bios`, with repeated texts left out across files. The second has one row per file:
    file (its name), read, no_profession, duplicate, conflicting, kept; read is the sum of the other four."""
    tables = [_checked(Path(path), _raw(Path(path)), professions).assign(file=name) for name, path in files.items()]
    if not tables:
        raise BiasflowError("biographies: no file is named; name at least one.")
    bios = pd.concat(tables, ignore_index=True)
    fate = _fate(bios)
    summary = pd.crosstab(bios["file"], fate).reindex(index=list(files), columns=list(SUMMARY_COLUMNS[2:]))
    summary = summary.fillna(0).astype(int).rename_axis(index="file", columns=None).reset_index()
    summary.insert(1, "read", summary[list(SUMMARY_COLUMNS[2:])].sum(axis=1))
    kept = bios.loc[fate == "kept", list(COLUMNS)].reset_index(drop=True)
    if kept.empty:
        raise BiasflowError(f"{', '.join(files)}: no biography is left of {len(bios)}; check the files.")
    return kept, summary


def keep_professions(
    bios: pd.DataFrame, *, least: int, small: Literal["error", "drop"] = "error"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Only the professions with at least `least` biographies of each gender, and a table that says which those are.

    least: at least 2. Splits keep the shares of professions, not of genders, and a test split without one gender cannot
    be balanced: of n biographies of a gender none is among a test quarter with probability about 0.75^n (5.6 % for 10,
    0.3 % for 20). small: "error" refuses a profession that has fewer, "drop" leaves it out.
    The second table has one row per profession, alphabetical: profession, women, men, kept (bool), reason ("" if kept).
    BiasflowError names the professions that are too small with their counts; or fewer than two are left."""
    if least < 2 or small not in ("error", "drop"):
        raise BiasflowError(f"professions: least is {least} and small {small!r}; give 2 or more, and error or drop.")
    counts = pd.crosstab(bios["profession"], bios["gender"]).reindex(columns=["F", "M"], fill_value=0)
    enough = counts.min(axis=1) >= least
    rows = [
        (name, int(women), int(men), bool(kept), "" if kept else f"fewer than {least} of a gender")
        for (name, women, men), kept in zip(counts.itertuples(), enough, strict=True)
    ]
    too_small = [f"{name} ({women} women, {men} men)" for name, women, men, kept, _ in rows if not kept]
    if too_small and small == "error":
        raise BiasflowError(
            f"professions with fewer than {least} biographies of a gender: {', '.join(too_small)}; leave them out or "
            "let small professions be dropped."
        )
    if enough.sum() < 2:
        raise BiasflowError(
            f"professions: {enough.sum()} of {len(enough)} with at least {least} biographies of each gender "
            f"(too small: {', '.join(too_small)}); give more biographies or ask for fewer."
        )
    kept = bios[bios["profession"].map(enough)].reset_index(drop=True)
    return kept, pd.DataFrame(rows, columns=list(KEPT_COLUMNS))


def name_parts(name: str) -> tuple[str, ...]:
    """The parts of a name that are not empty: split at "|" where it has one (so a part may hold a blank), else at
    blanks."""
    return tuple(
        part.strip() for part in name.split(NAME_SEPARATOR if NAME_SEPARATOR in name else None) if part.strip()
    )


def _fate(bios: pd.DataFrame) -> pd.Series:
    """What becomes of each row: a column of SUMMARY_COLUMNS from no_profession on."""
    fate = pd.Series("kept", index=bios.index)
    fate[bios["profession"] == ""] = "no_profession"
    known = bios[fate == "kept"]
    same_text = known.groupby(known["text"].str.strip(), sort=False)
    fate.loc[known.index[same_text.cumcount() > 0]] = "duplicate"
    labels = same_text[["profession", "gender"]].transform("nunique")
    fate.loc[known.index[(labels > 1).any(axis=1)]] = "conflicting"
    return fate


def _checked(path: Path, raw: pd.DataFrame, professions: Sequence[str] | None) -> pd.DataFrame:
    """The columns COLUMNS, checked and spelt as ours; a profession that is not given is "".

    raw: columns COLUMNS as the file has them, its index (named line, row or record) the place in `path`; attrs["hub"]
    as `_raw` sets it. Numbers stand for professions and genders in the hub's files only: elsewhere 1 may be a man."""
    if raw.empty:
        raise BiasflowError(f"{path}: holds no biography; check the file.")
    _refuse(path, raw["text"], ~raw["text"].map(_is_filled), "is no text; fill it in or delete the biography")
    by_number = raw.attrs["hub"] and all(raw[column].map(type).eq(int).all() for column in ("profession", "gender"))
    known = None if professions is None else {_plain(name): name for name in professions}
    profession = raw["profession"].map(lambda value: _profession(value, known, by_number)).rename("profession")
    names = "a name" if known is None else f"one of {', '.join(known.values())}"
    why = f"is not {names}; leave it out, or let the run take professions of your own"
    _refuse(path, raw["profession"], profession.isna(), why)
    genders = GENDER_OF | (dict(enumerate(GENDERS)) if by_number else {})
    gender = raw["gender"].map(lambda value: genders.get(value.strip().lower() if isinstance(value, str) else value))
    _refuse(path, raw["gender"], gender.isna(), "is neither F nor M; a biography needs one of the two")
    return pd.DataFrame(
        {
            "text": raw["text"],
            "profession": profession,
            "gender": gender,
            "name": raw["name"].map(_joined),
            "scrubbed": raw["scrubbed"].map(lambda text: text if _is_filled(text) else ""),
        },
        dtype="str",
    )


def _is_filled(value) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _profession(value, known: Mapping[str, str] | None, by_number: bool) -> str | None:
    """The profession that a file calls `value`, "" if it gives none, None if there is no such profession."""
    if value is None or value == "":
        return ""
    if by_number and value in range(len(PROFESSIONS)):
        value = PROFESSIONS[value]
    if not isinstance(value, str):
        return None
    return value.strip() if known is None else known.get(_plain(value), "" if not value.strip() else None)


def _plain(name: str) -> str:
    """A profession with capitals and kinds of blanks taken away."""
    return name.strip().lower().replace(" ", "_")


def _joined(name) -> str:
    """A name as text: its parts joined, or as it is; "" where there is none."""
    if isinstance(name, str):
        return name.strip()
    return NAME_SEPARATOR.join(str(part or "") for part in name) if isinstance(name, list | tuple) else ""


def _refuse(path: Path, values: pd.Series, wrong: pd.Series, why: str) -> None:
    """BiasflowError that names the first place where `wrong` holds, and the value there."""
    if wrong.any():
        place = wrong.idxmax()
        raise BiasflowError(f"{path}: {values.index.name} {place}: {values.name}: {values[place]!r} {why}.")


def _raw(path: Path) -> pd.DataFrame:
    """The file's columns under our names, as they are; attrs["hub"]: whether they have the names of the hub's files."""
    try:
        with open(path, "rb") as stream:
            start = stream.read(4)
    except OSError as error:
        raise BiasflowError(f"{path}: cannot be read: {error.strerror}.") from error
    if start == b"PAR1":
        return _columns(path, _parquet(path))
    if start[:1] == b"\x80" or path.suffix in (".pkl", ".pickle"):
        return _columns(path, _table(path, _unpickled(path), "record"))
    text = read_text(path)
    if text.lstrip().startswith("{"):
        return _columns(path, _table(path, _json_lines(path, text), "line"))
    return _columns(path, _separated(path, text))


def _columns(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    found = {}
    for column, names in NAMES_OF.items():
        there = [name for name in names if name in table]
        if not there and column not in OPTIONAL:
            raise BiasflowError(f"{path}: has no column {' or '.join(names)}; it has {', '.join(map(str, table))}.")
        values = table[there[0]] if there else pd.Series("", index=table.index)
        if there == ["raw"] and "start_pos" in table:
            values = _after_first_sentence(path, table)
        found[column] = values.astype(object).where(values.notna(), None).rename(column)
    raw = pd.DataFrame(found)
    raw.attrs["hub"] = "hard_text" in table
    return raw


def _after_first_sentence(path: Path, table: pd.DataFrame) -> pd.Series:
    """raw[start_pos:], since the first sentence names the profession."""
    whole = table["start_pos"].map(lambda start: type(start) is int and start >= 0)
    _refuse(path, table["start_pos"], ~whole, "is no position in the text")
    return pd.Series(
        [text[start:] if isinstance(text, str) else None for text, start in table[["raw", "start_pos"]].to_numpy()],
        index=table.index,
        dtype=object,
    )


def _parquet(path: Path) -> pd.DataFrame:
    from pyarrow import ArrowException  # slow to load, and needed for files from the hub only
    from pyarrow.parquet import ParquetFile

    wanted = {name for names in NAMES_OF.values() for name in names} | {"start_pos"}
    try:
        with ParquetFile(path) as file:
            columns = file.read(columns=[name for name in file.schema_arrow.names if name in wanted]).to_pydict()
            rows = file.metadata.num_rows
    except (ArrowException, OSError) as error:
        raise BiasflowError(f"{path}: cannot be read as Parquet: {' '.join(str(error).split())}.") from error
    return pd.DataFrame(columns, index=pd.RangeIndex(1, rows + 1, name="row"), dtype=object)


def _json_lines(path: Path, text: str) -> Iterable[tuple[int, dict]]:
    for number, line in enumerate(io.StringIO(text), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except json.JSONDecodeError as error:
                raise BiasflowError(
                    f"{path}: line {number}, column {error.colno}: not valid JSON: {error.msg}."
                ) from error


def _table(path: Path, records: Iterable[tuple[int, dict]], unit: str) -> pd.DataFrame:
    """One row per record; a key that a record lacks is None."""
    places, rows = [], []
    for place, record in records:
        if not isinstance(record, dict):
            raise BiasflowError(f"{path}: {unit} {place}: not a record of named values; every {unit} must be one.")
        places.append(place)
        rows.append(record)
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    return pd.DataFrame(columns, index=pd.Index(places, name=unit), dtype=object)


def _separated(path: Path, text: str) -> pd.DataFrame:
    """Tab-separated if the first line has a tab, else CSV; rows are counted from 1, without the header."""
    # QUOTE_NONE (3): a quote in a tab-separated text is a plain character
    dialect = {"sep": "\t", "quoting": 3} if "\t" in text.partition("\n")[0] else {}
    try:
        table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False, **dialect)
    except (pd.errors.EmptyDataError, pd.errors.ParserError) as error:
        raise BiasflowError(f"{path}: not a readable table: {' '.join(str(error).split())}.") from error
    return table.set_index(pd.RangeIndex(1, len(table) + 1, name="row"))


class _PlainValues(pickle.Unpickler):
    """Builds numbers, texts, lists, tuples and dicts; a pickle can run code only by way of a global, and none is given.

    Extension codes and persistent ids are refused by the base class or come here as well."""

    path: Path

    def find_class(self, module: str, name: str):
        raise BiasflowError(
            f"{self.path}: the pickle asks for {module}.{name}; only plain values are read. It is not the original "
            "BIOS.pkl: delete it, or save its records as JSON lines where you trust it."
        )


def _unpickled(path: Path) -> Iterable[tuple[int, dict]]:
    with open(path, "rb") as stream:
        reader = _PlainValues(stream)
        reader.path = path
        try:
            records = reader.load()
        except BiasflowError:
            raise
        except Exception as error:  # a damaged pickle raises nearly any kind
            raise BiasflowError(f"{path}: cannot be read as a pickle of plain values: {error}.") from error
    if not isinstance(records, list):
        raise BiasflowError(f"{path}: holds no list of biographies; BIOS.pkl is a list of dicts.")
    return enumerate(records, start=1)
