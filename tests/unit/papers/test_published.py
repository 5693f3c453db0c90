import pytest

from biasflow.base.errors import BiasflowError
from biasflow.metrics.stereoset import triple_distances, triple_strengths
from biasflow.papers.published import read_published


def test_table_7_has_all_rows_in_printed_order():
    table = read_published("dawkins2024", "table7")
    counts = {"base": 1, "sentence-debias": 1, "sent": 2, "layer-12": 8, "layer-11": 32, "layer-11+attention": 32}
    assert table["level"].value_counts(sort=False).to_dict() == counts
    assert not table.duplicated(["level", "settings"]).any() and not table.isna().any().any()
    for _, block in table.groupby("level"):
        assert list(block["settings"]) == sorted(block["settings"])
    last = table[(table["level"] == "layer-11") & (table["settings"] == "0,1,1,1,0")].iloc[0]
    assert (last["strength"], last["distance"], last["snli_accuracy"]) == (0.2735, 0.4486, 0.7414)


def test_printed_s_and_d_follow_from_printed_p():
    printed = read_published("dawkins2024", "tables1_3_4")
    for (table, _), group in printed[printed["table"] != "1"].groupby(["table", "example"]):
        p = group.set_index(["label", "swapped"])["p"]
        if table == "3":
            four = [[p[label, swapped]] for swapped in (False, True) for label in ("stereotype", "anti-stereotype")]
            assert triple_strengths(*four) == pytest.approx(group["s"].iloc[0], abs=6e-4)
        else:
            assert triple_distances([p["unrelated", False]], [p["unrelated", True]]) == pytest.approx(
                group["d"].iloc[0]
            )


def test_a_damaged_file_is_named_in_one_line(tmp_path):
    path = tmp_path / "p" / "published" / "t.csv"
    path.parent.mkdir(parents=True)
    for text in ("level,value\nbase,1\nsent,2,3\n", "", 'level,value\n"base,1\n'):
        path.write_text(text)
        with pytest.raises(BiasflowError, match=r"t\.csv: not valid CSV: .*") as raised:
            read_published("p", "t", tmp_path)
        assert "\n" not in str(raised.value)
