"""Winogender (Rudinger et al. 2018): sentences about an occupation and a participant, with a pronoun of one of them."""

from pathlib import Path

import pandas as pd

from biasflow.base.genders import SPELT_OUT
from biasflow.base.left_out import leave_out
from biasflow.corpora.records import read_columns, refuse, without

STRATA = ("occupation", "refers_to")  # whose shares a limited sample keeps
PARTS = ("occupation", "participant")  # whom the pronoun stands for, by the number in a sentence's name
SHARES = {"bls": "bls_pct_female", "bergsma": "bergsma_pct_female"}  # shares of women, and their columns


def read_shares(path: str | Path) -> pd.DataFrame:
    """The share of women, in [0, 1], by occupation: columns bls (US labour statistics) and bergsma (of mentions in
    text, Bergsma and Lin 2006). BiasflowError names file and line."""
    table = read_columns(path, ["occupation", *SHARES.values()])
    refuse(path, table["occupation"], table["occupation"].duplicated(), "is there a second time; remove one")
    for column in SHARES.values():
        numbers = pd.to_numeric(table[column], errors="coerce")
        refuse(path, table[column], ~numbers.between(0, 100), "is no share from 0 to 100 per cent")
        table[column] = numbers.astype(float) / 100
    return table.set_index("occupation")[list(SHARES.values())].set_axis(list(SHARES), axis=1)


def read_winogender(path: str | Path) -> pd.DataFrame:
    """The sentences with a masculine and a feminine pronoun, in the order of the file: item ("nurse.patient.1"),
    occupation, participant ("someone" for half of them), refers_to (whom the pronoun stands for: occupation or
    participant), gender, text, start and end (characters of the pronoun).

    A name of another form, a sentence without its counterpart, and two that differ in more than the pronoun are left
    out (base.left_out). BiasflowError: a column that is missing, or a file most of whose sentences are such."""
    table = read_columns(path, ["sentid", "sentence"])
    parts = table["sentid"].str.extract(r"^(\w+)\.(\w+)\.([01])\.(male|female|neutral)\.txt$")
    names = ["occupation", "participant", "answer", "gender"]
    table = table.assign(**{name: parts[number] for number, name in enumerate(names)})
    form = "is not of the form occupation.participant.answer.gender.txt"
    table = without(path, table, "sentid", table["gender"].isna(), form)
    groups = table[table["gender"].isin(SPELT_OUT)].groupby(names[:3], sort=False)
    rows, wrong = [], {}
    for (occupation, participant, answer), group in groups:
        item = f"{occupation}.{participant}.{answer}"
        texts = dict(zip(group["gender"], group["sentence"].fillna("").str.split(" "), strict=True))
        if sorted(group["gender"]) != sorted(SPELT_OUT):
            wrong[item] = "needs one sentence of each gender"
            continue
        words = [texts[gender] for gender in SPELT_OUT]
        places = [place for place, pair in enumerate(zip(*words, strict=False)) if len(set(pair)) > 1]
        if len({len(tokens) for tokens in words}) > 1 or len(places) != 1:
            wrong[item] = "its sentences do not differ in one word"
            continue
        start = len(" ".join([*words[0][: places[0]], ""]))
        for gender, tokens in zip(SPELT_OUT, words, strict=True):
            pronoun = tokens[places[0]].rstrip(".,;!?")
            about = (item, occupation, participant, PARTS[int(answer)], gender)
            rows.append((*about, " ".join(tokens), start, start + len(pronoun)))
    leave_out(path, wrong, len(groups))
    columns = ["item", "occupation", "participant", "refers_to", "gender", "text", "start", "end"]
    return pd.DataFrame(rows, columns=columns)


def items(sentences: str | Path, occupations: str | Path) -> pd.DataFrame:
    """Return `read_winogender` with the shares of women of each sentence's occupation (bls, bergsma), and what
    `masked_words.piece_log_probabilities` needs; without the sentences of an occupation that has no share."""
    table = read_winogender(sentences).join(read_shares(occupations), on="occupation")
    unknown = table["bls"].isna()
    absent = dict.fromkeys(table.loc[unknown, "item"], "its occupation has no share of women")
    leave_out(occupations, absent, table["item"].nunique())
    return table[~unknown].reset_index(drop=True).assign(also_start=-1, also_end=-1, filling="together")
