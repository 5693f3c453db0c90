"""Biographies with a profession and a gender: Bias in Bios (De-Arteaga et al. 2019) and a user's files."""

import pickle
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import first_bytes
from biasflow.base.genders import GENDERS, SPELT_OUT
from biasflow.corpora.records import is_filled, of_objects, one_line, read_records, refuse

PROFESSIONS = (
    "accountant", "architect", "attorney", "chiropractor", "comedian", "composer", "dentist", "dietitian", "dj",
    "filmmaker", "interior_designer", "journalist", "model", "nurse", "painter", "paralegal", "pastor",
    "personal_trainer", "photographer", "physician", "poet", "professor", "psychologist", "rapper",
    "software_engineer", "surgeon", "teacher", "yoga_teacher",
)  # fmt: skip # alphabetical: the order of the hub's numbers, and the positions of the Wasserstein distance
NAME_SEPARATOR = "|"
GENDER_OF = {name: code for code, word in zip(GENDERS, SPELT_OUT, strict=True) for name in (code.lower(), word)}
SUMMARY_COLUMNS = ("file", "read", "no_profession", "duplicate", "conflicting", "kept")
HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # cannot be written as UTF-8
WHOLE_NUMBER = re.compile(r"[0-9]{1,3}(\.0+)?")
# Our column -> its possible names in a file; the first existing one counts.
NAMES_OF = {
    "text": ("text", "hard_text", "raw"),
    "profession": ("profession", "title"),
    "gender": ("gender",),
    "name": ("name",),
    "scrubbed": ("scrubbed", "bio"),
}
COLUMNS = tuple(NAMES_OF)
OPTIONAL = ("name", "scrubbed")
SPLIT = "split"  # a column that only files with names of their own may have
UNKNOWN = "unknown_gender"  # the fate of a row whose gender is none of those that are told apart
PARTS = {"train": "train", "validation": "validation", "dev": "validation", "test": "test"}  # by what a file calls them


def collect_bios(
    files: Mapping[str, str | Path],
    *,
    professions: Sequence[str] | None = PROFESSIONS,
    names: Mapping[str, Sequence[str]] = NAMES_OF,
    groups: Mapping[str, Sequence[object]] | None = None,
    unknown: str = "refuse",
    parts: Mapping[str, str] | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The biographies of several files (name -> path), one after the other, and what was read and left out.

    names: our columns -> those of the files; also of other labelled texts of people, whose label is the profession
    here, and which may have a split of their own. groups: gender (M, F) -> the values that stand for it, in place of
    those below; unknown: "drop" leaves out rows of any other value, and counts them in a column `unknown_gender` of the
    second table, whose attrs["unknown"] has the values with their counts; parts: file -> the part that all of it is in.
    The first table has the columns text, profession, gender, name, scrubbed (all text), and split where `names` has it:
    train, validation or test. The second has one row per
    file: file (its name), read, no_profession, duplicate, conflicting, kept; read is the sum of the other four.

    Formats, told by content: Parquet, JSON lines, a table with a header, and the pickle BIOS.pkl of the original
    distribution, of which nothing but plain values is ever built.
    Columns: text, hard_text or raw; profession or title; gender; and, where known, name and scrubbed (or bio).

    text        as in the file; of a record with start_pos it is raw[start_pos:], the leading space kept.
    profession  one of `professions`, blanks and capitals apart ("Yoga Teacher" is yoga_teacher); None accepts whatever
                the file holds, as it is spelt. The hub's numbers 0 to 27 are those of PROFESSIONS.
    gender      "F" or "M"; a file may write f, m, female, male, and the hub's own files 1 (F) and 0 (M).
                The hub's files are those with a column hard_text; there a column is of numbers if its first value is
                one (21, 21.0, or their text in CSV), and then every other has to be.
    name        its parts joined by "|" ("Ada||King" of ("Ada", "", "King")), or as the file has it; "" where unknown.
    scrubbed    the source's own text without names and pronouns, "" where it has none.

    Left out, and counted: rows without a profession; texts that are repeated (outer blanks apart), in any of the files,
    but for the first; all copies of a text that occurs with two professions or two genders, since no copy can be
    trusted. So no text can be in two parts of a split. BiasflowError names the file, the place (line, row or record,
    from 1) and the value: a column that is missing or there twice, a row longer or shorter than the header (as where a
    comma in a text is not quoted), an empty text, an unknown profession or gender, a name that is no text, half a
    character (a lone surrogate), a JSON array in place of lines, a pickle that asks for any global; or the file that
    has no biography or cannot be read."""
    paths = {name: Path(path) for name, path in files.items()}
    rules = {"professions": professions, "groups": groups, "dropping": unknown == "drop"}
    tables = [
        _checked(path, read_biographies(path, names), **rules).assign(
            file=name, **({SPLIT: parts[name]} if parts else {})
        )
        for name, path in paths.items()
    ]
    if not tables:
        raise BiasflowError("biographies: no file is named; name at least one.")
    bios = pd.concat(tables, ignore_index=True)
    fate = _fate(bios)
    fates = [*SUMMARY_COLUMNS[2:-1], *([UNKNOWN] if unknown == "drop" else []), SUMMARY_COLUMNS[-1]]
    summary = pd.crosstab(bios["file"], fate).reindex(index=list(files), columns=fates)
    summary = summary.fillna(0).astype(int).rename_axis(index="file", columns=None).reset_index()
    summary.insert(1, "read", summary[fates].sum(axis=1))
    summary.attrs["unknown"] = bios.loc[fate == UNKNOWN, "called"].value_counts().to_dict()
    kept = bios.loc[fate == "kept", [*COLUMNS, *{SPLIT} & {*bios}]].reset_index(drop=True)
    if kept.empty:
        raise BiasflowError(f"{', '.join(files)}: no biography of {len(bios)} can be used; check the files.")
    return kept, summary


def left_out(summary: pd.DataFrame) -> str:
    """Say in a sentence which biographies reading left out: the sums over all files of the second table of
    `collect_bios`."""
    read, without, duplicates, conflicting = summary[list(SUMMARY_COLUMNS[1:-1])].sum()
    return (
        f"Of {read} biographies in the files these were left out: {without} without a profession, {duplicates} whose "
        f"text was there before, {conflicting} whose text occurs with two professions or genders."
    )


def name_parts(name: str) -> tuple[str, ...]:
    """The parts of a name that are not empty: split at "|" where it has one (so a part may hold a blank), else at
    blanks."""
    return tuple(
        part.strip() for part in name.split(NAME_SEPARATOR if NAME_SEPARATOR in name else None) if part.strip()
    )


def _fate(bios: pd.DataFrame) -> pd.Series:
    """The fate of each row: a column of SUMMARY_COLUMNS from no_profession on, or UNKNOWN."""
    fate = pd.Series("kept", index=bios.index)
    fate[bios["gender"] == ""] = UNKNOWN
    fate[bios["profession"] == ""] = "no_profession"
    known = bios[fate == "kept"]
    same_text = known.groupby(known["text"].str.strip(), sort=False)
    fate.loc[known.index[same_text.cumcount() > 0]] = "duplicate"
    labels = same_text[["profession", "gender"]].transform("nunique")
    fate.loc[known.index[(labels > 1).any(axis=1)]] = "conflicting"
    return fate


def _checked(
    path: Path,
    raw: pd.DataFrame,
    *,
    professions: Sequence[str] | None,
    groups: Mapping[str, Sequence[object]] | None,
    dropping: bool,
) -> pd.DataFrame:
    """The columns COLUMNS, checked and spelt as ours, and how a gender is `called`; a profession that is not given is
    "", and so is an unknown gender where these are dropped.

    raw: as `read_biographies` gives it. Numbers stand for professions and genders in the hub's files only, or where
    `groups` says what they mean: elsewhere 1 may be a man."""

    def refuse_in(column: str, wrong: pd.Series, why: str) -> None:
        refuse(path, raw[column].rename(raw.attrs["called"][column]), wrong, why)

    for column in raw:  # before anything else: pandas cannot hold half a character
        why = "holds half a character (a lone surrogate); mend the text's encoding"
        refuse_in(column, raw[column].map(_has_half_character), why)
    refuse_in("text", ~raw["text"].map(is_filled), "is no text; fill it in or delete the row")
    if raw.attrs["hub"] and not groups and all(_is_of_numbers(raw[column]) for column in ("profession", "gender")):
        raw = raw.assign(
            profession=_by_number(path, raw["profession"], PROFESSIONS), gender=_by_number(path, raw["gender"], GENDERS)
        )
    known = None if professions is None else {_plain(name): name for name in professions}
    profession = raw["profession"].map(lambda value: _profession(value, known))
    names = "a name" if known is None else f"one of {', '.join(known.values())}"
    why = f"is not {names}; leave it out, or let the run take professions of your own"
    refuse_in("profession", profession.isna(), why)
    gender_of = GENDER_OF if groups is None else by_value(groups)
    called = raw["gender"].map(spelt)
    gender = called.map(gender_of.get)
    if not dropping:
        values = "" if groups is None else f" (none of {', '.join(gender_of)})"
        why = f"is neither F nor M{values}; a text needs one of the two, or a task with `groups` and `unknown: drop`"
        refuse_in("gender", gender.isna(), why)
    name = raw["name"].map(_joined)
    refuse_in("name", name.isna(), "is no name: a text or a list of texts; mend it or leave it empty")
    scrubbed = raw["scrubbed"].map(lambda text: text if is_filled(text) else "")
    if SPLIT in raw:
        parts = raw[SPLIT].map(PARTS)
        refuse_in(SPLIT, parts.isna(), f"is none of {', '.join(PARTS)}")
        raw = raw.assign(split=parts)
    checked = {"profession": profession, "gender": gender.fillna(""), "name": name, "scrubbed": scrubbed}
    return raw.assign(**checked, called=called).astype("str")


def _has_half_character(value: object) -> bool:
    parts = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(part, str) and HALF_CHARACTER.search(part) for part in parts)


def _is_absent(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _is_of_numbers(column: pd.Series) -> bool:
    """Whether the first value that is given, if any is, is a number: then all of them have to be."""
    return all(_number(value) is not None for value in column[~column.map(_is_absent)].head(1))


def _by_number(path: Path, column: pd.Series, names: Sequence[str]) -> pd.Series:
    """The names of the hub's numbers, None for those that are not given; BiasflowError names any other value."""
    present = ~column.map(_is_absent)
    numbers = column.map(_number)
    refuse(
        path, column, present & ~numbers.isin(range(len(names))), f"is none of the hub's numbers, 0 to {len(names) - 1}"
    )
    values = [names[int(number)] if is_present else None for number, is_present in zip(numbers, present, strict=True)]
    return pd.Series(values, index=column.index, name=column.name, dtype=object)


def _number(value: object) -> int | None:
    """The number that is 21, 21.0 (of a column with empty cells) or their text in CSV; None for any other value."""
    if isinstance(value, str):
        return int(float(value)) if WHOLE_NUMBER.fullmatch(value.strip()) else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def by_value(groups: Mapping[str, Sequence[object]]) -> dict[str, str]:
    """Return which gender a value stands for (as `spelt`): {"0": "M", "m": "M", "1": "F"} of {"M": [0, "m"], "F":
    [1]}. BiasflowError for one that stands for both."""
    result: dict[str, str] = {}
    for gender, values in groups.items():
        for value in map(spelt, values):
            if result.setdefault(value, gender) != gender:
                raise BiasflowError(f"the value {value!r} stands for both {result[value]} and {gender}; name it once")
    return result


def spelt(value: object) -> str:
    """Return a value of a cell without what its format decides: 1, 1.0 and "1" are alike, and "F" and "f "; "" where
    there is none."""
    return as_label(value).lower() if value is not None else ""


def as_label(value: object) -> str:
    """Return a label or group as text: 1, 1.0 and "1" are alike."""
    number = _number(value)
    return str(value if number is None else number).strip()


def _profession(value: object, known: Mapping[str, str] | None) -> str | None:
    """The profession that a file calls `value`, "" if it gives none, None if there is no such profession."""
    if _is_absent(value):
        return ""
    if known is None and isinstance(value, int | float):  # a label such as 0, 1.0 or true, of Parquet or JSON
        return as_label(value)
    if not isinstance(value, str):
        return None
    return value.strip() if known is None else known.get(_plain(value))


def _plain(name: str) -> str:
    """A profession with capitals and kinds of blanks taken away."""
    return name.strip().lower().replace(" ", "_")


def _joined(name: object) -> str | None:
    """A name as text: its parts joined, or as it is; "" where there is none, None where it is something else."""
    if isinstance(name, list | tuple) and all(part is None or isinstance(part, str) for part in name):
        return NAME_SEPARATOR.join(part or "" for part in name)
    return "" if name is None else name.strip() if isinstance(name, str) else None


def read_biographies(path: Path, names: Mapping[str, Sequence[str]] = NAMES_OF) -> pd.DataFrame:
    """Return one row per record with the columns COLUMNS and those of `names`, values unchanged (None if missing).

    The index, named line, row or record, is the place in the file, from 1. attrs["hub"]: whether the columns have the
    names of the hub's files; attrs["called"]: the names of the columns in the file. Formats and errors as
    `bios.collect_bios` has them."""
    pickled = first_bytes(path, 1) == b"\x80" or path.suffix in (".pkl", ".pickle")
    wanted = {name for of_column in names.values() for name in of_column} | {"start_pos"}
    records = of_objects(path, _unpickled(path), "record", wanted) if pickled else read_records(path, wanted)
    if not len(records):
        raise BiasflowError(f"{path}: holds no biography; check the file.")
    return _columns(path, records, dict.fromkeys(OPTIONAL, ()) | names)


def _columns(path: Path, table: pd.DataFrame, names: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    columns, called = {}, {}
    for column, known in names.items():
        present = [name for name in known if name in table]
        if not present and column not in OPTIONAL:
            has = ", ".join(one_line(name, 30) for name in table.attrs["columns"])
            raise BiasflowError(f"{path}: has no column {' or '.join(known)}; it has {one_line(has)}. Rename one.")
        values = table[present[0]] if present else pd.Series("", index=table.index)
        if present == ["raw"] and "start_pos" in table:
            values = _after_first_sentence(path, table)
        columns[column] = values.astype(object).where(values.notna(), None).rename(column)
        called[column] = (present or [column])[0]
    raw = pd.DataFrame(columns)
    raw.attrs["called"] = called
    raw.attrs["hub"] = "hard_text" in table.attrs["columns"]
    return raw


def _after_first_sentence(path: Path, table: pd.DataFrame) -> pd.Series:
    """raw[start_pos:], since the first sentence names the profession."""
    valid = table["start_pos"].map(lambda start: type(start) is int and start >= 0)
    refuse(path, table["start_pos"], ~valid, "is no position in the text")
    rows = table[["raw", "start_pos"]].to_numpy()
    texts = [text[start:] if isinstance(text, str) else None for text, start in rows]
    return pd.Series(texts, table.index, dtype=object)


class _PlainValues(pickle.Unpickler):
    """Builds numbers, texts, lists, tuples and dicts; a pickle can run code only by way of a global, and none is given.

    Extension codes are refused by the base class or come to `find_class` as well."""

    path: Path

    def find_class(self, module: str, name: str):
        raise self._refused(f"{module}.{name}")

    def persistent_load(self, pid: object):
        raise self._refused("a value outside the file (a persistent id)")

    def _refused(self, name: str) -> BiasflowError:
        return BiasflowError(
            f"{self.path}: the pickle asks for {one_line(name)}; only plain values are read. It is not the original "
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
            raise BiasflowError(f"{path}: cannot be read as a pickle of plain values: {one_line(error)}.") from error
    if not isinstance(records, list):
        raise BiasflowError(f"{path}: holds no list of biographies; BIOS.pkl is a list of dicts.")
    return enumerate(records, start=1)
