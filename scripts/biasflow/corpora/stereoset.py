"""StereoSet's inter-sentence triples, their gender-swapped version with what its authors changed, and sentences with a
BLANK."""

import logging
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json
from biasflow.base.genders import WOMEN_FIRST
from biasflow.corpora.records import columns_of, read_records, refuse, refuse_unknown

log = logging.getLogger(__name__)

LABELS = ("stereotype", "anti-stereotype", "unrelated")
BLANK = "BLANK"
BIAS_TYPES = ("gender", "profession", "race", "religion")
ALL = "all"  # bias types
# The stimuli that are a file of the authors (Dawkins et al. 2024) as it is, and its name in the catalogue.
AUTHORS_STIMULI = {"stereoset-authors": "gender-swapped-dev", "stereoset-authors-test": "gender-swapped-test"}
ENDING = re.compile(r"\w*")  # of a word whose beginning is the BLANK
# The CSV's columns and ours. Upstream's test.csv spells one of them `gender_swapped_conext`.
COLUMNS = {
    "context_id": "triple",
    "label": "label",
    "gender": "gender",
    "context": "context",
    "next_sentence": "next_sentence",
    "gender_swapped_context": "swapped_context",
    "gender_swapped_next_sentence": "swapped_next_sentence",
}
MISSPELT = {"gender_swapped_conext": "gender_swapped_context"}


def read_stereoset(path: str | Path, *, bias_type: str = "gender") -> pd.DataFrame:
    """Read the inter-sentence triples of one bias type from StereoSet's dev.json (Nadeem et al. 2021).

    Returns one row per sentence, three per triple (in the order of LABELS): triple (StereoSet's context id), label,
    context, next_sentence, target. BiasflowError names the file, the item (its position in data.intersentence, from 1,
    and its id) and the field."""
    items = _json_items(Path(path))
    rows: list[dict] = []
    seen: dict[str, str] = {}
    for position, item in enumerate(items, start=1):
        where = f"{path}: inter-sentence item {position}"
        if bias_type not in (_field(where, item, "bias_type"), ALL):
            continue
        triple = _field(where, item, "id")
        where += f" (id {triple})"
        triple_rows = _triple_rows(where, item)
        text = "\n".join([triple_rows[0]["context"], *(row["next_sentence"] for row in triple_rows)])
        for name, value in (("id", triple), ("context and sentences", text)):
            if value in seen:
                raise BiasflowError(f"{where}: field {name}: the same as in {seen[value]}; remove one of the two.")
            seen[value] = f"item {position}"
        target = _field(where, item, "target")
        rows += [{"triple": triple, **row, "target": target} for row in triple_rows]
    if not rows:
        raise BiasflowError(f"{path}: field bias_type: no inter-sentence item of type {bias_type!r}; check the file.")
    return pd.DataFrame(rows, dtype="str")


def read_blanks(path: str | Path, *, bias_type: str = "gender") -> pd.DataFrame:
    """Read the intra-sentence items of one bias type from StereoSet's dev.json: a context with a BLANK, three words.

    Returns one row per word, three per item (in the order of LABELS): item (StereoSet's id), target, label, text (the
    context with the word in it), start and end (characters of the word), ending (how many of these the context has: of
    "BLANKed" two). The word is what the sentence has in the place of the BLANK, with that ending ("protected");
    sentences and contexts differ in capitals. BiasflowError names the file, the item (its position in
    data.intrasentence, from 1, and its id) and the field."""
    rows: list[tuple] = []
    for position, item in enumerate(_json_items(Path(path), "intrasentence"), start=1):
        where = f"{path}: intra-sentence item {position}"
        if bias_type not in (_field(where, item, "bias_type"), ALL):
            continue
        number = _field(where, item, "id")
        where += f" (id {number})"
        before, *rest = _field(where, item, "context").split(BLANK)
        if len(rest) != 1:
            raise BiasflowError(f"{where}: field context: one {BLANK} is expected, not {len(rest)}.")
        for label, sentence in _by_label(where, item).items():
            word = sentence[len(before) : len(sentence) - len(rest[0])]
            if not word.strip() or (before + word + rest[0]).casefold() != sentence.casefold():
                raise BiasflowError(
                    f"{where}: field sentence: {sentence!r} is not the context with a word in its place."
                )
            ending = len(ENDING.match(rest[0]).group())
            span = len(before), len(before) + len(word) + ending
            rows.append((number, _field(where, item, "target"), label, before + word + rest[0], *span, ending))
    if not rows:
        raise BiasflowError(f"{path}: field bias_type: no intra-sentence item of type {bias_type!r}; check the file.")
    return pd.DataFrame(rows, columns=["item", "target", "label", "text", "start", "end", "ending"])


def scored(stereoset: str | Path, *, bias_type: str = "gender", part: str = "intrasentence") -> pd.DataFrame:
    """The sentences that a user's scores are joined to: id (of the sentence), item, target, bias_type, label.

    bias_type: one, or "all"; part: intrasentence, intersentence, or both. BiasflowError as `read_blanks`."""
    rows = [
        (_field(where, sentence, "id"), item["id"], item["target"], item["bias_type"], sentence["gold_label"])
        for name in (("intrasentence", "intersentence") if part == "both" else (part,))
        for position, item in enumerate(_json_items(Path(stereoset), name), start=1)
        if _field(where := f"{stereoset}: {name} item {position}", item, "bias_type") == bias_type or bias_type == ALL
        for sentence in _field(where, item, "sentences", list)
        if _field(where, sentence, "gold_label") in LABELS
    ]
    if not rows:
        raise BiasflowError(f"{stereoset}: field bias_type: no {part} item of type {bias_type!r}; check the file.")
    return pd.DataFrame(rows, columns=["id", "item", "target", "bias_type", "label"])


def items(stereoset: str | Path, *, bias_type: str = "gender", part: str = "intrasentence") -> pd.DataFrame:
    """Return the blanks of one bias type, or of "all" (`read_blanks`), every word once for each way in which
    `masked_words.piece_log_probabilities` fills it; with the part "intersentence" `read_stereoset`, whose triples are
    called items.

    "one-mask" is the authors' reading, whose code puts the whole word before what the context has of it: of "BLANKed"
    the text is "protected ed"."""
    if part == "intersentence":
        return read_stereoset(stereoset, bias_type=bias_type).rename(columns={"triple": "item"})
    return in_every_way(read_blanks(stereoset, bias_type=bias_type))


def in_every_way(blanks: pd.DataFrame) -> pd.DataFrame:
    """Return the words of a table as of `read_blanks` once for each way in which they are filled, as `items` says."""
    table = blanks.assign(also_start=-1, also_end=-1)
    released = [
        f"{text[:end]} {text[end - ending :]}" if ending else text
        for text, end, ending in zip(table["text"], table["end"], table["ending"], strict=True)
    ]
    tables = [table.assign(filling=filling) for filling in ("left-to-right", "together")]
    tables.append(table.assign(filling="one-mask", text=released))
    return pd.concat(tables, ignore_index=True).drop(columns="ending")


def read_gender_swapped(path: str | Path) -> pd.DataFrame:
    """Read the authors' gender-swapped triples (Dawkins et al. 2024, dev.csv or test.csv) as a stimuli table.

    Returns one row per sentence, three per triple (in the order of LABELS): triple, label (in the original triple),
    gender (F or M, of the original), context, next_sentence, swapped_context, swapped_next_sentence.
    BiasflowError names the file, the line (from 1, the header's) and the column."""
    triples: dict[str, dict[str, tuple[int, dict]]] = {}
    for line, row in _csv_rows(Path(path)):
        where = f"{path}: line {line}"
        rows = triples.setdefault(row["context_id"], {})
        if rows:
            _check_same_triple(where, row, *next(iter(rows.values())))
        if row["label"] in rows:
            raise BiasflowError(
                f"{where}: column label: a second {row['label']} of triple {row['context_id']} "
                f"(first on line {rows[row['label']][0]})."
            )
        rows[row["label"]] = (line, row)
    for triple, rows in triples.items():
        lacking = [label for label in LABELS if label not in rows]
        if lacking:
            last = max(line for line, _ in rows.values())
            raise BiasflowError(f"{path}: line {last}: column label: triple {triple} has no {', '.join(lacking)}.")
    table = pd.DataFrame([rows[label][1] for rows in triples.values() for label in LABELS], dtype="str")
    return table.rename(columns=COLUMNS)[list(COLUMNS.values())]


def align(original: pd.DataFrame, authors: pd.DataFrame, *, least: float = 0.8) -> pd.DataFrame:
    """Link the authors' triples to StereoSet's by their text (context and three sentences).

    original: read_stereoset; authors: read_gender_swapped. Equal texts are linked first, the others to the most similar
    text that is left (difflib's ratio, at least `least`). Returns one row per authors' triple, in their order: triple
    (StereoSet's id), authors_triple, similarity in [least, 1]. BiasflowError names a triple that has no counterpart."""
    ours, theirs = _texts(original), _texts(authors)
    by_text = {text: triple for triple, text in ours.items()}
    links = {authors_triple: (by_text[text], 1.0) for authors_triple, text in theirs.items() if text in by_text}
    free = [triple for triple in ours if triple not in {triple for triple, _ in links.values()}]
    matcher = SequenceMatcher(autojunk=False)
    candidates = []
    for authors_triple in theirs:
        if authors_triple in links:
            continue
        matcher.set_seq2(theirs[authors_triple])
        for triple in free:
            matcher.set_seq1(ours[triple])
            candidates.append((-matcher.ratio(), authors_triple, triple))
    for ratio, authors_triple, triple in sorted(candidates):
        if -ratio >= least and authors_triple not in links and triple in free:
            links[authors_triple] = (triple, -ratio)
            free.remove(triple)
    lost = [authors_triple for authors_triple in theirs if authors_triple not in links]
    if lost:
        raise BiasflowError(
            f"Gender-swapped triple {lost[0]} has no counterpart in StereoSet ({len(lost)} such "
            "triples); name files of one release."
        )
    return pd.DataFrame(
        [(links[authors_triple][0], authors_triple, links[authors_triple][1]) for authors_triple in theirs],
        columns=["triple", "authors_triple", "similarity"],
    )


def changes(original: pd.DataFrame, authors: pd.DataFrame) -> pd.DataFrame:
    """The sentence pairs of StereoSet that the authors dropped or mended (the paper's table 2), in StereoSet's order.

    One row per changed pair: triple, authors_triple ("" if dropped), change (dropped | mended), label,
    original_context, original_next_sentence, authors_context, authors_next_sentence (both "" if dropped)."""
    links = align(original, authors)[["triple", "authors_triple"]]
    texts = ["context", "next_sentence"]
    theirs = authors.rename(columns={"triple": "authors_triple"}).merge(links, on="authors_triple")
    both = original[["triple", "label", *texts]].rename(columns={text: f"original_{text}" for text in texts})
    both = both.merge(
        theirs[["triple", "authors_triple", "label", *texts]].rename(
            columns={text: f"authors_{text}" for text in texts}
        ),
        on=["triple", "label"],
        how="left",
        validate="one_to_one",
    )
    dropped = both["authors_triple"].isna()
    differs = pd.concat([both[f"original_{text}"] != both[f"authors_{text}"] for text in texts], axis=1).any(axis=1)
    both.insert(2, "change", dropped.map({True: "dropped", False: "mended"}))
    order = [
        "triple",
        "authors_triple",
        "change",
        "label",
        *(f"{source}_{text}" for source in ("original", "authors") for text in texts),
    ]
    return both.loc[differs, order].fillna("").reset_index(drop=True)


def _texts(table: pd.DataFrame) -> dict[str, str]:
    """Each triple's context and sentences (in the order of LABELS, as the readers give them) as one text."""
    return {
        triple: "\n".join([rows["context"].iloc[0], *rows["next_sentence"]])
        for triple, rows in table.groupby("triple", sort=False)
    }


def _field(where: str, item: object, name: str, kind: type = str):
    """A field of a JSON object: there, of the right kind and not empty."""
    if not isinstance(item, dict) or name not in item:
        raise BiasflowError(f"{where}: field {name}: missing; add it.")
    value = item[name]
    if not isinstance(value, kind):
        raise BiasflowError(f"{where}: field {name}: a {kind.__name__} is expected, not {type(value).__name__}.")
    if not (value.strip() if isinstance(value, str) else value):
        raise BiasflowError(f"{where}: field {name}: empty; fill it.")
    return value


def _json_items(path: Path, part: str = "intersentence") -> list:
    return _field(f"{path}: data", _field(f"{path}", read_json(path), "data", dict), part, list)


def _triple_rows(where: str, item: dict) -> list[dict]:
    """The three rows (label, context, next_sentence) of one item, in the order of LABELS."""
    context = _field(where, item, "context")
    sentences = _by_label(where, item)
    return [{"label": label, "context": context, "next_sentence": sentences[label]} for label in LABELS]


def _by_label(where: str, item: dict) -> dict[str, str]:
    """The sentences of one item, in the order of LABELS."""
    sentences: dict[str, str] = {}
    for number, sentence in enumerate(_field(where, item, "sentences", list), start=1):
        place = f"{where}: sentence {number}"
        label = _field(place, sentence, "gold_label")
        if label not in LABELS:
            raise BiasflowError(f"{place}: field gold_label: {label!r} is none of {', '.join(LABELS)}.")
        if label in sentences:
            raise BiasflowError(f"{place}: field gold_label: a second {label} sentence in this item.")
        sentences[label] = _field(place, sentence, "sentence")
    lacking = [label for label in LABELS if label not in sentences]
    if lacking:
        raise BiasflowError(f"{where}: field sentences: no {', '.join(lacking)} sentence.")
    return {label: sentences[label] for label in LABELS}


def _csv_rows(path: Path) -> Iterator[tuple[int, dict]]:
    """Each record with the line that it starts on (a quoted field may hold line breaks); blank lines are skipped."""
    table = read_records(path, [*COLUMNS, *MISSPELT]).rename(columns=MISSPELT)
    table = table[list(columns_of(path, table, list(COLUMNS)))]
    for _, column in table.items():
        refuse(path, column, column.str.strip() == "", "is empty; fill it in")
    refuse_unknown(path, table["label"], LABELS)
    refuse_unknown(path, table["gender"], WOMEN_FIRST)
    return zip(table.index, table.to_dict("records"), strict=True)


def _check_same_triple(where: str, row: dict, first_line: int, first: dict) -> None:
    for column in ("context", "gender"):
        if row[column] != first[column]:
            raise BiasflowError(
                f"{where}: column {column}: differs from line {first_line} of the same triple; mend one."
            )
    column = "gender_swapped_context"  # a slip of the swap, which the authors' own files have
    if row[column] != first[column]:
        log.warning("%s: column %s: differs from line %d of the same triple; kept as it is.", where, column, first_line)
