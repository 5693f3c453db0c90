import pandas as pd
import pytest

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.metrics.stereoset import triple_distances, triple_strengths
from scripts.biasflow.papers.published import PUBLISHED, path_of, read_published


def test_table_7_has_all_rows_in_printed_order():
    table = read_published("dawkins2024_table7")
    counts = {"base": 1, "sentence-debias": 1, "sent": 2, "layer-12": 8, "layer-11": 32, "layer-11+attention": 32}
    assert table["level"].value_counts(sort=False).to_dict() == counts
    assert not table.duplicated(["level", "settings"]).any() and not table.isna().any().any()
    for _, block in table.groupby("level"):
        assert list(block["settings"]) == sorted(block["settings"])
    last = table[(table["level"] == "layer-11") & (table["settings"] == "0,1,1,1,0")].iloc[0]
    assert (last["strength"], last["distance"], last["snli_accuracy"]) == (0.2735, 0.4486, 0.7414)


def test_settings_stay_text():
    assert read_published("dawkins2024_table7")["settings"].iloc[:3].tolist() == ["", "", "0"]
    table5 = read_published("dawkins2024_table5")
    assert table5["strength_settings"].tolist() == ["", "", "0", "0,0,0", "0,0,0,1,0", "0,0,1,0,0"]


def test_printed_s_and_d_follow_from_printed_p():
    printed = read_published("dawkins2024_tables1_3_4")
    for (table, _), group in printed[printed["table"] != "1"].groupby(["table", "example"]):
        p = group.set_index(["label", "swapped"])["p"]
        if table == "3":
            four = [[p[label, swapped]] for swapped in (False, True) for label in ("stereotype", "anti-stereotype")]
            assert triple_strengths(*four) == pytest.approx(group["s"].iloc[0], abs=6e-4)
        else:
            assert triple_distances([p["unrelated", False]], [p["unrelated", True]]) == pytest.approx(
                group["d"].iloc[0]
            )


def test_every_file_has_a_source():
    sources = pd.read_csv(PUBLISHED / "sources.csv")
    named = sources[sources["file"].str.startswith("dawkins2024")]
    assert set(named["file"]) == {path.stem for path in PUBLISHED.glob("dawkins2024*.csv")}
    assert named.notna().all().all()


def test_an_unknown_table_is_refused_with_the_known_ones():
    with pytest.raises(BiasflowError, match="dawkins2024_table7"):
        path_of("dawkins2024_table9")
