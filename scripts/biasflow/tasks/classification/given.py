"""Texts of the user's on which a classifier of the user's decides: as they are, with the words for one gender exchanged
for those of the other, and, as a control, with words exchanged that have nothing to do with gender: as many, if a text
has so many.

Half of the texts are tested, by a hash of the text, so that neither their order nor further rows move any of them. To
the others, and to their copies, erasers are fitted."""

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError, nearest, printable
from biasflow.base.genders import GENDERS, MALE, WOMEN_FIRST
from biasflow.base.left_out import most
from biasflow.base.progress import progress
from biasflow.base.sample import sampled
from biasflow.base.tabular import read_parquet, write_csv, write_parquet
from biasflow.corpora.bios import GENDER_OF, as_label, by_value, spelt
from biasflow.corpora.bios import PARTS as NAMES_OF_PARTS
from biasflow.corpora.records import columns_of, read_records, refuse, without_empty
from biasflow.tasks.classification.labels import dropped, has_enough, keep_labels, of_further
from biasflow.text.gender_swap import gender_of, genders_in, swap_gender
from biasflow.training.examples import Examples

ORIGINAL, SWAPPED, CONTROL = "original", "swapped", "control"  # versions of a text
TESTED = "test"
UNKNOWN = "of an unknown gender"
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# April, May, June and August are first names, too, and march and may are verbs.
MONTHS = ("January", "February", "July", "September", "October", "November", "December")
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
_NEXT = {name: names[(place + 1) % len(names)] for names in (DAYS, MONTHS) for place, name in enumerate(names)}
_NEXT |= dict(zip(NUMBERS, (*NUMBERS[1:], "twelve"), strict=True))
_NEUTRAL = re.compile(rf"\b(?:{'|'.join(_NEXT)})\b|(?<![\w.,:/$-])\d{{1,9}}(?![\w:/-]|[.,]\d)")


def prepare(sources: Mapping[str, Sequence[Path]], outputs: Mapping[str, Path], **options: object) -> dict[str, object]:
    """Write the texts in all versions, those that are tested first, and what was understood of the files, in a
    sentence. options: of `read_texts`."""
    texts, said = read_texts(sources["files"], **options)
    check_gendered(sources["files"][0], texts)
    table = with_copies(texts)
    tested = table[table["tested"]]["version"].value_counts()
    said += f"; of {tested[ORIGINAL]:,} tested texts {tested.get(SWAPPED, 0):,} have a word of gender that is exchanged"
    said += f", and {tested.get(CONTROL, 0):,} of these a weekday, month or number"
    write_parquet(table, outputs["texts"])
    write_csv(pd.DataFrame({"understood": [said]}), outputs["understood"])
    print(f"biasflow: {printable(said)}", file=sys.stderr, flush=True)
    return {"texts": len(texts)}


def read_texts(
    files: Sequence[Path],
    *,
    columns: Mapping[str, str | None],
    groups: Mapping[str, Sequence[object]] | None,
    unknown: str,
    least: int,
    small: str,
    limit: int | None,
    advice: str = "give more texts",
) -> tuple[pd.DataFrame, str]:
    """The texts of a user's files, and a sentence on what was read and left out: the columns text, label and gender
    ("" where the files have none), tested, and compared: whether the label has enough texts of the gender for gaps.

    columns: the names of text, label, group and split, None for what the files lack; a split names the texts that are
    tested (test), in place of the hash. groups, unknown, least, small: as in `collect`. Rows without a text or a label
    are left out, and so are repeated texts, and all copies of one with two labels or genders. BiasflowError names file,
    row and column of a wrong value; texts of one gender alone; labels of which there are too few."""
    called = {columns[key]: key for key in ("text", "label", "group", "split") if columns[key]}
    if twice := next((name for key, name in columns.items() if name and called.get(name, key) != key), None):
        raise BiasflowError(f"column {twice!r} is named for two of text, label, group and split; name one for each")
    tables, counts = zip(*(_read(path, called, groups, unknown) for path in files), strict=True)
    texts, strata = pd.concat(tables, ignore_index=True), [key for key in ("label", "group") if columns[key]]
    unlike = texts[~texts.duplicated(["text", *strata])]
    once = unlike[~unlike.duplicated("text", keep=False)].reset_index(drop=True)
    left_out = Counter(repeated=len(texts) - len(unlike), contradicting=len(unlike) - len(once))
    lost = sum([*counts, left_out], Counter())
    texts = sampled(once, limit, strata=strata).rename(columns={"group": "gender"})
    is_tested = texts["split"] == TESTED if "split" in texts else texts["text"].map(is_of_tested_half)
    texts = texts.assign(tested=is_tested, compared=False).reindex(
        columns=["text", "label", "gender", "tested", "compared"], fill_value=""
    )
    if not texts["tested"].any():
        raise BiasflowError(f"{files[0]}: no text is tested: {advice}, or name them test in the column of the split")
    said = [
        f"{lost.pop('rows'):,} rows",
        ", ".join(f"{n:,} {why}" for why, n in lost.items()) + " left out" * bool(lost),
    ]
    further = [group for group in groups or () if columns["group"] and group not in GENDERS]
    if columns["group"]:
        said.append(_count_genders(texts["gender"], f"{files[0]}: column {columns['group']}", lost[UNKNOWN], further))
    if columns["label"]:
        said.append(f"{texts['label'].nunique()} labels")
    if columns["group"]:
        tested = texts[texts["tested"]]
        said.append(
            _check_labels(files[0], tested, least=least, small=small, advice=advice) if columns["label"] else ""
        )
        said += [of_further(tested, group, least) for group in further]
        # Women and men without a label are compared however few they are.
        texts["compared"] = has_enough(texts, tested, least) | ((texts["label"] == "") & texts["gender"].isin(GENDERS))
    if limit is not None and len(once) > limit:
        said.append(f"a sample of {limit:,} is used")
    return texts, "; ".join(filter(None, said))


def _read(
    path: Path, called: Mapping[str, str], groups: Mapping[str, Sequence[object]] | None, unknown: str
) -> tuple[pd.DataFrame, Counter]:
    """The rows of a file with the columns that are `called` text, label, group and split here; and how many it has, and
    of these are left out, because they lack a text or a label or have another gender."""
    every = read_records(path, [*called])
    table = every[list(columns_of(path, every, [*called]))].map(lambda value: "" if value is None else value)
    columns = {key: name for name, key in called.items()}
    filled = [columns[key] for key in ("text", "label") if key in columns]
    table[filled] = table[filled].map(as_label)
    table = without_empty(path, table, *filled)
    counts = Counter(rows=len(every), empty=len(every) - len(table))
    if group := columns.get("group"):
        genders = table[group].map(spelt).map(by_value(groups) if groups else GENDER_OF)
        counts[UNKNOWN] = int(genders.isna().sum())
        if unknown == "refuse" or most(counts[UNKNOWN], len(table)):
            why = "is neither F nor M; write F and M in this column, or in a configuration (docs/howto/own_data.md)"
            why += " say which values mean them (key groups), or leave such rows out (unknown: drop)"
            refuse(path, table[group], genders.isna(), why)
        table = table.assign(**{group: genders})[genders.notna()]
    if split := columns.get("split"):
        parts = table[split].map(NAMES_OF_PARTS)
        refuse(path, table[split], parts.isna(), f"is none of {', '.join(NAMES_OF_PARTS)}")
        table = table.assign(**{split: parts})
    return table.rename(columns=called), counts


def _count_genders(genders: pd.Series, where: str, unknown: int, further: Sequence[str]) -> str:
    """How many texts are of women, of men, and of each further group; BiasflowError without women or without men."""
    counts = genders.value_counts()
    if not {*WOMEN_FIRST} <= {*counts.index}:
        unread = f" (but {unknown:,}, of another value)" if unknown else ""
        raise BiasflowError(
            f"{where}: all texts are of {' and '.join(counts.index)}{unread}, and gaps need both genders, written F "
            "and M; mend the column, or leave it out"
        )
    return ", ".join(f"{counts.get(gender, 0):,} {gender}" for gender in (*WOMEN_FIRST, *further))


def check_gendered(path: Path, texts: pd.DataFrame) -> None:
    """BiasflowError where no text of those that are tested, or of the others, has a word of gender."""
    for tested, of_half in texts.groupby("tested"):
        if not any(map(genders_in, of_half["text"])):
            which = "is tested" if tested else "is not tested (methods are fitted to these)"
            raise BiasflowError(f"{path}: no text that {which} has a word of gender, such as she; give more texts")


def _check_labels(path: Path, tested: pd.DataFrame, *, least: int, small: str, advice: str) -> str:
    """Return a sentence on the labels with fewer than `least` tested texts of a gender. Where no two labels have so
    many, there are no gaps (small: "drop"), or BiasflowError."""
    try:
        _, labels = keep_labels(tested, least=least, small=small, advice=advice)
    except BiasflowError as error:
        if small == "error":
            raise BiasflowError(f"{path}: {error}") from error
        return f"no gaps, as no two labels have {least} tested texts of each gender"
    return dropped(labels).replace("dropped", "without gaps")


def is_of_tested_half(text: str) -> bool:
    """Whether a text is tested, by its content alone."""
    return hashlib.sha256(text.encode()).digest()[0] % 2 == 0


def with_copies(texts: pd.DataFrame) -> pd.DataFrame:
    """All versions of the texts of `read_texts`: further columns version (ORIGINAL, SWAPPED, CONTROL), of (the number
    of the text), says (F or M: of whom the words of the original speak, "" where none does) and exchanged (how many
    words are).

    Those that are tested come first, the originals before the copies. A text has no swapped copy if the lexicon has
    none of its words, and no control if it has no swapped copy or no word to exchange."""
    originals = texts.sort_values("tested", ascending=False, kind="stable", ignore_index=True)
    rows = []
    for number, text in enumerate(progress(originals["text"], total=len(texts), description="copies of texts")):
        words = len(genders_in(text))
        swapped = swap_gender(text) if words else text
        says = gender_of([text]) if swapped != text else ""
        rows.append((ORIGINAL, number, text, says, 0))
        if says:
            control, neutral = exchanged(text, words)
            rows.append((SWAPPED, number, swapped, says, words))
            rows += [(CONTROL, number, control, says, neutral)] * bool(neutral)
    copies = pd.DataFrame(rows, columns=["version", "of", "text", "says", "exchanged"])
    table = copies.join(originals.drop(columns="text"), on="of")
    order = table["version"].map({ORIGINAL: 0, SWAPPED: 1, CONTROL: 2}) + 3 * ~table["tested"]
    return table.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)


def exchanged(text: str, most: int) -> tuple[str, int]:
    """The text with its first weekdays, months and numbers, at most so many, exchanged for the next ones; and how many
    these are."""

    def following(match: re.Match) -> str:
        return str(int(match[0]) + 1) if match[0].isdigit() else _NEXT[match[0]]

    return _NEUTRAL.subn(following, text, count=most)


def check_labels(path: Path, column: str, name: str, classes: Sequence[str]) -> None:
    """BiasflowError where a label of a file is none of the classes of the model of this name."""
    labels = read_records(path, [column])[column]
    wrong = ~labels.map(as_label).str.lower().isin(["", *_numbers(classes)])
    first = as_label(labels[wrong].iloc[0]) if wrong.any() else ""
    refuse(path, labels, wrong, f"is no label of {name} ({nearest(first, classes)}); mend it, or id2label of the model")


def class_of(classes: Sequence[str]) -> Callable[[str], int]:
    """From a label to the number of the model's class: by its name, the case of letters apart, or by its number where
    no class has a number for a name. BiasflowError for a label that the model does not have, with the nearest name."""
    numbers = _numbers(classes)

    def number_of(label: str) -> int:
        if label.lower() not in numbers:
            raise BiasflowError(f"the model has no label {label!r}; {nearest(label, classes)}")
        return numbers[label.lower()]

    return number_of


def _numbers(classes: Sequence[str]) -> dict[str, int]:
    """From the lower case of a label to the number of the model's class, as `class_of` takes them."""
    numbers = {name.lower(): number for number, name in enumerate(classes)}
    by_number = {} if any(map(str.isdecimal, numbers)) else {str(number): number for number in range(len(classes))}
    return numbers | by_number


def examples(data: Mapping[str, tuple[Path, ...]], *, classes: Sequence[str]) -> Examples:
    """What a classifier decides on: all versions of the tested texts in the file of the role `examples`; gold: of the
    originals, which come first. classes: those of the model."""
    table = read_parquet(data["examples"][0])
    tested = table[table["tested"]]
    texts, originals = tested["text"].tolist(), tested[tested["version"] == ORIGINAL]
    labels = originals["label"]
    gold = tuple(map(class_of(classes), labels)) if (labels != "").all() else None
    made = lambda start, stop: (texts[start:stop],)  # noqa: E731
    return Examples(made, (len(texts),), tuple(classes), gold, tuple(originals["of"].tolist()))


def gendered_vectors(model, tokenizer, data: Mapping[str, Sequence[Path]]):
    """X [n, hidden], z [n] and y [n]: what the last layer of a classifier reads of the texts that are not tested and of
    their swapped copies, 1 where the words of a version speak of a woman, and the number of the text, so that a method
    can be fitted to what differs within each pair."""
    import torch  # what prepares the texts does without

    from biasflow.encoders.edit import watched
    from biasflow.encoders.first_token import text_batches, text_tokens
    from biasflow.encoders.places import POOLED

    table = read_parquet(data["texts"][0])
    pairs = table[~table["tested"] & (table["says"] != "") & (table["version"] != CONTROL)]
    if pairs.empty:
        raise BiasflowError(f"{data['texts'][0]}: no text that is not tested has a word of gender; give more texts")

    def read(batch) -> "torch.Tensor":
        with watched(model, [POOLED]) as seen:
            model(**batch)
        return seen[POOLED].float().cpu()

    tokens = text_tokens(model, tokenizer, pairs["text"].tolist(), max_length=None)
    with torch.inference_mode():
        batches = list(text_batches(read, model, tokenizer, tokens))
    X = torch.empty(len(pairs), batches[0][1].shape[1])
    for rows, vectors in batches:
        X[torch.from_numpy(rows)] = vectors
    is_woman = (pairs["says"] == MALE) == (pairs["version"] == SWAPPED)
    return X, is_woman.to_numpy().astype(int), pairs["of"].to_numpy()
