"""Where encoders come from, and what of a local one lies on disk."""

import numpy as np
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.encoders.configured import Encoder
from biasflow.encoders.families import HEADS
from biasflow.papers import derived
from biasflow.plan.cells import plan
from biasflow.plan.configuration import resolve
from biasflow.plan.facts import gather
from biasflow.plan.setup import Setup
from tests.unit.plan.configs import SCHEMA, changed, folder_of, setup_of

FILES = ("config.json", "model.safetensors", "tokenizer_config.json", "vocab.txt")


def layers(kind, number=4):
    names = [f"bert.encoder.layer.{layer}.output.dense.weight" for layer in range(number)]
    return {name: np.ones((2, 2), kind) for name in names} | {"bert.embeddings.position_ids": np.arange(4)}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "models" / "own"
    folder.parent.mkdir()
    folder_of(folder, weights=layers(np.float32))
    for name in ("README.md", "pytorch_model.bin"):
        (folder / name).touch()
    (tmp_path / "data").mkdir()
    return folder


def local(path: str, mirror=None, **keys) -> dict:
    config = changed(("encoders.real", {"source": "local", "path": path, **keys}), ("mirror", mirror))
    return resolve(config, SCHEMA)


def test_the_files_of_a_local_encoder(folder):
    files = Encoder("own", {"source": "local"}, folder=folder).local_files
    assert files == [f"{folder}/{name}" for name in FILES]


@pytest.mark.parametrize(
    ("path", "mirror", "named"), [("{mirror}/x", None, "mirror"), ("/nowhere/x", None, "/nowhere/x")]
)
def test_a_missing_folder_is_an_error_or_a_reason(path, mirror, named):
    with pytest.raises(BiasflowError, match=rf"'encoders\.real\.path'.*{named}"):
        gather(local(path, mirror))
    reason = gather(local(path, mirror, optional=True)).missing["real"]
    assert named in reason and "encoders.real.path" in reason


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda folder: folder_of(folder, weights=layers(np.int8)), "model.safetensors.*of type I8"),
        (lambda folder: folder_of(folder, weights=layers(np.float16, 5)), r"layer\.4\..*4 layers.*num_hidden_layers"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"no"), "weights cannot be read"),
        (lambda folder: folder_of(folder, auto_map={}), r"config\.json.*auto_map"),
        (lambda folder: folder_of(folder, tokenizer={"auto_map": {}}), "tokenizer_config.*auto_map"),
    ],
)
def test_what_a_folder_says_wrongly_is_known_before_the_first_job(folder, damage, named):
    damage(folder)
    with pytest.raises(BiasflowError, match=rf"'encoders\.real\.path': .*{named}"):
        gather(local(str(folder)))


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_damaged_configuration_of_an_encoder_is_one_line(folder, content):
    (folder / "config.json").write_text(content)
    with pytest.raises(BiasflowError, match=r"'encoders\.real\.path'.*config\.json.*JSON"):
        gather(local(str(folder)))


@pytest.mark.parametrize("heads", [[], ["masked_lm"], ["next_sentence"], HEADS])
@pytest.mark.parametrize("named", [["BertForPreTraining"], ["BertModel"], None])
def test_the_heads_of_a_local_encoder_are_those_of_its_weights_whatever_its_class(folder, heads, named):
    config = local(folder_of(folder, *heads, architectures=named))
    encoder = Setup(config, gather(config)).encoders["real"]
    assert [head for head in HEADS if encoder.has_head(head)] == list(heads)


def test_a_continued_encoder_is_like_the_one_that_it_goes_back_to():
    more = {"source": "continued", "from": "more"}
    config = resolve(changed(("encoders.more", more | {"from": "own"}), ("encoders.most", more)), SCHEMA)
    most, own, real = (setup_of(config).encoders[name] for name in ("most", "own", "real"))
    assert most.origin == own.origin == own
    assert most.is_planted and not real.is_planted
    assert most.depth == own.depth == 4 == real.depth
    assert most.has_head("masked_lm") and not most.has_head("next_sentence")


def test_an_encoder_without_heads_gets_those_that_are_asked_for():
    more = ("encoders.more", {"source": "continued", "from": "real"})
    both = ("encoders.both", {"source": "continued", "from": "real", "next_sentence": True, "head_steps": 5})
    later = ("encoders.later", {"source": "continued", "from": "both", "recipe": "cda"})
    config = resolve(changed(more, both, later), SCHEMA)
    bare = setup_of(config, heads=[]).encoders
    full = setup_of(config).encoders
    assert bare["more"].has_head("masked_lm") and not bare["more"].has_head("next_sentence")
    assert bare["both"].has_head("next_sentence") and not bare["later"].has_head("next_sentence")
    new = [bare[name].new_heads for name in ("real", "more", "both", "later")]
    assert new == [[], ["masked_lm"], ["masked_lm", "next_sentence"], ["masked_lm"]]
    assert full["more"].new_heads == full["both"].new_heads == []


ENDS = {"without documents": ("one\ntwo\n" * 9, 1), "of single sentences": ("one\n\n" * 9, 0), "empty": ("\n", 0)}


@pytest.mark.parametrize("text", [*ENDS, None])
def test_a_text_without_documents_gives_no_next_sentence_head(folder, tmp_path, text):
    """The encoder is trained without that head, and what needs it is a cell with the reason."""
    written, found = ENDS[text] if text else ("one\ntwo\n\n" * 4, 4)
    (tmp_path / "text.txt").write_text(written)
    more = {"source": "continued", "from": "real", "next_sentence": True, "text": str(tmp_path / "text.txt")}
    about = {"encoders.real": {"source": "local", "path": str(folder)}, "encoders.more": more}
    about["ask.inside"] = {"encoders": ["more"], "metrics": ["strength", "occtmp"]}
    config = resolve(changed(*about.items()), SCHEMA)
    setup = Setup(config, gather(config))
    reasons = {cell.metric: cell.reason for cell in plan(setup).cells}
    assert reasons["occtmp"] == "" and setup.encoders["more"].about["next_sentence"] == (text is None)
    assert setup.encoders["more"].new_heads == ["masked_lm", "next_sentence"][: 1 + (text is None)]
    if text is None:
        assert reasons["strength"] == ""
        return
    assert reasons["strength"].startswith(f"encoders.more.text: {tmp_path / 'text.txt'} has {found} documents of two")
    assert "need 4" in reasons["strength"] and "an empty line between documents" in reasons["strength"]


def test_one_encoder_per_bias_and_seed():
    planted = {"encoder": {"corpus": "planted", "steps": 3}, "bias": [0.0, 0.5], "seeds": [1, 2]}
    encoders = derived.derived_encoders({"papers": {"planted": planted}})
    assert list(encoders) == [f"planted-bias{bias}-seed{seed}" for bias in ("0", "0.5") for seed in (1, 2)]
    assert encoders["planted-bias0.5-seed2"] == {
        "corpus": "planted", "steps": 3, "source": "pretrain", "bias": 0.5, "seed": 2,
    }  # fmt: skip
    assert derived.derived_encoders({"papers": {}}) == {}


def test_a_task_for_each_bias_that_encoders_are_trained_on():
    paper = {
        "encoder": {"corpus": "planted"},
        "bias": [0.0, 0.5],
        "seeds": [1],
        "task_bias": [0.0, 0.5],
        "tasks": {"who": {"kind": "coreference", "planted": {"train": 7}}},
    }
    config = resolve(changed(("papers.planted", paper)), SCHEMA)
    tasks = {name: about["planted"] for name, about in config["tasks"].items() if name.startswith("planted-")}
    assert {name: (about["bias"], about["train"]) for name, about in tasks.items()} == {
        "planted-who-bias0": (0.0, 7), "planted-who-bias0.5": (0.5, 7),
    }  # fmt: skip
    trained = plan(setup_of(config)).trained
    assert set(trained) == {
        (f"planted-bias{bias}-seed1", f"planted-who-bias{other}/plain/seed1")
        for bias in ("0", "0.5")
        for other in ("0", "0.5")
    }
    assert derived.derived_tasks({"papers": {}}) == {}
