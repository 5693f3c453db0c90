"""Labour statistics: the project's own table, and files that are wrong."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.labour import read_labour, read_labour_table

OWN = Path(__file__).parents[3] / "scripts/biasflow/data" / "labour_statistics.csv"
PROFESSIONS = """accountant architect attorney chiropractor comedian composer dentist dietitian dj filmmaker
interior_designer journalist model nurse painter paralegal pastor personal_trainer photographer physician poet professor
psychologist rapper software_engineer surgeon teacher yoga_teacher""".split()
HEADER = "profession,bls_occupation,share_of_women,year,source,note\n"
TEXT = HEADER + 'nurse,Registered nurses,0.874,2020,"BLS, table 11",\ndj,,,,,no share published\n'


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "labour.csv"
        path.write_text(text)
        return path

    return write


def test_own_table_covers_the_28_professions():
    table = read_labour_table(OWN)
    assert table["profession"].tolist() == PROFESSIONS
    unmapped = table[table["share_of_women"].isna()]
    assert unmapped["profession"].tolist() == ["comedian", "dj", "model", "poet", "rapper", "yoga_teacher"]
    assert (unmapped["note"] != "").all()
    mapped = table.drop(unmapped.index)
    assert not mapped["bls_occupation"].duplicated().any()
    assert mapped[["year", "source"]].drop_duplicates().shape == (1, 2)


def test_own_shares_are_of_the_right_occupations():
    shares = read_labour(OWN)
    assert shares["nurse"] > shares["paralegal"] > shares["physician"] > shares["surgeon"] > shares["software_engineer"]
    assert 0.4 < shares["painter"] < 0.6  # of pictures; very few who paint walls are women
    by_occupation = {0.988: 535, 0.796: 3371, 0.588: 963, 0.814: 332}
    pooled = np.average(list(by_occupation), weights=list(by_occupation.values()))
    assert shares["teacher"] == pytest.approx(pooled, abs=5e-4)


def test_shares_by_profession(write):
    expected = pd.Series([0.874, np.nan], index=pd.Index(["nurse", "dj"], name="profession"), name="share_of_women")
    pd.testing.assert_series_equal(read_labour(write(TEXT)), expected)
    assert read_labour(write(TEXT)).reindex(["plumber", "nurse"]).tolist() == pytest.approx(
        [np.nan, 0.874], nan_ok=True
    )


@pytest.mark.parametrize("share", ["-0.1", "1.01", "87.4", "most", "nan", "inf"])
def test_what_is_no_share_is_named(write, share):
    with pytest.raises(BiasflowError, match=f"line 2: column share_of_women: '{share}' is no share"):
        read_labour(write(TEXT.replace("0.874", share)))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "labour.csv"),
        (HEADER, "labour.csv"),
        (TEXT.replace("share_of_women", "share", 1), "share_of_women"),
        (TEXT.replace("profession", "job", 1), "profession"),
        (TEXT.replace("note", "profession", 1), "'profession' appears twice"),
        (TEXT.replace("dj,", "nurse,"), "line 3: column profession: 'nurse' is repeated"),
        (TEXT.replace("dj,", " ,"), "line 3"),
        (TEXT.replace("2020", ""), "nurse.*year"),
        (TEXT.replace("Registered nurses", ""), "nurse.*bls_occupation"),
        (TEXT.replace("no share published", ""), "dj"),
        (TEXT.replace("dj,,", "dj,Disc jockeys,"), "dj"),
    ],
)
def test_wrong_files_are_refused(write, text, named):
    with pytest.raises(BiasflowError, match=named):
        read_labour(write(text))


def test_a_file_of_two_columns(write):
    table = read_labour_table(write("share_of_women,profession\n0.87,nurse\n,dj\n"))
    assert table.columns.tolist() == HEADER.strip().split(",")
    assert table["profession"].tolist() == ["nurse", "dj"] and (table["source"] == "").all()
    assert table["share_of_women"].tolist() == pytest.approx([0.87, np.nan], nan_ok=True)


def test_columns_of_ones_own_are_left_out(write):
    table = read_labour_table(write("profession,employed,share_of_women,year\nnurse,3000000,0.87,2020\n"))
    assert table["year"].tolist() == ["2020"] and "employed" not in table
    with pytest.raises(BiasflowError, match=r"nurse.*year"):
        read_labour(write("profession,share_of_women,year\nnurse,0.87,\n"))


@pytest.mark.parametrize("row", ["nurse,0.87,0.5", "nurse, registered,0.87", "nurse"])
def test_a_row_of_another_length_is_named(write, row):
    """With one cell more, pandas reads the profession as a label of the row, and 0.87 as a profession."""
    with pytest.raises(BiasflowError, match=r"labour\.csv: line 2"):
        read_labour(write(f"profession,share_of_women\n{row}\n"))


def test_no_file(tmp_path):
    with pytest.raises(BiasflowError, match="absent"):
        read_labour(tmp_path / "absent")
