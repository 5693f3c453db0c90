"""The package for other people's programs: what importing it costs, the lines of docs/library.md, and a wheel that
works where nothing else of the project is."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest
import torch
from hatchling.build import build_editable
from transformers import BertConfig, BertModel

import biasflow
from tests.unit.conftest import SIZES, save_random
from tests.unit.fake_tokenizer import word_tokenizer

ROOT = Path(__file__).parents[2]
CODE = re.search(r"```python\n(.*?)```", (ROOT / "docs/library.md").read_text(encoding="utf-8"), re.DOTALL)[1]
USE = """
import biasflow, json, torch, numpy as np
from biasflow.corpora.catalogue import read_catalogue
from biasflow.papers.make import read_printed
from biasflow.plan.configuration import load_schema
from biasflow.planted.world import load_world
from biasflow.text.scrub import scrub
X = np.random.default_rng(0).normal(size=(40, 6)); z = np.arange(40) % 2
erased = biasflow.fit("mean_projection", X, z).apply(torch.tensor(X, dtype=torch.float32)).numpy()
print(json.dumps({
    "from": biasflow.__file__,
    "swapped": biasflow.swap_gender("She lost her keys."),
    "left": float(np.abs(erased[z == 1].mean(0) - erased[z == 0].mean(0)).max()),
    "files": len(read_catalogue().files), "keys": len(load_schema()["properties"]), "world": bool(load_world()),
}))
"""


def said(code: str, **options) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_it_loads_nothing_heavy():
    loaded = said("import sys, biasflow; print('\\n'.join(sys.modules))").split()
    assert not {"torch", "pandas", "numpy", "transformers", "yaml"} & set(loaded)


def test_its_names_are_listed():
    assert {"fit", "edit", "places", "swap_gender"} <= set(dir(biasflow))


@pytest.mark.parametrize("name", ["leace", "mean-projection"])
@pytest.mark.parametrize(
    "given",
    [
        lambda X: X.bfloat16(),
        lambda X: X.half(),
        lambda X: X.clone().requires_grad_(),
        lambda X: [row.bfloat16() for row in X],
        lambda X: X.numpy(),
        lambda X: pd.DataFrame(X.numpy()),
    ],
    ids=["bf16", "fp16", "requires grad", "rows", "numpy", "pandas"],
)
def test_vectors_of_any_type_are_fitted_to(name, given):
    X, z = torch.randn(60, 4, generator=torch.Generator().manual_seed(0)).bfloat16().float(), torch.arange(60) % 2
    eraser, plain = biasflow.fit(name, given(X), z), biasflow.fit(name, X, z.numpy())
    torch.testing.assert_close(eraser.apply(X), plain.apply(X), atol=1e-3, rtol=1e-2)


def test_the_lines_of_the_documentation_run(tmp_path, capsys):
    words = sorted(
        {word.strip(".,\"'()[]").lower() for word in re.findall(r"[A-Za-z.]+", CODE)}
        | {"he", "his", "father", "man", "."}
    )
    tokenizer = word_tokenizer(words)
    save_random(tmp_path, lambda: BertModel(BertConfig(**SIZES | {"vocab_size": len(tokenizer)})), tokenizer)
    code, replaced = re.subn(r'^ENCODER = ".*?"', f"ENCODER = {str(tmp_path)!r}", CODE, flags=re.MULTILINE)
    assert replaced == 1
    exec(compile(code, "docs/library.md", "exec"), {})
    before, after = map(float, capsys.readouterr().out.split())
    assert before != after


def test_places_are_those_at_which_it_can_edit(tmp_path):
    model = BertModel(BertConfig(**SIZES)).eval()
    names = biasflow.places(model)
    assert names[:5] == [
        f"layer[0]{part}" for part in (".attention.query", ".attention.key", ".attention.value", "", ".cls")
    ]
    assert len(names) == 3 * 5 + 1 and names[-1] == "pooled"
    ids = torch.arange(5, 12)[None]
    plain = model(ids).pooler_output
    for name in names:
        width = SIZES["hidden_size"] // (SIZES["num_attention_heads"] if "attention" in name else 1)
        X = torch.randn(40, *([SIZES["num_attention_heads"]] if "attention" in name else []), width)
        eraser = biasflow.fit("mean_projection", X, torch.arange(40) % 2)
        with biasflow.edit(model, {name: eraser}) as (report,):
            assert not torch.equal(model(ids).pooler_output, plain) or name == "pooled"
        assert report.name == name and report.calls == 1
    assert torch.equal(model(ids).pooler_output, plain)


def test_a_wheel_in_an_empty_folder_has_all_that_it_reads(tmp_path):
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [*build, "--wheel-dir", tmp_path, ROOT], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("biasflow-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert all(name.startswith("biasflow") for name in archive.namelist())
        archive.extractall(tmp_path / "packages")
    (tmp_path / "empty").mkdir()
    found = json.loads(said(USE, cwd=tmp_path / "empty", env=environment | {"PYTHONPATH": str(tmp_path / "packages")}))
    assert found["from"].startswith(str(tmp_path / "packages"))
    assert found["swapped"] == "He lost his keys." and found["left"] < 1e-5
    assert found["files"] > 50 and found["keys"] > 5 and found["world"]


def test_an_editable_install_shows_python_the_package_alone(tmp_path, monkeypatch):
    """With the folder scripts on the path, the scripts of one checkout would be found in the place of another's."""
    monkeypatch.chdir(ROOT)
    with zipfile.ZipFile(tmp_path / build_editable(str(tmp_path))) as wheel:
        content = {name.rpartition("/")[2]: wheel.read(name).decode() for name in wheel.namelist()}
    assert "map_module('biasflow'" in content["_editable_impl_biasflow.py"]
    assert content["_editable_impl_biasflow.pth"].strip() == "import _editable_impl_biasflow"
    assert "biasflow = biasflow.cli:main" in content["entry_points.txt"]
