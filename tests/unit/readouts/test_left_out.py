"""One item that an encoder cannot take is left out, counted and named; the others have the values that they have
without it."""

import json

import pandas as pd
import pytest

from biasflow.base.errors import AbsentError
from biasflow.base.left_out import LeftOut, leave_out
from biasflow.metrics.items import left_out_rows
from biasflow.readouts import fillings, likelihoods, losses, masked_words, next_sentence, pair_tokens, vectors
from biasflow.readouts.files import left_out_of, load_arrays, write_left_out
from tests.unit.readouts.conftest import OCCUPATIONS

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


def test_items_that_are_looked_at_twice_are_counted_once():
    left_out = LeftOut()
    with left_out.told():
        leave_out("file", {"a": "too long"}, of=10)
        leave_out("file", {"b": "no blank"}, of=9)
    assert left_out.facts() == {"left_out": {"of": 10, "items": {"a": "too long", "b": "no blank"}}}


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
    own = {"templates": ["[MASK] is a {occupation} ."], "pronouns": ["he", "she"]}
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


CASES_LIMITED = {
    "triples": (next_sentence, "any", {"stimuli": "stimuli.csv"}, {}, ["triple", "label", "swapped"], "triple"),
    "occupations": (
        masked_words,
        "mine",
        {"occupations": "occupations.txt"},
        {"templates": ["[MASK] is a {occupation} ."], "pronouns": ["he", "she"]},
        ["item", "word"],
        "item",
    ),
    "sentences": (likelihoods, "any", {"text": "text.txt"}, {"pseudo_sentences": 15}, ["text"], "text"),
}


@pytest.mark.parametrize("case", CASES_LIMITED)
def test_a_limited_readout_has_so_many_whole_items_of_the_full_one(case, source, tmp_path):
    module, dataset, data, options, keys, item = CASES_LIMITED[case]
    tables = []
    for name, limit in (("full", {}), ("four", {"limit": 4}), ("three", {"limit": 3})):
        module.read(source(dataset, **data), tmp_path / name, **options, **limit)
        tables.append(pd.read_parquet(tmp_path / name).drop(columns="sentence", errors="ignore"))
    full, four, three = tables
    assert full[item].nunique() >= len(OCCUPATIONS)
    assert set(three[item]) < set(four[item]) < set(full[item]) and three[item].nunique() == 3
    of_these = full[full[item].isin(three[item])]
    keys = ["method", "setting", *keys]
    pd.testing.assert_frame_equal(
        three.sort_values(keys, ignore_index=True), of_these.sort_values(keys, ignore_index=True), rtol=1e-5
    )


def test_limited_blocks_of_a_text_have_the_masks_that_they_have_in_all_of_it(source, tmp_path, monkeypatch):
    monkeypatch.setattr(losses, "TOKENS", 2)
    for name, limit in (("full", {}), ("some", {"limit": 10})):
        source_of_text = source("any", text="text.txt")
        losses.read(source_of_text, tmp_path / name, mask_seeds=[0, 1], max_length=10, **limit)
    full, some = (pd.read_parquet(tmp_path / name) for name in ("full", "some"))
    assert full["block"].nunique() > some["block"].nunique() == 2  # 10 x 2 tokens in blocks of 10
    of_block = {
        tuple(block["loss"].round(4)) for _, block in full.groupby(["method", "setting", "readout_seed", "block"])
    }
    assert {
        tuple(block["loss"].round(4)) for _, block in some.groupby(["method", "setting", "readout_seed", "block"])
    } <= of_block
