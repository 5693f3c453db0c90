"""Encoders trained further: by which recipe, beside which control, and what is refused."""

from collections import Counter

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    BertConfig,
    DebertaV2Config,
    DistilBertConfig,
    RobertaConfig,
    Trainer,
    set_seed,
)

from biasflow.base.errors import BiasflowError
from biasflow.encoders.described import table_row
from biasflow.encoders.examples import blocks_of, mask_tokens
from biasflow.encoders.load import load_encoder, load_with_new_heads
from biasflow.encoders.taps import set_dropout
from biasflow.training.continue_ import continue_encoder
from biasflow.training.heads import Examples
from biasflow.training.loop import Loop, Watch
from tests.unit.conftest import DISTILBERT, SIZES, save_random
from tests.unit.fake_tokenizer import bos_tokenizer, word_tokenizer
from tests.unit.training.test_finetune import WORDS, save_source

SENTENCES = [" ".join(WORDS[(i * k) % len(WORDS)] for k in range(1, 8)) for i in range(60)]


@pytest.fixture
def source(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(SENTENCES) + "\n")
    return save_source(tmp_path / "source")


def run(source, name="mlm", **options):
    parent = source.parent
    facts = continue_encoder(source, parent / name, parent / "text.txt", **{"max_length": 12} | options)
    return facts, load_file(parent / name / "model.safetensors")


def test_one_pass_over_the_blocks_of_the_text_changes_every_layer(source, monkeypatch):
    seen = []
    make = Trainer.__init__
    monkeypatch.setattr(Trainer, "__init__", lambda self, **options: (seen.append(options), make(self, **options))[1])
    facts, weights = run(source)
    assert facts == {"blocks": 42, "steps": 11}  # 420 pieces, 10 of them in a block; 4 blocks in a batch
    (options,) = seen
    assert (options["args"].learning_rate, options["args"].max_steps, options["args"].seed) == (5e-5, 11, 0)
    assert len(options["train_dataset"]) == 42
    before = load_encoder(source, head="masked_lm")[0].state_dict()
    assert all(not torch.equal(weights[name], before[name]) for name in weights if "layer" in name)
    model, tokenizer = load_encoder(source.parent / "mlm", head="masked_lm")
    assert tokenizer.get_vocab() == word_tokenizer(WORDS).get_vocab() and not model.training
    assert {path.name for path in source.parent.iterdir()} == {"source", "text.txt", "mlm"}


def swapped_file(source, words):
    """The text with `words` in place of "red"."""
    path = source.parent / "swapped.txt"
    path.write_text((source.parent / "text.txt").read_text().replace("red", words))
    return path


@pytest.mark.parametrize("words", ["blue", "blue blue blue"])  # as long as the text, and longer
def test_text_and_swapped_text_are_trained_on_in_the_steps_of_the_control(source, words, monkeypatch):
    seen = {}

    def blocks_in(recipe, **options):
        make = Trainer.__init__
        with monkeypatch.context() as patched:
            patched.setattr(
                Trainer, "__init__", lambda self, **o: (seen.update({recipe: o["data_collator"]}), make(self, **o))[1]
            )
            return run(source, recipe, recipe=recipe, seed=1, **options)  # so small a batch may have no masked token

    swapped, doubled = blocks_in("cda", swapped=swapped_file(source, words)), blocks_in("doubled")
    assert swapped[0]["steps"] == doubled[0]["steps"] == 21  # of 4 blocks, of 2 x 42
    assert doubled[0]["blocks"] == 84 and (swapped[0]["blocks"] > 84) == (words != "blue")
    ids = {name: [tuple(row) for row in found.arrays(slice(None))["input_ids"]] for name, found in seen.items()}
    assert ids["doubled"][:42] == ids["doubled"][42:] == ids["cda"][:42] != ids["cda"][42:84]
    red = load_encoder(source, head="masked_lm")[1].convert_tokens_to_ids("red")
    assert any(red in row for row in ids["cda"][:42]) and not any(red in row for row in ids["cda"][42:])
    assert any(not torch.equal(swapped[1][name], doubled[1][name]) for name in swapped[1])


@pytest.mark.parametrize(
    "config",
    [BertConfig(**SIZES), RobertaConfig(**SIZES), DistilBertConfig(**DISTILBERT), DebertaV2Config(**SIZES)],
    ids=lambda config: config.model_type,
)
def test_rates_of_dropout_hold_in_attention_and_elsewhere_and_the_configuration_stays(config):
    before, model = config.to_dict(), AutoModelForMaskedLM.from_config(config).train()
    batch = {"input_ids": torch.randint(5, 20, (2, 9), generator=torch.Generator().manual_seed(0))}

    def varies(**rates):
        set_dropout(model, **rates)
        return not torch.equal(model(**batch).logits, model(**batch).logits)

    assert not varies(attention=0.0, hidden=0.0)
    assert varies(attention=0.5, hidden=0.0) and varies(attention=0.0, hidden=0.5)
    assert {name: model.config.to_dict()[name] for name in before if "dropout" in name} == {
        name: rate for name, rate in before.items() if "dropout" in name
    }


def test_what_is_refused_leaves_nothing(source):
    (source.parent / "text.txt").write_text("red blue\n")
    with pytest.raises(BiasflowError, match="2 tokens"):
        run(source)
    assert not (source.parent / "mlm").exists()


def test_a_tokenizer_that_puts_three_tokens_around_a_text_is_refused():
    tokenizer = bos_tokenizer(SENTENCES, adds="<s> $A </s> </s>")
    with pytest.raises(BiasflowError, match="3 special tokens"):
        blocks_of(tokenizer, " ".join(SENTENCES), max_length=12)


@pytest.fixture
def work(source, monkeypatch):
    """The checkpoints of a training that was killed."""

    def killed(self):
        (source.parent / "work" / "checkpoint-1").mkdir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Loop, "run", killed)
        run(source, work=source.parent / "work")
    return source.parent / "work"


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json"])
def test_checkpoints_of_an_encoder_that_was_changed_are_refused(source, file, work):
    path = source / file
    path.write_text(path.read_text() + " ")
    with pytest.raises(BiasflowError, match=rf"another encoder\.{file}"):
        run(source, work=work)


@pytest.mark.parametrize(
    ("name", "value"),
    {
        **{"recipe": "planted", "dose": 0.5, "placebo": True, "examples": 7, "steps": 3, "head_steps": 2, "seed": 1},
        **{"learning_rate": 1e-3, "next_sentence": True, "max_length": 9},
    }.items(),
)
def test_checkpoints_of_another_training_are_refused(source, name, value, work):
    with pytest.raises(BiasflowError, match=f"made with another {name} "):
        run(source, work=work, **{name: value})


def headless(folder, family="bert"):
    """An encoder without a language-model head, whose text can be learnt: every sentence repeats one word."""
    kinds = {"bert": BertConfig, "roberta": RobertaConfig, "deberta-v2": DebertaV2Config}
    config = DistilBertConfig(**DISTILBERT) if family == "distilbert" else kinds[family](**SIZES)
    save_random(folder, lambda: AutoModel.from_config(config), word_tokenizer(WORDS))
    documents = ["\n".join(" ".join([WORDS[(i + k) % len(WORDS)]] * 6) for k in range(6)) for i in range(60)]
    (folder.parent / "text.txt").write_text("\n\n".join(documents) + "\n")
    return folder


STEPS = {"head_steps": 20, "steps": 30, "learning_rate": 1e-3}


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "deberta-v2"])
def test_an_encoder_without_a_head_gets_one_that_learns(family, tmp_path):
    source = headless(tmp_path / "source", family)
    facts, _ = run(source, **STEPS)
    assert facts["new_heads"] == ["masked_lm"] and (facts["head_steps"], facts["steps"]) == (20, 50)
    losses = {int(step): value["masked_lm"] for step, value in facts["held_out_loss"].items()}
    assert min(losses) == 0 and 20 in losses and max(losses) == 50
    assert losses[0] > losses[20] > losses[50] and losses[50] < 0.9 * losses[0]
    model, _ = load_encoder(tmp_path / "mlm", head="masked_lm")  # which refuses a head that was not saved
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    found = table_row(tmp_path / "mlm")
    assert (found["masked_lm_head"], found["next_sentence_head"]) == ("ours", "no")
    assert (found["head_loss_before"], found["head_loss_after"]) == (losses[0], losses[50])


def test_a_new_head_begins_with_the_weights_of_its_seed(tmp_path):
    source = headless(tmp_path / "source")
    _, weights = run(source, head_steps=0, steps=1, learning_rate=0.0, seed=4)
    set_seed(4)
    begun = load_with_new_heads(source, head="masked_lm")[0].state_dict()
    assert all(torch.equal(value, begun[name]) for name, value in weights.items())


def test_the_held_out_loss_is_that_of_the_saved_encoder_on_a_text_it_never_saw(tmp_path, monkeypatch):
    source, seen, batch = headless(tmp_path / "source"), Counter(), Examples.__call__
    monkeypatch.setattr(Examples, "__call__", lambda self, numbers: (seen.update(numbers), batch(self, numbers))[1])
    facts, _ = run(source, seed=3, **STEPS)
    model, tokenizer = load_encoder(tmp_path / "mlm", head="masked_lm")
    blocks = torch.tensor(blocks_of(tokenizer, (tmp_path / "text.txt").read_text(), max_length=12))
    assert facts["examples"] + facts["held_out"] == len(blocks) == len(seen)  # every block is of use
    assert [number for number in seen if seen[number] == 1] == [*range(facts["examples"], len(blocks))]
    nats, n = 0.0, 0
    for start in range(facts["examples"], len(blocks), 16):
        numbers = range(start, min(start + 16, len(blocks)))
        rng = np.random.default_rng([3, *numbers])
        ids, labels = map(torch.tensor, mask_tokens(blocks[list(numbers)].numpy(), tokenizer, share=0.15, rng=rng))
        nats += model(input_ids=ids, labels=labels).loss.item() * (labels != -100).sum().item()
        n += (labels != -100).sum().item()
    assert facts["held_out_loss"]["50"]["masked_lm"] == pytest.approx(nats / n, rel=1e-4)


def test_the_head_is_trained_before_the_encoder(tmp_path, monkeypatch):
    source = headless(tmp_path / "source")
    before = load_encoder(source, head="none")[0].state_dict()
    at = {}

    def step(self, args, state, control, model, **kwargs):
        at[state.global_step] = {name: value.clone() for name, value in model.bert.state_dict().items()}

    monkeypatch.setattr(Watch, "on_step_begin", step, raising=False)
    run(source, **STEPS)
    assert all(torch.equal(at[20][name], before[name]) for name in at[20])
    changed = [name for name in at[20] if not torch.equal(at[21][name], before[name])]
    assert any("layer.0" in name for name in changed) and any("word_embeddings" in name for name in changed)


def test_a_next_sentence_head_is_trained_on_pairs_of_the_documents(tmp_path):
    source = headless(tmp_path / "source")
    facts, _ = run(source, **STEPS | {"next_sentence": True, "max_length": 24})
    assert facts["new_heads"] == ["masked_lm", "next_sentence"]
    assert all(set(losses) == {"masked_lm", "next_sentence"} for losses in facts["held_out_loss"].values())
    load_encoder(tmp_path / "mlm", head="next_sentence")
    assert table_row(tmp_path / "mlm")["next_sentence_head"] == "ours"
    again, _ = run(tmp_path / "mlm", "more", **STEPS | {"next_sentence": True, "max_length": 24})
    assert again["new_heads"] == [] and (again["head_steps"], again["steps"]) == (0, 30)  # nothing is new
    assert table_row(tmp_path / "more")["masked_lm_head"] == "ours"  # still not the publisher's
    with pytest.raises(BiasflowError, match="documents"):
        (tmp_path / "text.txt").write_text("red blue\n" * 50)
        run(source, "none", **STEPS | {"next_sentence": True})


def test_steps_and_rate_are_those_that_are_asked_for(source):
    facts, _ = run(source, steps=3)
    assert facts == {"blocks": 42, "steps": 3}
    slow, fast = (run(source, str(rate), steps=3, learning_rate=rate)[1] for rate in (1e-6, 1e-2))
    before = load_file(source / "model.safetensors")
    name = "bert.encoder.layer.0.output.dense.weight"
    assert (slow[name] - before[name]).abs().max() < 1e-4 < (fast[name] - before[name]).abs().max()


def test_a_length_beyond_the_encoders_is_that_of_the_encoder(source):
    assert run(source, max_length=None)[0] == run(source, max_length=10_000)[0] == {"blocks": 6, "steps": 2}
