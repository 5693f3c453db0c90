"""Encoders from the hub: a small hub on loopback, the hub's own cache, and the real client in a process of its own."""

import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save

from biasflow.base.errors import BiasflowError
from biasflow.corpora.hub import base_of_card
from biasflow.encoders.sentence_transformers import own_pooling
from tests.loopback import serving

ID, REVISION, BRANCH, CONVERTED = "owner/tiny", "a" * 40, "v1.5", "c" * 40
FILES = {
    "config.json": b"{}",
    "vocab.txt": b"[PAD]\n[UNK]\n",
    "tokenizer_config.json": b"{}",
    "model.safetensors": save({"weights": np.arange(1000.0)}),
    "pytorch_model.bin": b"pickle",
    "modeling.py": b"code",
    "onnx/model.safetensors": b"other weights",
}
WANTED = ["config.json", "model.safetensors", "tokenizer_config.json", "vocab.txt"]


class Hub(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        body = self.answer()
        self.server.sent += [(self.path.rpartition("/")[2], self.headers.get("Range"))]
        self.wfile.write(body[: self.server.cut.get(self.path.rpartition("/")[2], len(body))])

    def answer(self):
        path = self.path.split("?")[0]
        name = path.removeprefix(f"/{ID}/resolve/{REVISION}/")
        status, body, headers = 404, b"", {"X-Error-Code": "RevisionNotFound" if ID in path else "RepoNotFound"}
        if path in {f"/api/models/{ID}/tree/{commit}" for commit in (REVISION, CONVERTED)}:
            files = self.server.files | ({"model.safetensors": FILES["model.safetensors"]} if CONVERTED in path else {})
            rows = [
                {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for name, data in files.items()
            ]
            status, body, headers = 200, json.dumps(rows).encode(), {"Content-Type": "application/json"}
        elif path == f"/api/models/old-name/revision/{BRANCH}":
            status, headers = 200, {"Content-Type": "application/json"}
            body = json.dumps({"id": ID, "sha": REVISION, "private": False, "tags": [], "siblings": []}).encode()
        elif path == f"/api/models/{ID}/refs":
            change = {"name": "1", "ref": "refs/pr/1", "targetCommit": CONVERTED}
            refs = {"branches": [], "converts": [], "tags": [], "pullRequests": [change] * self.server.converted}
            status, body, headers = 200, json.dumps(refs).encode(), {"Content-Type": "application/json"}
        elif name in self.server.files:
            body = self.server.files[name]
            etag = self.server.etags.get(name) or hashlib.sha1(body).hexdigest()
            status, headers = 200, {"ETag": f'"{etag}"', "X-Repo-Commit": REVISION}
        if self.server.page is not None:
            status, body, headers = 200, self.server.page, {"Content-Type": "text/html"}
        if ranged := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or ""):
            status, body = 206, body[int(ranged[1]) : int(ranged[2]) + 1]
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        return body

    def log_message(self, *arguments):
        pass


@pytest.fixture
def hub():
    with serving(Hub, files=dict(FILES), etags={}, cut={}, page=None, converted=False, sent=[]) as server:
        yield server


@pytest.fixture
def download(hub, tmp_path):
    """download_encoder in a new process, whose environment names the hub and an empty cache; its error as an exception.

    A process of its own, as the hub's client reads its settings once, when it is imported."""
    code = (
        "import json, sys\nfrom biasflow.corpora.hub import download_encoder\n"
        "from biasflow.base.errors import BiasflowError\n"
        "from biasflow.encoders.sentence_transformers import check_pooling\n"
        "from biasflow.encoders.stored import check_config\n"
        "def check(folder):\n"
        "    check_config(folder / 'config.json')\n    check_pooling(folder, pooling, key='its.key')\n"
        "options = json.loads(sys.argv[1])\n"
        "pooling = options.pop('pooling')\n"
        "options['check'] = check if pooling else None\n"
        "try:\n    print(len(download_encoder(**options).files))\n"
        "except BiasflowError as error:\n    sys.exit(str(error))\n"
    )

    def download(id=ID, revision=REVISION, *, offline=False, pooling=None, **options):
        options |= {"pooling": pooling, "folder": str(tmp_path / "encoder"), "lock_file": str(tmp_path / "lock.json")}
        environment = {
            **os.environ,
            "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}",
            "HF_HOME": str(tmp_path / "cache"),
            "HF_HUB_OFFLINE": "1" if offline else "0",
            "NO_PROXY": "127.0.0.1",
        }
        command = [sys.executable, "-c", code, json.dumps({"id": id, "revision": revision, **options})]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        if done.returncode:
            assert not (tmp_path / "encoder").exists()
            raise BiasflowError(done.stderr.strip())
        return tmp_path / "encoder"

    return download


@pytest.mark.parametrize(
    ("id", "revision", "offline", "said"),
    [
        ("old-name", BRANCH, "0", f"{ID}@{REVISION}"),  # the hub's own name for it
        (ID, "none", "0", "no such model|does not have it"),
        ("old-name", BRANCH, "1", "HF_HUB_OFFLINE is set; unset it"),
    ],
)
def test_a_branch_is_pinned_to_the_commit_that_the_hub_has(hub, id, revision, offline, said):
    code = "import sys; from biasflow.corpora.hub import pinned; print(*pinned(*sys.argv[1:]))"
    environment = {**os.environ, "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HUB_OFFLINE": offline}
    command = [sys.executable, "-c", code, id, revision]
    done = subprocess.run(command, env=environment | {"NO_PROXY": "127.0.0.1"}, capture_output=True, text=True)
    assert re.search(said, done.stdout + done.stderr.splitlines()[-1] if done.stderr else done.stdout)


def look_up(hub, cache, offline="0") -> str:
    code = "import sys; from biasflow.corpora.hub import looked_up; print(sorted(looked_up(*sys.argv[1:])[1]))"
    endpoint = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "NO_PROXY": "127.0.0.1"}
    environment = os.environ | endpoint | {"HF_HUB_OFFLINE": offline, "HF_HOME": str(cache)}
    command = [sys.executable, "-c", code, ID, REVISION]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr.splitlines()[-1]


def test_the_names_of_weights_come_without_the_weights(hub, download, tmp_path):
    assert look_up(hub, tmp_path / "new") == "['weights']"
    assert [ranged for name, ranged in hub.sent if name == "model.safetensors" and ranged is None] == []
    assert "cannot be reached" in look_up(hub, tmp_path / "new", offline="1")
    download()
    assert look_up(hub, tmp_path / "cache", offline="1") == "['weights']"


@pytest.mark.parametrize("converted", [True, False])
def test_an_open_conversion_is_named_where_there_are_pickles_alone(hub, tmp_path, converted):
    del hub.files["model.safetensors"]
    hub.converted = converted
    found = look_up(hub, tmp_path)
    assert "pickle weights are never loaded" in found and (f"{ID}@{CONVERTED}" in found) == converted


def test_only_config_tokenizer_and_safetensors_come(download, tmp_path):
    folder = download()
    assert sorted(path.name for path in folder.iterdir()) == WANTED
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert len(json.loads((tmp_path / "lock.json").read_text())) == len(WANTED)


def test_a_sentence_encoder_comes_with_its_pooling_which_the_configuration_must_name(download, hub):
    """As a local folder with the same files: what stands for a sentence is never the first token unasked."""
    modules = [("models.Transformer", ""), ("models.Pooling", "1_Pooling"), ("models.Normalize", "2_Normalize")]
    listed = [{"type": f"sentence_transformers.{kind}", "path": path} for kind, path in modules]
    hub.files["modules.json"] = json.dumps(listed).encode()
    hub.files["1_Pooling/config.json"] = json.dumps({"pooling_mode_mean_tokens": True}).encode()
    hub.files["config.json"] = json.dumps({"model_type": "bert", "architectures": ["BertModel"]}).encode()
    with pytest.raises(BiasflowError, match=r"its\.key.*mean"):
        download(pooling="cls")
    folder = download(pooling="mean")
    came = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert came == sorted([*WANTED, "modules.json", "1_Pooling/config.json"])
    assert own_pooling(folder) == "mean"


@pytest.mark.parametrize("part", [("models.Dense", "2_Dense"), ("models.Pooling", "elsewhere")])
def test_what_makes_a_sentences_vector_comes_where_the_configuration_says_that_the_library_makes_it(
    download, hub, part
):
    parts = [("models.Transformer", ""), part]
    hub.files["2_Dense/config.json"] = b"{}"
    hub.files["2_Dense/model.safetensors"] = FILES["model.safetensors"]
    listed = [{"type": f"sentence_transformers.{kind}", "path": path} for kind, path in parts]
    hub.files["modules.json"] = json.dumps(listed).encode()
    hub.files["config.json"] = json.dumps({"model_type": "bert", "architectures": ["BertModel"]}).encode()
    with pytest.raises(BiasflowError, match=r"its\.key.*write \"sentence\""):
        download(pooling="cls")
    assert (download(pooling="sentence") / "2_Dense/model.safetensors").is_file()


def test_a_complete_cache_serves_offline(download, hub):
    download()
    hub.files.clear()
    assert sorted(path.name for path in download(offline=True).iterdir()) == WANTED


def test_an_incomplete_cache_is_not_used_offline(download, tmp_path):
    download()
    shard = next((tmp_path / "cache").glob("hub/*/snapshots/*/model.safetensors"))
    shard.unlink()
    for path in (tmp_path / "encoder").iterdir():
        path.unlink()
    (tmp_path / "encoder").rmdir()
    with pytest.raises(BiasflowError, match=ID):
        download(offline=True)


@pytest.mark.parametrize(
    ("id", "revision", "named"),
    [(ID, "b" * 40, "b" * 40), ("owner/none", REVISION, "owner/none"), ("a b", REVISION, "a b")],
)
def test_an_unknown_revision_or_id_is_named(download, id, revision, named):
    with pytest.raises(BiasflowError, match=named) as caught:
        download(id, revision)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("lacks", "named"),
    [("model.safetensors", "safetensors"), ("config.json", "config.json"), ("vocab.txt", "tokenizer")],
)
def test_a_repository_that_lacks_a_part_is_named(download, hub, lacks, named):
    del hub.files[lacks]
    with pytest.raises(BiasflowError, match=f"{ID}.*{named}"):
        download()


def test_all_shards_must_be_there(download, hub):
    del hub.files["model.safetensors"]
    hub.files["model-00001-of-00002.safetensors"] = FILES["model.safetensors"]
    weights = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    hub.files["model.safetensors.index.json"] = json.dumps({"weight_map": weights}).encode()
    with pytest.raises(BiasflowError, match="model-00002-of-00002"):
        download()


def test_weights_that_the_catalogue_knows_are_verified(download):
    digest = hashlib.sha256(FILES["model.safetensors"]).hexdigest()
    with pytest.raises(BiasflowError, match=f"{'0' * 64}.*{digest}"):
        download(known={"model.safetensors": "0" * 64})
    assert download(known={"model.safetensors": digest}).is_dir()


PAGE = b"<!DOCTYPE html><html><body>Log in</body></html>"


@pytest.mark.parametrize(
    ("name", "body"),
    [(name, PAGE) for name in ("vocab.txt", "model.safetensors", "model.safetensors.index.json")]
    + [
        ("vocab.txt", b""),
        ("config.json", b'{"model_type": "be'),
        ("model.safetensors", FILES["model.safetensors"][:-1]),
    ],
)
def test_what_is_no_such_file_is_not_recorded(download, hub, tmp_path, name, body):
    hub.files[name] = body
    with pytest.raises(BiasflowError, match=f"{ID}: {name}: ") as caught:
        download()
    assert "\n" not in str(caught.value) and not (tmp_path / "lock.json").exists()


def test_large_files_have_the_sha256_that_the_hub_states(download, hub, tmp_path):
    digest = hashlib.sha256(FILES["model.safetensors"]).hexdigest()
    hub.etags["model.safetensors"] = "1" * 64
    with pytest.raises(BiasflowError, match=f"model.safetensors: .*{'1' * 64}.*{digest}"):
        download()
    assert not (tmp_path / "lock.json").exists()
    hub.etags["model.safetensors"] = digest
    shutil.rmtree(tmp_path / "cache")
    assert download().is_dir()


def test_a_hub_that_answers_with_pages_is_not_recorded(download, hub, tmp_path):
    hub.page = PAGE
    with pytest.raises(BiasflowError, match=ID) as caught:
        download()
    assert "\n" not in str(caught.value) and not (tmp_path / "lock.json").exists()


@pytest.mark.parametrize(
    ("card", "base"),
    [
        ("---\nbase_model: owner/bert\n---\n# Mine", "owner/bert"),
        ("---\nbase_model: [owner/bert]\n---\n", "owner/bert"),
        ("---\nbase_model: [one, two]\n---\n", ""),
        ("---\nlicense: mit\n---\n", ""),
        ("---\n: [\n---\n", ""),
        ("# base_model: no", ""),
        (None, ""),
    ],
)
def test_the_base_of_a_model_is_what_its_card_says(tmp_path, card, base):
    if card is not None:
        (tmp_path / "README.md").write_text(card)
    assert base_of_card(tmp_path) == base
