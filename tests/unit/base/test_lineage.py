"""One table is made of one content of every file, however far above it."""

import json
import re
import time
from pathlib import Path

import pytest

from _rule import ASIDE
from biasflow.base.errors import BiasflowError
from biasflow.base.lineage import check_one_content
from biasflow.base.provenance import write_provenance
from biasflow.base.records import checked, record_file

RULES = Path(__file__).parents[3] / "rules"
WEIGHTS, WORDS, TOKENS = "mine/model.safetensors", "mine/words.txt", "results/own/data/tokens.safetensors"


def make(output: str, *inputs: str, text: str = "", aside: tuple[str, ...] = ()) -> None:
    """A result as its job would write it; a path that ends in a slash is a folder with one file."""
    path = Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    if output.endswith("/"):
        path.mkdir(exist_ok=True)
        path = path / "planted.parquet"
    path.write_text(text or f"{output} of {[Path(file).read_text() for file in inputs if Path(file).is_file()]}")
    about = {"rule": "make", "params": {}, "config": {"run": "own"}, "started": time.time()}
    write_provenance([output.rstrip("/")], inputs=checked([*inputs, *aside]), aside=aside, **about)


def block(name: str) -> None:
    methods, readout = f"results/own/methods/{name}.safetensors", f"results/own/readouts/{name}/together/"
    make(methods, WEIGHTS, WORDS)
    make(readout, WEIGHTS, methods, aside=(TOKENS,))
    make(f"results/own/scores/{name}.csv", readout.rstrip("/"))


def joined() -> None:
    check_one_content(f"results/own/scores/{name}.csv" for name in ("first", "second"))


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    Path(WEIGHTS).write_text("one checkpoint")
    Path(WORDS).write_text("he she")
    make(TOKENS, text="some tokens")
    block("first")


def test_blocks_of_one_encoder_are_joined(run):
    block("second")
    joined()


def test_blocks_of_two_encoders_are_not(run):
    """The weights were replaced, with an old time, and one more block was asked for."""
    Path(WEIGHTS).write_text("another checkpoint")
    block("second")
    with pytest.raises(BiasflowError) as caught:
        joined()
    line = str(caught.value)
    assert "\n" not in line and line.startswith(f"{WEIGHTS}: ") and "delete" in line
    assert "methods/first.safetensors" in line and "readouts/first/together" in line and "second" not in line
    block("first")
    joined()


def test_what_was_replaced_once_more_or_is_gone_names_both(run):
    Path(WEIGHTS).write_text("another checkpoint")
    block("second")
    Path(WEIGHTS).write_text("a third checkpoint")
    with pytest.raises(BiasflowError, match=r"mine/model.*readouts/first/together.*and 1 more|second.*first"):
        joined()
    Path(WEIGHTS).unlink()
    with pytest.raises(BiasflowError, match="mine/model"):
        joined()


def test_a_replaced_encoder_that_nobody_has_read_yet_is_no_mixture(run):
    block("second")
    Path(WEIGHTS).write_text("another checkpoint")
    joined()


def test_a_result_that_was_made_again_behind_its_readers_is_named(run):
    make("results/own/methods/first.safetensors", WEIGHTS, WORDS, text="fitted anew")
    block("second")
    with pytest.raises(BiasflowError, match=r"methods/first\.safetensors: .* by results/own/readouts/first/together;"):
        joined()


def test_tokens_that_were_made_again_change_nothing(run):
    make(TOKENS, text="the same tokens, written in another way")
    block("second")
    joined()
    record = json.loads(record_file("results/own/readouts/first/together").read_text())
    assert record["aside"] == [TOKENS] and TOKENS in record["inputs"]


def test_inputs_on_which_nothing_depends_are_those_whose_age_does_not_matter():
    text = "".join(path.read_text() for path in RULES.glob("*.smk"))
    assert set(re.findall(r"(\w+)=(?:lambda wildcards: ancient\(|spares_of_readout\()", text)) == set(ASIDE)
    assert len(re.findall(r"ancient\(", text)) == len(ASIDE)
