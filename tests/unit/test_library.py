"""The package for other people's programs: what importing it costs, and the lines of docs/library.md."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hatchling.build import build_editable
from transformers import BertConfig, BertModel

import biasflow
from biasflow.base.errors import BiasflowError
from tests.unit.conftest import SIZES, save_random
from tests.unit.fake_tokenizer import word_tokenizer

ROOT = Path(__file__).parents[2]
CODE, GAPS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/library.md").read_text(encoding="utf-8"), re.DOTALL)


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


X = torch.randn(40, 8, generator=torch.Generator().manual_seed(1))
z = torch.arange(40) % 2
AS = {
    "numpy": lambda h: h.numpy(),
    "float64": lambda h: h.double().numpy(),
    "float16": lambda h: h.numpy().astype("float16"),
    "bfloat16": lambda h: h.bfloat16(),
    "lists": lambda h: h.tolist(),
    "rows": list,
    "rows of numpy": lambda h: list(h.numpy()),
    "pandas": lambda h: pd.DataFrame(h.numpy()),
    "several types": lambda h: pd.DataFrame(h.numpy()).astype(object),
    "backwards": lambda h: h.numpy()[::-1][::-1],
    "read-only": lambda h: np.broadcast_to(h.numpy(), (1, *h.shape))[0],
    "big-endian": lambda h: h.numpy().astype(">f4"),
    "requires grad": lambda h: h.clone().requires_grad_(),
}


FLOAT64 = ("float64", "lists", "several types")
FRAMES = ("pandas", "several types")
TYPES = dict.fromkeys(FLOAT64, torch.float64) | {"float16": torch.float16, "bfloat16": torch.bfloat16}


@pytest.mark.parametrize(
    ("name", "h"), [(name, X) for name in AS] + [(name, X.reshape(40, 2, 4)) for name in AS if name not in FRAMES]
)
def test_vectors_of_any_type_are_erased_as_a_tensor_is(name, h):
    eraser, given = biasflow.fit("leace", h, z), AS[name](h)
    erased, coordinates = eraser.apply(given), eraser.coordinates(given)
    assert erased.dtype == TYPES.get(name, torch.float32)
    torch.testing.assert_close(erased.float(), eraser.apply(h), atol=3e-2, rtol=0)
    torch.testing.assert_close(coordinates.float(), eraser.coordinates(h), atol=3e-2, rtol=1e-2)
    assert erased.requires_grad == (name == "requires grad")


def test_whole_numbers_are_erased_as_numbers_with_a_fraction_are():
    eraser, h = biasflow.fit("leace", X, z), (X * 9).round()
    for given in (h.long(), h.long().numpy(), h.long().tolist()):
        torch.testing.assert_close(eraser.apply(given).float(), eraser.apply(h))


WIDE, NO_ERASER = torch.cat([X, X], 1), {"layer[0]": "leace"}
NAN, MODEL = float("nan"), BertModel(BertConfig(**SIZES)).eval()
WRONG = {
    "X: texts": (lambda: biasflow.fit("leace", ["She left."] * 40, z), "leace: X .* is a list"),
    "X: None": (lambda: biasflow.fit("leace", None, z), "leace: X .* is None"),
    "X: rows of two lengths": (lambda: biasflow.fit("leace", [[1, 2], [3]] * 20, z), "leace: X .* is a list"),
    "X: tensors of two lengths": (lambda: biasflow.fit("leace", [X[0], X[0, :2]] * 20, z), "leace: X .* is a list"),
    "X: complex": (lambda: biasflow.fit("leace", X.to(torch.complex64), z), "leace: X .* is a Tensor"),
    "X: no columns": (lambda: biasflow.fit("leace", X[:, :0], z), r"leace: X .* is \(40, 0\)"),
    "z: text": (lambda: biasflow.fit("leace", X, ["F", "M"] * 20), "leace: z .*0 masculine, 1 feminine.* is a list"),
    "z: None": (lambda: biasflow.fit("leace", X, None), "leace: z .* is None"),
    "z: another length": (lambda: biasflow.fit("leace", X, z[:5]), r"leace: .* z .* \(5,\)"),
    "eraser": (lambda: biasflow.fit(biasflow, X, z), "fit: eraser is of type module"),
    "an option": (lambda: biasflow.fit("leace", X, z, shrink=True), "leace: .*'shrink'; did you mean 'shrinkage'"),
    "true or false": (lambda: biasflow.fit("leace", X, z, shrinkage="yes"), "leace: shrinkage is 'yes'"),
    "a whole number": (lambda: biasflow.fit("hard", X, z, components=1.5), "hard: components is 1.5"),
    "no number": (lambda: biasflow.fit("inlp", X, z, classifiers="9"), "inlp: classifiers is '9'"),
    "a finite number": (lambda: biasflow.fit("conceptor", X, z, aperture=None), "conceptor: aperture is None"),
    "two numbers": (lambda: biasflow.fit("densray", X, z, weights=(1, NAN)), r"densray: weights is \(1, nan\)"),
    "a name": (lambda: biasflow.fit("pca", X, z, pairs=[(0, 1)], center=3), "pca: center is 3"),
    "seed": (lambda: biasflow.fit("random", X, z, seed=-1), "random: seed is -1"),
    "pairs: names": (lambda: biasflow.fit("pca", X, z, pairs=[("a", "b")]), "pca: pairs .* is a list"),
    "pairs: booleans": (lambda: biasflow.fit("pca", X, z, pairs=[(False, True)]), "pca: pairs are"),
    "y: names": (lambda: biasflow.fit("splince", X, z, y=["nurse", "cook"] * 20), "splince: y .* is a list"),
    "apply: another width": (lambda: biasflow.fit("leace", X, z).apply(WIDE), r"h .* is \(40, 16\).*\[..., 8\]"),
    "apply: one number": (lambda: biasflow.fit("leace", X, z).apply(1.0), r"h .* is \(\)"),
    "apply: text": (lambda: biasflow.fit("leace", X, z).apply("She left."), "h .* is a str"),
    "coordinates": (lambda: biasflow.fit("leace", X, z).coordinates(WIDE.numpy()), r"h .* is \(40, 16\)"),
    "edit: no model": (lambda: biasflow.edit("bert-base-uncased", {}), "edit: model is of type str"),
    "edit: no mapping": (lambda: biasflow.edit(MODEL, ["leace"]), "edit: erasers is of type list"),
    "edit: no eraser": (lambda: biasflow.edit(MODEL, NO_ERASER), r"erasers has str at 'layer\[0\]'"),
    "places": (lambda: biasflow.places(torch.nn.Linear(2, 2)), "places: model is of type Linear"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_argument_is_one_line_that_names_it(call, message):
    with pytest.raises(BiasflowError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_an_eraser_of_another_width_names_its_place():
    eraser = biasflow.fit("leace", X[:, :3], z)
    message = rf"edit layer\[0\]: .* is \(1, 7, {SIZES['hidden_size']}\).*\[..., 3\]"
    with pytest.raises(BiasflowError, match=message), biasflow.edit(MODEL, {"layer[0]": eraser}):
        MODEL(torch.arange(5, 12)[None])


@pytest.mark.parametrize(("name", "options"), [("leace", {}), ("splince", {"y": torch.arange(40) // 2 % 3})])
def test_fewer_vectors_than_numbers_in_each_are_told(name, options, caplog):
    biasflow.fit(name, X, z, **options)
    assert not caplog.text
    biasflow.fit(name, torch.randn(40, 64, generator=torch.Generator().manual_seed(2)), z, **options)
    assert f"{name}: X has 40 rows of 64 numbers" in caplog.text
    caplog.clear()
    biasflow.fit("leace", torch.randn(40, 64), z, shrinkage=True)
    assert not caplog.text


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


def test_the_gaps_of_the_documentation_are_those_counted_by_hand(capsys):
    """Of either label men are right in all cases, women in half of them."""
    exec(compile(GAPS, "docs/library.md", "exec"), {})
    first, *_, scores = capsys.readouterr().out.splitlines()
    assert first == "[-0.5 -0.5]" and float(scores.split()[1]) == 1


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


def test_an_editable_install_shows_python_the_package_alone(tmp_path, monkeypatch):
    """With the folder scripts on the path, the scripts of one checkout would be found in the place of another's."""
    monkeypatch.chdir(ROOT)
    with zipfile.ZipFile(tmp_path / build_editable(str(tmp_path))) as wheel:
        content = {name.rpartition("/")[2]: wheel.read(name).decode() for name in wheel.namelist()}
    assert "map_module('biasflow'" in content["_editable_impl_biasflow.py"]
    assert content["_editable_impl_biasflow.pth"].strip() == "import _editable_impl_biasflow"
    assert "biasflow = biasflow.cli:main" in content["entry_points.txt"]
