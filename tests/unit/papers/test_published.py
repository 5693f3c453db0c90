import pytest

from biasflow.base.errors import BiasflowError
from biasflow.metrics.stereoset import triple_distances, triple_strengths
from biasflow.papers.paper import HERE, load
from biasflow.papers.published import path_of, read_published
from biasflow.registry import PAPERS


def test_table_7_has_all_rows_in_printed_order():
    table = read_published("dawkins2024", "table7")
    counts = {"base": 1, "sentence-debias": 1, "sent": 2, "layer-12": 8, "layer-11": 32, "layer-11+attention": 32}
    assert table["level"].value_counts(sort=False).to_dict() == counts
    assert not table.duplicated(["level", "settings"]).any() and not table.isna().any().any()
    for _, block in table.groupby("level"):
        assert list(block["settings"]) == sorted(block["settings"])
    last = table[(table["level"] == "layer-11") & (table["settings"] == "0,1,1,1,0")].iloc[0]
    assert (last["strength"], last["distance"], last["snli_accuracy"]) == (0.2735, 0.4486, 0.7414)


def test_settings_stay_text():
    assert read_published("dawkins2024", "table7")["settings"].iloc[:3].tolist() == ["", "", "0"]
    table5 = read_published("dawkins2024", "table5")
    assert table5["strength_settings"].tolist() == ["", "", "0", "0,0,0", "0,0,0,1,0", "0,0,1,0,0"]


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


@pytest.mark.parametrize("name", [name for name in PAPERS if (HERE / name / "paper.yaml").is_file()])
def test_every_file_has_a_source(name):
    text = load(name)
    assert set(text.published) == {path.stem for path in (HERE / name / "published").glob("*.csv")}
    assert all(text.published.values()) and text.citation and (not text.published or (text.doi and text.url))


def test_an_unknown_table_is_refused_with_the_known_ones():
    with pytest.raises(BiasflowError, match=r"liang2020.*values"):
        path_of("liang2020", "table9")


def test_names_stay_text(tmp_path):
    (tmp_path / "p" / "published").mkdir(parents=True)
    path = tmp_path / "p" / "published" / "t.csv"
    path.write_text("level,settings,best_settings,value\nsent,0,,0.5\nbase,,1,\n")
    table = read_published("p", "t", tmp_path)
    assert table["settings"].tolist() == ["0", ""] and table["best_settings"].tolist() == ["", "1"]
    assert table["value"].isna().tolist() == [False, True]


def test_a_damaged_file_is_named_in_one_line(tmp_path):
    path = tmp_path / "p" / "published" / "t.csv"
    path.parent.mkdir(parents=True)
    for text in ("level,value\nbase,1\nsent,2,3\n", "", 'level,value\n"base,1\n'):
        path.write_text(text)
        with pytest.raises(BiasflowError, match=r"t\.csv: not valid CSV: .*") as raised:
            read_published("p", "t", tmp_path)
        assert "\n" not in str(raised.value)
