"""Labour statistics: the project's own table, and files that are wrong."""

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.labour import read_labour

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


def test_shares_by_profession(write):
    expected = pd.Series([0.874, np.nan], index=pd.Index(["nurse", "dj"], name="profession"), name="share_of_women")
    pd.testing.assert_series_equal(read_labour(write(TEXT)), expected)
    assert read_labour(write(TEXT)).reindex(["plumber", "nurse"]).tolist() == pytest.approx(
        [np.nan, 0.874], nan_ok=True
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
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
