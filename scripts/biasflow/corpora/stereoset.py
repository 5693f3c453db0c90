"""StereoSet's inter-sentence triples, their gender-swapped version with what its authors changed, and sentences with a
BLANK."""

import logging
import re
from collections.abc import Callable
from difflib import SequenceMatcher
from itertools import chain
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json
from biasflow.base.genders import WOMEN_FIRST
from biasflow.base.left_out import leave_out
from biasflow.corpora.records import columns_of, read_columns, read_records, without, without_empty

log = logging.getLogger(__name__)

LABELS = ("stereotype", "anti-stereotype", "unrelated")
BLANK = "BLANK"
ALL = "all"  # bias types
# The stimuli that are a file of the authors (Dawkins et al. 2024) as it is, and its name in the catalogue.
AUTHORS_STIMULI = {"stereoset-authors": "gender-swapped-dev", "stereoset-authors-test": "gender-swapped-test"}
BLANKS = ["item", "target", "label", "text", "start", "end", "ending"]  # columns of words in the place of the BLANK
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
    context, next_sentence, target. Errors, and items that are left out, as in `_of_items`."""
    seen: set[str] = set()

    def rows(item: dict) -> list[tuple]:
        triple, context, target = (_field(item, name) for name in ("id", "context", "target"))
        sentences = _by_label(item)
        for name, value in (("id", triple), ("context and sentences", "\n".join([context, *sentences.values()]))):
            if value in seen:
                raise BiasflowError(f"field {name}: the same as in an earlier item")
            seen.add(value)
        return [(triple, label, context, sentence, target) for label, sentence in sentences.items()]

    columns = ["triple", "label", "context", "next_sentence", "target"]
    return pd.DataFrame(_of_items(path, "intersentence", bias_type, rows), columns=columns, dtype="str")


def read_blanks(path: str | Path, *, bias_type: str = "gender") -> pd.DataFrame:
    """Read the intra-sentence items of one bias type from StereoSet's dev.json: a context with a BLANK, three words.

    Returns one row per word, three per item (in the order of LABELS): item (StereoSet's id), target, label, text (the
    context with the word in it), start and end (characters of the word), ending (how many of these the context has: of
    "BLANKed" two). The word is what the sentence has in the place of the BLANK, with that ending ("protected");
    sentences and contexts differ in capitals. Errors, and items that are left out, as in `_of_items`."""

    def rows(item: dict) -> list[tuple]:
        before, *rest = _field(item, "context").split(BLANK)
        if len(rest) != 1:
            raise BiasflowError(f"field context: {len(rest)} {BLANK}s, not one")
        words = []
        for label, sentence in _by_label(item).items():
            word = sentence[len(before) : len(sentence) - len(rest[0])]
            if not word.strip() or (before + word + rest[0]).casefold() != sentence.casefold():
                raise BiasflowError("field sentence: one is not the context with a word in its place")
            words.append((item["id"], _field(item, "target"), label, *_filled(before, word, rest[0])))
        return words

    return pd.DataFrame(_of_items(path, "intrasentence", bias_type, rows), columns=BLANKS)


def scored(stereoset: str | Path, *, bias_type: str = "gender", part: str = "intrasentence") -> pd.DataFrame:
    """The sentences that a user's scores are joined to: id (of the sentence), item, target, bias_type, label.

    bias_type: one, or "all"; part: intrasentence, intersentence, or both. Errors, and items that are left out, as in
    `_of_items`; what only a readout of ours needs may be missing."""

    def rows(item: dict) -> list[tuple]:
        about = [_field(item, name) for name in ("id", "target", "bias_type")]
        labelled = [each for each in _field(item, "sentences", list) if _field(each, "gold_label") in LABELS]
        return [(_field(sentence, "id"), *about, sentence["gold_label"]) for sentence in labelled]

    parts = ("intrasentence", "intersentence") if part == "both" else (part,)
    found = [row for name in parts for row in _of_items(stereoset, name, bias_type, rows)]
    return pd.DataFrame(found, columns=["id", "item", "target", "bias_type", "label"])


def read_own(path: str | Path) -> pd.DataFrame:
    """Read a user's table with a context a row, and what stands in its BLANK or follows it: the columns context, those
    of LABELS and, if it has one, target (by default each row has its own).

    Returns item (the row's place in the file), target, context and LABELS. A row with an empty cell, or that is there
    already, is left out (base.left_out). BiasflowError: a column that is missing, or most rows are such."""
    needed = ["context", *LABELS]
    table = without_empty(path, read_columns(path, needed, ["target"]), *needed)
    table = without(path, table, "context", table.duplicated(needed), "is there with the same texts already")
    items = table.index.astype(str)
    return table.assign(item=items, target=table.get("target", items))[["item", "target", *needed]]


def own_triples(path: str | Path) -> pd.DataFrame:
    """Return the rows of `read_own` as sentences that may follow a context: a row a sentence, as `read_stereoset`."""
    wide = read_own(path).rename(columns={"item": "triple"})
    long = wide.melt(["triple", "target", "context"], [*LABELS], var_name="label", value_name="next_sentence")
    long = long.sort_values("triple", key=lambda triple: triple.astype(int), kind="stable")
    return long[["triple", "label", "context", "next_sentence", "target"]].astype("str").reset_index(drop=True)


def _own_blanks(path: str | Path) -> pd.DataFrame:
    """Return the rows of `read_own` as words in the place of a BLANK: a row a word, as `read_blanks`. A context without
    exactly one BLANK is left out."""
    wide = read_own(path)
    blanks = wide["context"].str.count(BLANK)
    rows = []
    for item in without(path, wide, "context", blanks != 1, f"has not exactly one {BLANK}").to_dict("records"):
        before, after = item["context"].split(BLANK)
        for label in LABELS:
            rows.append((item["item"], item["target"], label, *_filled(before, item[label].strip(), after)))
    return pd.DataFrame(rows, columns=BLANKS)


def filling_words(path: str | Path) -> list[str]:
    """Return the words of a user's table (`read_own`) that fill its blanks, each once."""
    return list(dict.fromkeys(read_own(path)[[*LABELS]].to_numpy().ravel()))


def _filled(before: str, word: str, after: str) -> tuple[str, int, int, int]:
    """The text with a word in the place of the BLANK, where the word with its ending begins and ends, and how many
    letters of that ending the context has."""
    ending = len(ENDING.match(after).group())
    return before + word + after, len(before), len(before) + len(word) + ending, ending


def _of_items(path: str | Path, part: str, bias_type: str, rows: Callable[[dict], list[tuple]]) -> list[tuple]:
    """The `rows` of the items of a part that are of one bias type, or of any ("all"). An item of which they cannot be
    made (BiasflowError: why) is left out, named by its position, from 1, and its id (base.left_out).

    BiasflowError names the file: it has no such part or no item of the type, or most of these are such."""
    found: dict[str, list[tuple]] = {}
    wrong: dict[str, str] = {}
    for position, item in enumerate(_json_items(Path(path), part), start=1):
        name = f"{part} item {position}"
        try:
            if bias_type not in (_field(item, "bias_type"), ALL):
                continue
            name += f" (id {_field(item, 'id')})"
            found[name] = rows(item)
        except BiasflowError as error:
            wrong[name] = str(error)
    leave_out(path, wrong, len(found) + len(wrong))
    if not found:
        raise BiasflowError(f"{path}: field bias_type: no {part} item of type {bias_type!r}; check the file.")
    return list(chain.from_iterable(found.values()))


def items(
    stereoset: str | Path, *, bias_type: str = "gender", part: str = "intrasentence", own: bool = False
) -> pd.DataFrame:
    """Return the blanks of one bias type, or of "all" (`read_blanks`), every word once for each way in which
    `masked_words.piece_log_probabilities` fills it; with the part "intersentence" `read_stereoset`, whose triples are
    called items. own: those of a user's table (`read_own`).

    "one-mask" is the authors' reading, whose code puts the whole word before what the context has of it: of "BLANKed"
    the text is "protected ed"."""
    if part == "intersentence":
        triples = own_triples(stereoset) if own else read_stereoset(stereoset, bias_type=bias_type)
        return triples.rename(columns={"triple": "item"})
    return in_every_way(_own_blanks(stereoset) if own else read_blanks(stereoset, bias_type=bias_type))


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
    gender (F or M, of the original), context, next_sentence, swapped_context, swapped_next_sentence. A triple with an
    empty cell, or without exactly its three sentences, is left out, named by the line of what is wrong
    (base.left_out). BiasflowError: no such file, or most of its triples are such."""
    table = read_records(path, [*COLUMNS, *MISSPELT]).rename(columns=MISSPELT)
    triples = table[list(columns_of(path, table, list(COLUMNS)))].fillna("").groupby("context_id", sort=False)
    kept, wrong = [], {}
    for _, rows in triples:
        line, why = _wrong_in(rows)
        if why:
            wrong[f"line {line}"] = why
            continue
        kept.append(rows.set_index("label").loc[[*LABELS]].reset_index())
        for line in rows.index[rows["gender_swapped_context"] != rows["gender_swapped_context"].iloc[0]]:
            # A slip of the swap, which the authors' own files have.
            where = f"{path}: line {line}: column gender_swapped_context"
            log.warning("%s: differs from line %d of the same triple; kept as it is.", where, rows.index[0])
    leave_out(path, wrong, len(triples))
    return pd.concat(kept, ignore_index=True).astype("str").rename(columns=COLUMNS)[list(COLUMNS.values())]


def _wrong_in(rows: pd.DataFrame) -> tuple[int, str]:
    """The line of what is wrong with the rows of a triple, and what it is; "" where nothing is."""
    label, first = rows["label"], rows.iloc[0]
    faults = {f"column {name}: is empty": rows[name].str.strip() == "" for name in COLUMNS}
    faults[f"column label: is none of {', '.join(LABELS)}"] = ~label.isin(LABELS)
    faults[f"column gender: is none of {', '.join(WOMEN_FIRST)}"] = ~rows["gender"].isin(WOMEN_FIRST)
    faults |= {f"column {name}: differs within its triple": rows[name] != first[name] for name in ("context", "gender")}
    faults["column label: is there a second time in its triple"] = label.duplicated()
    faults["column label: is the last of a triple that lacks another"] = pd.Series(
        (len(rows) < len(LABELS)) & (rows.index == rows.index[-1]), rows.index
    )
    return next(((wrong.idxmax(), why) for why, wrong in faults.items() if wrong.any()), (0, ""))


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
    rows = [(links[triple][0], triple, links[triple][1]) for triple in theirs]
    return pd.DataFrame(rows, columns=["triple", "authors_triple", "similarity"])


def changes(original: pd.DataFrame, authors: pd.DataFrame) -> pd.DataFrame:
    """The sentence pairs of StereoSet that the authors dropped or mended (the paper's table 2), in StereoSet's order.

    One row per changed pair: triple, authors_triple ("" if dropped), change (dropped | mended), label,
    original_context, original_next_sentence, authors_context, authors_next_sentence (both "" if dropped)."""
    links, keys = align(original, authors)[["triple", "authors_triple"]], ["triple", "label"]
    texts = {
        side: {text: f"{side}_{text}" for text in ("context", "next_sentence")} for side in ("original", "authors")
    }
    theirs = authors.rename(columns={"triple": "authors_triple", **texts["authors"]}).merge(links, on="authors_triple")
    both = original.rename(columns=texts["original"]).merge(
        theirs[[*keys, "authors_triple", *texts["authors"].values()]], on=keys, how="left", validate="one_to_one"
    )
    both["change"] = both["authors_triple"].isna().map({True: "dropped", False: "mended"})
    ours, new = (both[[*names.values()]] for names in texts.values())
    differs = (ours.to_numpy() != new.to_numpy()).any(axis=1)
    return (
        both.loc[differs, ["triple", "authors_triple", "change", "label", *ours, *new]]
        .fillna("")
        .reset_index(drop=True)
    )


def _texts(table: pd.DataFrame) -> dict[str, str]:
    """Each triple's context and sentences (in the order of LABELS, as the readers give them) as one text."""
    return {
        triple: "\n".join([rows["context"].iloc[0], *rows["next_sentence"]])
        for triple, rows in table.groupby("triple", sort=False)
    }


def _field(item: object, name: str, kind: type = str):
    """A field of a JSON object: there, of the right kind and not empty."""
    if not isinstance(item, dict) or name not in item:
        raise BiasflowError(f"field {name}: missing")
    value = item[name]
    if not isinstance(value, kind):
        raise BiasflowError(f"field {name}: a {kind.__name__} is expected, not {type(value).__name__}")
    if not (value.strip() if isinstance(value, str) else value):
        raise BiasflowError(f"field {name}: empty")
    return value


def _json_items(path: Path, part: str) -> list:
    content = read_json(path)
    try:
        return _field(_field(content, "data", dict), part, list)
    except BiasflowError as error:
        raise BiasflowError(f"{path}: {error}; check the file.") from error


def _by_label(item: dict) -> dict[str, str]:
    """The sentences of one item, in the order of LABELS."""
    sentences: dict[str, str] = {}
    for sentence in _field(item, "sentences", list):
        label = _field(sentence, "gold_label")
        if label not in LABELS:
            raise BiasflowError(f"field gold_label: none of {', '.join(LABELS)}")
        if label in sentences:
            raise BiasflowError(f"field gold_label: a second {label} sentence")
        sentences[label] = _field(sentence, "sentence")
    if lacking := [label for label in LABELS if label not in sentences]:
        raise BiasflowError(f"field sentences: no {', '.join(lacking)} sentence")
    return {label: sentences[label] for label in LABELS}
