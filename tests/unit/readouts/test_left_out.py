"""One item that an encoder cannot take is left out, counted and named; the others have the values that they have
without it."""

import json

import pandas as pd
import pytest

from biasflow.base.errors import AbsentError
from biasflow.metrics.left_out import left_out_rows
from biasflow.readouts import fillings, likelihoods, masked_words, pair_tokens, vectors
from biasflow.readouts.files import load_arrays
from biasflow.readouts.reasons import left_out_of, write_left_out

LONG = "the nurse is here " * 12
PAIRS = [("he is late .", "she is late ."), ("the man is rich .", "the woman is rich ."), ("a king .", "a queen .")]
WORDS = [("he is late .", "late"), ("the nurse is kind .", "kind"), ("the man said that .", "said")]
BLANKS = ["he is BLANK .", "the woman is BLANK .", "BLANK is late ."]


def pairs(*odd: str) -> pd.DataFrame:
    table = pd.DataFrame([*PAIRS, odd] if odd else PAIRS, columns=["first", "second"])
    return table.assign(item=table.index, direction="stereo")


def words(text: str = "", word: str = "") -> pd.DataFrame:
    """Two rows an item, of which one alone is odd."""
    rows = [(text, word, "he is late .", "late")] if text else []
    table = pd.DataFrame(
        [
            (item, text, text.index(word), text.index(word) + len(word))
            for item, row in enumerate([(*one, *one) for one in WORDS] + rows)
            for text, word in (row[:2], row[2:])
        ],
        columns=["item", "text", "start", "end"],
    )
    return table.assign(also_start=-1, also_end=-1, filling="together")


def blanks(*odd: str) -> pd.DataFrame:
    table = pd.DataFrame({"text": [*BLANKS, *odd]})
    return table.assign(item=table.index)


def items(kind: str, odd: list[str]) -> pd.DataFrame:
    """As a module of corpora lists them."""
    return {"pairs": pairs, "words": words, "blanks": blanks}[kind](*odd)


SHARED, ALL = {"maskings": ["shared"]}, {"maskings": ["shared", "differing", "nothing", "attended"]}
CASES = [
    (likelihoods, "pairs", (LONG, "she is late ."), "longer", SHARED),
    (likelihoods, "pairs", ("he is late .", " "), "a text without tokens", ALL),
    (likelihoods, "pairs", ("he .", "he ."), "no differing token", ALL),
    (likelihoods, "pairs", ("he", "she"), "no shared token", SHARED),
    (pair_tokens, "pairs", ("he is late .", LONG), "longer", {}),
    (pair_tokens, "pairs", ("", "she is late ."), "a text without tokens", {}),
    (masked_words, "words", (f"{LONG} kind", "kind"), "longer", {}),
    (masked_words, "words", ("he is zealous .", "zealous"), "a word that the encoder's vocabulary lacks", {}),
    (fillings, "blanks", (f"{LONG} BLANK",), "longer", {"blank": "BLANK"}),
    (fillings, "blanks", ("BLANK is BLANK .",), "not one BLANK", {"blank": "BLANK"}),
    (fillings, "blanks", ("he is late .",), "not one BLANK", {"blank": "BLANK"}),
]


@pytest.mark.parametrize(("module", "kind", "odd", "why", "options"), CASES)
def test_an_item_that_cannot_be_measured_is_left_out_of_a_readout(source, tmp_path, module, kind, odd, why, options):
    of = {"items": __name__, **options}
    module.read(source("x"), tmp_path / "without", of={"kind": kind, "odd": []}, **of)
    facts = module.read(source("x"), tmp_path / "with", of={"kind": kind, "odd": list(odd)}, **of)
    assert facts["left_out"]["of"] == 4 and list(facts["left_out"]["items"]) == ["3"]
    assert facts["left_out"]["items"]["3"].startswith(why)
    found, expected = (pd.read_parquet(tmp_path / name) for name in ("with", "without"))
    pd.testing.assert_frame_equal(found, expected, rtol=1e-5)


def test_a_readout_of_which_nothing_is_left_says_why(source, tmp_path):
    of = {"kind": "blanks", "odd": []}
    with pytest.raises(AbsentError, match="none of 3 items can be measured, the first, 0, because: not one MASK"):
        fillings.read(source("x"), tmp_path / "f.parquet", items=__name__, of=of, blank="MASK")


def test_an_occupation_that_is_too_long_is_left_out(source, folder, tmp_path):
    (folder / "jobs.txt").write_text("\n".join(["nurse", "nurse or " * 20 + "maid", "judge"]))
    own = {"template": "[MASK] is a {occupation} .", "pronouns": ["he", "she"]}
    facts = masked_words.read(source("mine", ["none"], occupations="jobs.txt"), tmp_path / "p.parquet", **own)
    assert facts["left_out"]["of"] == 3 and len(facts["left_out"]["items"]) == 1
    table = pd.read_parquet(tmp_path / "p.parquet")
    assert table["item"].tolist() == ["nurse", "judge"] * 2 and (table["log_p"] < 0).all()


@pytest.mark.parametrize(
    ("dataset", "file", "odd", "why"),
    [
        ("C6", "words.json", "zealot", "a word that the encoder's vocabulary lacks"),
        ("mine", "sentences.json", LONG, "longer than the encoder takes"),
    ],
)
def test_a_word_or_sentence_of_an_association_test_is_left_out(source, folder, tmp_path, dataset, file, odd, why):
    sets = json.loads((folder / file).read_text())
    vectors.read(source(dataset, test=file), tmp_path / "without")
    sets["attr1"]["examples"].insert(1, odd)
    (folder / "odd.json").write_text(json.dumps(sets))
    facts = vectors.read(source(dataset, test="odd.json"), tmp_path / "with")
    assert facts["left_out"] == {"of": 9, "items": {odd: why}}
    found, expected = (load_arrays(tmp_path / name) for name in ("with", "without"))
    for role in "XYAB":
        assert found.arrays[role] == pytest.approx(expected.arrays[role], abs=1e-5)
    sets["attr1"]["examples"] = [odd, f"{odd} {odd}", "the queen is here ."]
    (folder / "odd.json").write_text(json.dumps(sets))
    with pytest.raises(AbsentError, match=f"2 of 3 in set . of {dataset} .* because: {why}"):
        vectors.read(source(dataset, test="odd.json"), tmp_path / "with")


def test_a_limit_is_of_items_that_the_file_has_and_the_longer_ones_are_left_out_of_them(source, tmp_path):
    of = {"kind": "pairs", "odd": [LONG, "she ."]}
    samples = {}
    for limit in (None, 3, 2):
        path = tmp_path / str(limit)
        facts = pair_tokens.read(source("x"), path, items=__name__, of=of, limit=limit)
        left_out = facts.get("left_out", {"of": limit, "items": {}})
        samples[limit] = {*map(str, pd.read_parquet(path)["item"]), *left_out["items"]}
        assert left_out["of"] == len(samples[limit]) == (limit or 4)
    assert samples[2] < samples[3] < samples[None]


def test_how_many_were_left_out_are_scores_of_the_metric(tmp_path):
    write_left_out(tmp_path / "a", {"left_out": {"of": 9, "items": {"3": "long", "4": "long", "line 7": "odd"}}})
    write_left_out(tmp_path / "b", {"device": "cpu"})
    table = left_out_rows(tmp_path / "a", "gest", ["none", "hard"])
    assert table[["method", "metric", "variant", "part", "value", "n"]].to_numpy().tolist() == [
        [method, "left_out", "gest", why, number, 9]
        for method in ("none", "hard")
        for why, number in (("long", 2), ("odd", 1))
    ]
    assert left_out_of(tmp_path / "b").reasons == {} and left_out_rows(tmp_path / "b", "gest", ["none"]).empty
