"""The data of a coreference task: what is kept of files, what embedded documents and pairs are, and the baselines."""

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.conll import read_conll
from biasflow.corpora.winobias import read_pairs
from biasflow.tasks.coreference import collect, pairs
from biasflow.tasks.coreference.collect import PARTS
from biasflow.tasks.coreference.pairs import SIDES
from tests.unit.synthetic_conll import conll_text
from tests.unit.tasks.coreference.made_up import save_file, text

PLANTED = {"bias": 1.0, "seed": 0, "train": 8, "validation": 5, "test": 4}
BROKEN = text(9).replace("(1)", "(1", 1)


def prepared(module, tmp_path, names, tables, sources=None, **options):
    """The files that a step makes, tables as frames."""
    folder = tmp_path / "made"
    folder.mkdir(exist_ok=True)
    outputs = {name: folder / f"{name}.conll" for name in names} | {name: folder / f"{name}.csv" for name in tables}
    module.prepare(sources or {}, outputs, **options)
    return {**outputs, **{name: pd.read_csv(outputs[name], keep_default_na=False) for name in tables}}


def documents_made(tmp_path, sources=None, *, planted=None, broken="error"):
    tables = ("sources", "baseline")
    return prepared(collect, tmp_path, PARTS, tables, sources, planted=planted, broken=broken)


def pairs_made(tmp_path, sources=None, *, planted=None, files=()):
    return prepared(pairs, tmp_path, SIDES, ("pairs", "pairs_baseline"), sources, planted=planted, files=files)


@pytest.fixture
def sources(tmp_path):
    """Two files to train on, the second with a broken document, a cluster of one and a span of two clusters."""
    odd = conll_text("nw/odd", [["a", "b", "c"]], [[(0, 0), (1, 1)], [(1, 1), (2, 2)], [(0, 2)]])
    texts = {"train": (text(0), text(1)), "more": (text(2), BROKEN, odd), "validation": (text(3),), "test": (text(4),)}
    files = {name: save_file(tmp_path / f"{name}.conll", *each) for name, each in texts.items()}
    return {"train": (files["train"], files["more"]), "validation": (files["validation"],), "test": (files["test"],)}


def test_files_are_joined_and_what_was_left_out_is_counted(tmp_path, sources):
    made = documents_made(tmp_path, sources, broken="drop")
    assert [document.key for document in read_conll(made["train"]).documents] == ["nw/0", "nw/1", "nw/2", "nw/odd"]
    table = made["sources"].set_index("source")
    assert list(table["documents"]) == [2, 2, 1, 1]
    odd = table.loc["more.conll"]
    assert (odd["singletons"], odd["repeated"], odd["dropped"]) == (1, 1, 1)
    assert odd["dropped_documents"] == "(nw/9); part 000"
    assert (odd["clusters"], odd["mentions"]) == (2 + 1, 4 + 3)
    assert (table.drop("more.conll")["dropped"] == 0).all()


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_embedded_pairs_stand_row_by_row(tmp_path, bias):
    made = pairs_made(tmp_path, planted={"bias": bias, "seed": 0, "pairs": 30})
    found = read_pairs(made["pro"], made["anti"])
    table = made["pairs"]
    assert list(table["pair"]) == list(range(30)) and set(table["type"]) == {"planted"} and set(table["part"]) == {"-"}
    for side in SIDES:
        assert list(table[side]) == [getattr(pair, side).document.name for pair in found]
    best = made["pairs_baseline"].query("predictor == 'best possible'").set_index(["metric", "part"])["value"]
    difference = 100 * (best["conll_f1", "pro"] - best["conll_f1", "anti"])
    assert best["f1_difference", "-"] == pytest.approx(difference, abs=15) and (difference > 20) == (bias == 1.0)


def test_the_files_of_winobias_are_joined_with_their_type_and_part(tmp_path):
    def sentence(key, pronoun):
        words = ["The", "nurse", "met", "the", "sheriff", "and", pronoun, "left"]
        return conll_text(f"nw/{key}", [words], [[(0, 1), (6, 6)]])

    files = [{"part": "dev", "type": "type1"}, {"part": "test", "type": "type2"}]
    sources = {
        side: [
            save_file(
                tmp_path / f"{side}{each['type']}",
                *(sentence(f"{each['type']}/{side}//{n}", pronoun) for n in range(2)),
            )
            for each in files
        ]
        for side, pronoun in (("pro", "she"), ("anti", "he"))
    }
    table = pairs_made(tmp_path, sources, files=files)["pairs"]
    assert list(table["type"]) == ["type1", "type1", "type2", "type2"]
    assert list(table["part"]) == ["dev", "dev", "test", "test"]
    assert list(table["anti"])[2] == "(nw/type2/anti//0); part 000"
    with pytest.raises(BiasflowError, match="stereotype"):
        pairs_made(tmp_path, {"pro": sources["anti"], "anti": sources["pro"]}, files=files)
