"""GEST (Pikuliak et al. 2024): sentences in the first person, each of one of 16 stereotypes, said by him or by her."""

from pathlib import Path

import pandas as pd

from biasflow.corpora.records import columns_of, read_records, refuse

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
    """The sentences in the order of the file: columns sentence, stereotype (1 to 16).

    BiasflowError names file and line: a column that is missing, no sentence, an empty one, or a stereotype that is not
    one of the 16."""
    table = read_records(path, ["sentence", "stereotype"])
    table = table[columns_of(path, table, ["sentence", "stereotype"])]
    refuse(path, table["sentence"], table["sentence"].str.strip() == "", "is no sentence; remove the row")
    known = [str(number) for number in STEREOTYPES]
    refuse(path, table["stereotype"], ~table["stereotype"].isin(known), "is no stereotype from 1 to 16; mend it")
    return table.astype({"sentence": "str", "stereotype": int}).reset_index(drop=True)


def items(sentences: str | Path) -> pd.DataFrame:
    """The pairs of every sentence and template: item (number of the sentence, from 0), stereotype, template, first (a
    man says it), second (a woman does)."""
    table = read_gest(sentences)
    parts = [
        pd.DataFrame(
            {
                "item": table.index,
                "stereotype": table["stereotype"],
                "template": name,
                "first": [template.format(who=man, s=sentence) for sentence in table["sentence"]],
                "second": [template.format(who=woman, s=sentence) for sentence in table["sentence"]],
            }
        )
        for name, (template, man, woman) in TEMPLATES.items()
    ]
    return pd.concat(parts, ignore_index=True)
