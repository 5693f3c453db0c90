"""Tables as pandas writes them: every reader takes the same from all of them, whatever separates the columns."""

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora import bec_pro, crows_pairs
from biasflow.corpora.bios import collect_bios
from biasflow.corpora.gest import read_gest
from biasflow.corpora.labour import read_labour
from biasflow.corpora.nli import read_nli
from biasflow.corpora.published_scores import check_kind, read_scores
from biasflow.corpora.stereoset import LABELS, read_gender_swapped
from biasflow.corpora.winogender import read_shares, read_winogender
from biasflow.corpora.word_sets import read_word_pairs, read_word_sets

TEXTS = ['"Hello; there," she said', 'a "nurse", then;', '"quoted"', "None", "tab\there"]


def scores(path):
    check_kind(path)
    return read_scores(path)


# Reader -> a table of its file.
TABLES = {
    "biographies": (
        lambda path: collect_bios({"mine": path}, professions=None)[0],
        {"text": TEXTS, "profession": "nurse", "gender": "F", "name": "None"},
    ),
    "NLI": (lambda path: read_nli(path).pairs, {"premise": TEXTS, "hypothesis": TEXTS[::-1], "label": "neutral"}),
    "GEST": (read_gest, {"sentence": TEXTS, "stereotype": [1, 2, 3, 4, 16]}),
    "CrowS-Pairs": (
        lambda path: crows_pairs.items(path, bias_type="all"),
        {
            "sent_more": TEXTS,
            "sent_less": [*TEXTS[1:], "x"],
            "stereo_antistereo": "stereo",
            "bias_type": "gender",
        },
    ),
    "scores": (scores, {"first": TEXTS, "second": TEXTS[::-1], "score": [-0.5, 1, 2, 3, 0]}),
    "shares": (read_labour, {"profession": TEXTS, "share_of_women": 0.5}),
    "word pairs": (lambda path: read_word_pairs(path).words, {"male": ["he", "none"], "female": ["NA", "nan"]}),
    "BEC-Pro": (
        bec_pro.read_bec_pro,
        {
            "Sentence": ["He is a cook, too.", "She is a cook, too."],
            "Template": "<p> is a <o>",
            "Person": ["He", "She"],
            "Gender": ["male", "female"],
            "Profession": "cook",
            "Prof_Gender": "balanced",
        },
    ),
    "Winogender": (
        read_winogender,
        {
            "sentence": ["The nurse said that he, too, left.", "The nurse said that she, too, left."],
            "sentid": ["nurse.patient.0.male.txt", "nurse.patient.0.female.txt"],
        },
    ),
    "shares by occupation": (
        read_shares,
        {"occupation": ["nurse", "cook; chef"], "bls_pct_female": [89.5, 50], "bergsma_pct_female": [88, 40]},
    ),
    "gender-swapped triples": (
        read_gender_swapped,
        {
            "next_sentence": ["She, a nurse; cooks.", "She boxes.", "It rains."],
            "context": "She came.",
            "context_id": "7",
            "label": LABELS,
            "gender": "F",
            "gender_swapped_context": "He came.",
            "gender_swapped_next_sentence": ["He, a nurse; cooks.", "He boxes.", "It rains."],
        },
    ),
    "words": (
        lambda path: read_word_sets(path, "test"),
        {"role": list("XXYYAABB"), "set_name": list("ssttuuvv"), "word": ["null", "NaN", "NA", *TEXTS]},
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_same_is_read_from_every_table_that_pandas_writes(tmp_path, name):
    read, columns = TABLES[name]
    frame, path = pd.DataFrame(columns), tmp_path / "table"
    found = []
    for dialect in ({}, {"sep": ";"}, {"sep": "\t"}, {"sep": "\t", "lineterminator": "\r\n", "encoding": "utf-8-sig"}):
        frame.to_csv(path, index=False, **dialect)
        found.append(read(path))
    frame.to_csv(path.with_suffix(".csv.gz"), index=False)
    found.append(read(path.with_suffix(".csv.gz")))
    for other in found[1:]:
        assert other.equals(found[0]) if hasattr(other, "equals") else other == found[0]
    texts = found[0].astype(str).to_csv() if hasattr(found[0], "to_csv") else str(found[0])
    assert all(text.replace('"', "") in texts.replace('"', "") for text in map(str, next(iter(columns.values()))))


OPTIONAL = {"biographies": {"name"}, "scores": {"first", "second"}}


@pytest.mark.parametrize("name", TABLES)
def test_a_column_that_is_missing_is_named_and_so_is_a_table_without_a_row(tmp_path, name):
    (read, columns), path = TABLES[name], tmp_path / "table"
    frame = pd.DataFrame(columns)
    for column in columns.keys() - OPTIONAL.get(name, set()):
        frame.drop(columns=column).to_csv(path, index=False)
        with pytest.raises(BiasflowError, match=rf"table: .*({column}|give two)"):
            read(path)
    frame.head(0).to_csv(path, index=False)
    with pytest.raises(BiasflowError, match=r"table: .*no (row|biography)"):
        read(path)


def test_published_pairs_keep_their_quotes(tmp_path):
    path = tmp_path / "snli.tsv"
    path.write_text('gold_label\tsentence1\tsentence2\nneutral\t"Go," he said.\t"quoted"\n')
    assert read_nli(path).pairs.iloc[0].tolist() == ['"Go," he said.', '"quoted"', "neutral"]


@pytest.mark.parametrize("name", TABLES)
def test_no_message_holds_control_characters_of_a_cell(tmp_path, name):
    (tmp_path / "table").write_text("\x1b[2J,b,c\na\x1b]0;title\x07,b,c,d\n")
    with pytest.raises(BiasflowError) as raised:
        TABLES[name][0](tmp_path / "table")
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_labour, "profession;share_of_women\nnurse;0,9\n"),
        (scores, "id;score\n0;-1,5\n"),
        (scores, "-0,5\n-1,5\n"),
    ],
)
def test_a_decimal_comma_is_named(tmp_path, read, text):
    (tmp_path / "table").write_text(text)
    with pytest.raises(BiasflowError, match="decimal point"):
        read(tmp_path / "table")
