"""GEST (Pikuliak et al. 2024): sentences in the first person, each of one of 16 stereotypes, said by him or by her."""

from pathlib import Path

import pandas as pd

from biasflow.corpora.records import read_columns, without_empty, without_unknown

STRATA = ("stereotype",)  # that a limited sample has all of
STEREOTYPES = range(1, 17)  # 1 to 7 are about women, 8 to 16 about men
# As released for masked language models; {s} is the sentence, {who} who says it.
TEMPLATES = {
    "he-said": ('{who} said: "{s}"', "He", "She"),
    "man-said": ('{who} said: "{s}"', "The man", "The woman"),
    "said-he": ('"{s}", {who} said.', "he", "she"),
    "said-man": ('"{s}", {who} said.', "the man", "the woman"),
}


def read_gest(path: str | Path) -> pd.DataFrame:
    """The sentences in the order of the file: columns item (number there, from 0), sentence, stereotype (1 to 16).

    One with a stereotype that is not one of the 16 is left out (records.without). BiasflowError: a column that is
    missing, no sentence, or a file most of whose sentences are such."""
    table = read_columns(path, ["sentence", "stereotype"])
    table = table.assign(item=range(len(table)))
    table = without_unknown(path, table, {"stereotype": [str(number) for number in STEREOTYPES]})
    return table[["item", "sentence", "stereotype"]].fillna("").astype({"sentence": "str", "stereotype": int})


def items(sentences: str | Path) -> pd.DataFrame:
    """The pairs of every sentence and template: item (number of the sentence in the file, from 0), stereotype,
    template, first (a man says it), second (a woman does). An empty sentence is left out, too."""
    return _pairs(without_empty(sentences, read_gest(sentences), "sentence"))


def scored(sentences: str | Path) -> pd.DataFrame:
    """The pairs that a user's scores are joined to: those of `items`, and those of empty sentences."""
    return _pairs(read_gest(sentences))


def _pairs(table: pd.DataFrame) -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            {
                "item": table["item"],
                "stereotype": table["stereotype"],
                "template": name,
                "first": [template.format(who=man, s=sentence) for sentence in table["sentence"]],
                "second": [template.format(who=woman, s=sentence) for sentence in table["sentence"]],
            }
        )
        for name, (template, man, woman) in TEMPLATES.items()
    ]
    return pd.concat(parts, ignore_index=True)
