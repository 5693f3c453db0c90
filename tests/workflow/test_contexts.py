"""CEAT's contexts from the English Wikipedia: files of a local server in the hub's place, read one after the other."""

import http.server

import pandas as pd
import pytest
from transformers import BertConfig, BertModel

from biasflow.stimuli.ceat_sets import ceat_tests, words_of
from tests.loopback import serving
from tests.unit.conftest import SIZES
from tests.unit.fake_tokenizer import word_tokenizer
from tests.workflow.conftest import REPLACE

WORDS = words_of(ceat_tests(["C6"]).values())
LOWER = [word.lower() for word in WORDS]
# Headings and captions are no contexts.
ARTICLE = "\n\n".join(["Career", *(f"once {word} was here." for word in LOWER), "family (1950)"])
CONFIG = {
    "run": "own",
    "device": "cpu",
    "encoders": {"own": {"source": "local", "path": "own"}},
    "files": {"english-wikipedia-00": "first.parquet"},  # the one whose sha256 is known
    "metrics": {
        "ceat": {"tests": ["C6"], "text": "english-wikipedia", "shards": 2, "per_word": 100, "missing": "drop"}
    },
    "ask": {"inside": {"encoders": ["own"], "methods": ["none"], "metrics": ["ceat"]}},
}
CONTEXTS = "results/own/data/contexts/own/ceat.parquet"


def parquet(articles: int) -> bytes:
    return pd.DataFrame({"id": map(str, range(articles)), "text": [ARTICLE] * articles}).to_parquet(row_group_size=7)


class Hub(http.server.BaseHTTPRequestHandler):
    """Answers every request with server.body."""

    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def hub(monkeypatch):
    with serving(Hub, asked=[], body=parquet(30)) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield server


@pytest.fixture
def own(project):
    """A project whose encoder is of random weights and knows the words."""
    BertModel(BertConfig(**SIZES)).save_pretrained(project.folder / "own")
    word_tokenizer([*LOWER, "once", "was", "here", "."]).save_pretrained(project.folder / "own")
    (project.folder / "first.parquet").write_bytes(parquet(20))
    project.configure(CONFIG, "own.yaml")
    return project


def counts(project) -> pd.DataFrame:
    project.succeeds(CONTEXTS, *REPLACE, config="own.yaml")
    return pd.read_csv(project.folder / "results/own/data/contexts/own/ceat_counts.csv")


def test_no_file_is_read_or_fetched_that_is_not_needed(own, hub):
    found = counts(own)
    assert found["word"].tolist() == WORDS and set(found["text"]) == {"english-wikipedia"}
    assert found[["found", "used", "wanted"]].drop_duplicates().values.tolist() == [[20 + 30, 50, 100]]
    (address,) = hub.asked
    assert address.startswith("/datasets/wikimedia/wikipedia/resolve/")
    assert address.endswith("/20231101.en/train-00032-of-00041.parquet")
    table = pd.read_parquet(own.folder / CONTEXTS)
    assert set(table["text"]) == {f"once {word} was here." for word in LOWER}

    own.configure({**CONFIG, "metrics": {"ceat": CONFIG["metrics"]["ceat"] | {"per_word": 15}}}, "own.yaml")
    assert counts(own)[["found", "used", "wanted"]].drop_duplicates().values.tolist() == [[20, 15, 15]]
    assert len(hub.asked) == 1
