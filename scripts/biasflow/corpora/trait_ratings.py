"""Sentences that say a trait of somebody ("she is a kind person."), for trait ratings (Shrestha et al. 2025): every
template with every trait and every word for a person, masculine, feminine or a neopronoun.

Lists are the authors' text files, a line each, or tables of the user's own."""

import re
from pathlib import Path

import pandas as pd

from biasflow.base.errors import AbsentError
from biasflow.base.files import filled_lines
from biasflow.base.genders import FEMININE, MASCULINE
from biasflow.base.sample import names_of
from biasflow.corpora.records import columns_of, read_columns, read_records, without, without_empty, without_unknown

NEO = "neo"
GROUPS = (MASCULINE, FEMININE, NEO)
STRATA = ("group",)  # whose shares a limited sample keeps
SHOWN, HIDDEN, WHOLE = "shown", "hidden", "whole"  # the trait beside a masked word; a sentence of which nothing is
FORMS = ("object", "genitive", "possessive")  # "people admire him", "his (the man's) kind personality", "his work"
POSSESSIVES = {MASCULINE: "his", FEMININE: "her", NEO: ""}
PRONOUNS = {
    "he": ("him", "his", "his"),
    "she": ("her", "her", "her"),
    "ey": ("em", "ey's", "eir"),
    "ze": ("zir", "ze's", "zir"),
    "xe": ("xem", "xe's", "xyr"),
    "vi": ("vir", "vi's", "vis"),
    "ae": ("aer", "ae's", "aer"),
}
OF_AUTHORS = {  # places in templates, in the authors' way of writing and in ours; the longer ones come first
    "[DETERMINER]": "",
    "admire [AAA]": "admire {object}",
    "[AAA]'s": "{genitive}",
    "[AAA]": "{word}",
    "[PRONOUN]": "{possessive}",
    "[ARTICLE]": "{article}",
    "[TTT]": "{trait}",
}
PLACE = re.compile(r"\{(\w+)\}")
PERSON, PLACES = {"word", "object", "genitive"}, {"word", *FORMS, "article", "trait"}
VOWEL = re.compile(r"(?!uni(?![mn])|us[eu]|eu|one\b)[aeiou]|hono|hones|heir|hour", re.IGNORECASE)  # as it sounds


def read_words(path: str | Path) -> pd.DataFrame:
    """The words for persons in a table of the user's: columns group (masculine, feminine, neo), word and FORMS.

    The last word of a text such as "my father" is the one that is asked for. FORMS may be absent or empty: then the
    word, the word with 's, and "his" or "her"."""
    table = read_columns(path, ["group", "word"], FORMS)
    table = without_unknown(path, without_empty(path, table, "group", "word"), {"group": GROUPS})
    table = _with_forms(table.reindex(columns=["group", "word", *FORMS]).fillna(""))
    return without(path, table, "possessive", table["possessive"] == "", "is empty, and neopronouns have no usual one")


def words_of_authors(**files: str | Path) -> pd.DataFrame:
    """The same from the authors' lists, by group, each word once. Nouns have the article "the"."""
    rows = [
        (group, word, *PRONOUNS[word]) if word in PRONOUNS else (group, f"the {word}", "", "", "")
        for group in GROUPS
        for word in dict.fromkeys(filled_lines(files[group]).values())
    ]
    return _with_forms(pd.DataFrame(rows, columns=["group", "word", *FORMS]))


def _with_forms(words: pd.DataFrame) -> pd.DataFrame:
    usual = dict(zip(FORMS, (words["word"], words["word"] + "'s", words["group"].map(POSSESSIVES)), strict=True))
    return words.assign(**{form: words[form].where(words[form] != "", texts) for form, texts in usual.items()})


def read_templates(path: str | Path, *, is_list: bool = False) -> list[str]:
    """The templates of a table with the column template, or (`is_list`) of the authors' file, one a line.

    A template has the place {trait} once and one of {word}, {object} ("admire him") and {genitive} ("his", "the
    man's"); it may have {article} (a, an) and {possessive}. Others are left out."""
    table = _listed(path, "template", is_list=is_list)
    for place, ours in OF_AUTHORS.items() if is_list else ():
        table["template"] = table["template"].str.replace(place, ours, regex=False)
    places = table["template"].map(PLACE.findall)
    wrong = ~places.map(lambda names: len({*names}) == len(names) and {"trait"} <= {*names} <= PLACES)
    wrong |= places.map(lambda names: len(PERSON.intersection(names)) != 1)
    why = "needs {trait} and one of {word}, {object}, {genitive}, no place twice, and no other"
    return list(without(path, table, "template", wrong, why)["template"])


def read_traits(path: str | Path, *, is_list: bool = False) -> pd.DataFrame:
    """Columns trait and article, from a table with the column trait (article may be absent or empty: "a" or "an" by the
    sound of the trait), or (`is_list`) from a file of the authors, a trait a line."""
    table = _listed(path, "trait", "article", is_list=is_list)
    by_sound = table["trait"].map(lambda trait: "an" if VOWEL.match(trait) else "a")
    return table.assign(article=table["article"].where(table["article"] != "", by_sound))


def _listed(path: str | Path, name: str, *others: str, is_list: bool) -> pd.DataFrame:
    """The texts of a table's column, each once, with `others`, or (`is_list`) the lines of a text."""
    if is_list:
        lines = filled_lines(path)
        table = pd.DataFrame({name: list(lines.values())}, index=pd.Index(lines, name="line"))
    else:
        table = read_records(path, [name, *others])
    columns_of(path, table, [name])
    table = without_empty(path, table, name).reindex(columns=[name, *others]).fillna("")
    return table.drop_duplicates(name)


def items(templates: str | Path, words: str | Path | None = None, **lists: str | Path) -> pd.DataFrame:
    """The sentences, with what `masked_words.piece_log_probabilities` needs: three rows for each, by the column masked.

    shown: the word for the person is masked, the trait is not; hidden: both are; in either the possessive is masked,
    too, as it tells the group; whole: every token is masked by itself, for the perplexity of the sentence. Columns:
    item, template, trait, group, word, text. lists: files of traits, and unless `words` is a table of the user's, the
    authors' lists of words by group.

    AbsentError: no masculine word, with which the other groups are compared."""
    of_authors = {group: lists.pop(group) for group in GROUPS if group in lists}
    people = read_words(words) if words else words_of_authors(**of_authors)
    if MASCULINE not in set(people["group"]):
        raise AbsentError("no masculine word, with which the other groups are compared")
    traits = pd.concat([read_traits(path, is_list=not words) for path in lists.values()]).drop_duplicates("trait")
    rows = [
        {"template": template, "trait": trait["trait"], "group": person["group"], "word": person["word"]}
        | _sentence(template, trait | person)
        for template in read_templates(templates, is_list=not words)
        for trait in traits.to_dict("records")
        for person in people.drop_duplicates(["group", "word"]).to_dict("records")
    ]
    table = pd.DataFrame(rows)
    table.insert(0, "item", names_of(table, ["template", "trait", "group", "word"]))
    nothing = dict.fromkeys(("also_start", "also_end", "further_start", "further_end"), -1)
    trait = {"also_start": table.pop("trait_start"), "also_end": table.pop("trait_end")}
    whole = {"start": 0, "end": table["text"].str.len(), "filling": "one-by-one", **nothing}
    shown = table.assign(masked=SHOWN, filling="crossed", also_start=-1, also_end=-1)
    return pd.concat(
        [shown, shown.assign(masked=HIDDEN, **trait), shown.assign(masked=WHOLE, **whole)], ignore_index=True
    )


def _sentence(template: str, texts: dict[str, str]) -> dict[str, object]:
    """The text of a template with these texts in its places, and the characters of the word that is asked for (start,
    end), of the trait, and of the possessive (further; -1: it has none)."""
    text, spans = "", {}
    for number, part in enumerate(PLACE.split(template)):
        filled = texts[part] if number % 2 else part
        if number % 2:
            spans[part] = len(text), len(text) + len(filled)
        text += filled
    (person,) = PERSON.intersection(spans)
    end = spans[person][1] - 2 * texts[person].endswith("'s")
    start = max(text.rfind(" ", 0, end) + 1, spans[person][0])
    named = {"": (start, end), "trait_": spans["trait"], "further_": spans.get("possessive", (-1, -1))}
    return {"text": text} | {
        f"{name}{side}": at for name, span in named.items() for side, at in zip(("start", "end"), span, strict=True)
    }
