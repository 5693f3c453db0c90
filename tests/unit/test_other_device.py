"""What is read, fitted and trained on another device than the processor is what it is there, and nothing is left behind
on one of the two: with `other_device` in the place of a GPU, and on a GPU where there is one."""

import dataclasses
import importlib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.encoders.examples import Sentences
from biasflow.encoders.first_token import first_token_vectors
from biasflow.encoders.load import load_encoder
from biasflow.methods.fitted import NONE, Active, Fitted
from biasflow.methods.states import PairStates, word_states
from biasflow.readouts.files import save_arrays
from biasflow.readouts.gender_shares import gender_places, gender_shares
from biasflow.readouts.linear_heads import train_heads as train_linear_heads
from biasflow.readouts.probe import Code, send
from biasflow.readouts.states import LAYERS, VECTORS, States
from biasflow.readouts.token_scores import token_scores
from biasflow.registry import ERASERS, module_of
from biasflow.tasks.coreference.heads import StoredVectors
from biasflow.tasks.coreference.loop import scorer_loss
from biasflow.tasks.coreference.model import Examples, TokenVectors, evaluate, new_scorer, predicted_clusters
from biasflow.tasks.coreference.scorer import Sizes
from biasflow.tasks.coreference.segments import Segmenter, SpecialTokens
from biasflow.training import pretrain
from tests.unit.conftest import HIDDEN, random_eraser
from tests.unit.encoders import test_batches
from tests.unit.encoders.test_batches import READINGS, SENTENCES, TOKENIZER, reader
from tests.unit.other_device import CPU, MixedDevicesError, gpu, other_device
from tests.unit.tasks.coreference import made_up
from tests.unit.training import test_pretrain

TOLERANCE = 1e-5
regression = test_batches.regression


def pairs(model):
    kept = pd.DataFrame({"masculine": ["he sang", "he left well", "he sang then and left"] * 4})
    kept = kept.assign(feminine=kept["masculine"].str.replace("he ", "she ", n=1), kept=True)
    return PairStates(model, TOKENIZER, 8, kept)


def occurrences(model):
    return word_states(model, TOKENIZER, SENTENCES, (["he"], ["she"]), batch_size=8, n=10, max_length=16)


def on_both(run, tolerance=TOLERANCE):
    """run(device) on every device returns arrays that are alike."""
    expected = run(CPU)
    for elsewhere in [other_device, *([gpu] if torch.cuda.is_available() else [])]:
        with elsewhere() as device:
            found = run(device)
        assert len(found) == len(expected) > 0
        for one, other in zip(expected, found, strict=True):
            assert np.abs(np.asarray(one, float) - np.asarray(other, float)).max() < tolerance


def test_the_stand_in_refuses_what_a_gpu_does():
    with other_device() as device:
        x = torch.arange(6.0).reshape(2, 3).to(device)
        assert x.device == (x + 1).device == torch.zeros(2, device=device).device == device
        assert torch.equal((x * 2 + x[torch.tensor([0])]).cpu(), torch.tensor([[0.0, 3, 6], [6, 9, 12]]))
        with pytest.raises(MixedDevicesError):
            x + torch.ones(2, 3)
        with pytest.raises(MixedDevicesError):
            torch.cat([x, torch.ones(2, 3)])
        with pytest.raises((RuntimeError, TypeError)):
            x.numpy()
        with pytest.raises((RuntimeError, TypeError)):
            np.asarray(x)


@pytest.mark.parametrize(("read", "name", "fitted"), READINGS)
def test_readings(regression, read, name, fitted):
    def run(device):
        one = reader(name, fitted())
        one.model.to(device)
        return [read(one)]

    on_both(run)


@pytest.mark.parametrize("states", [pairs, occurrences])
def test_what_erasers_are_fitted_to(states):
    edits = [("layer[0]", random_eraser(1, HIDDEN)), ("layer[0].attention.query", random_eraser(1, 8, (4,)))]

    def run(device):
        model = test_batches.model_of("bert-classification").to(device)
        found = states(model).at(["layer[0]", "layer[2]", "layer[1].attention.query"], edits)
        return [found[place].numpy() for place in sorted(found)]

    on_both(run)


def test_vectors_of_texts_shares_of_gender_and_scores_of_tokens():
    def run(device):
        one = reader("bert-classification")
        model = one.model.to(device)
        vectors, _ = first_token_vectors(model, TOKENIZER, SENTENCES, max_length=16)
        shares = gender_shares(occurrences(model), gender_places(model), one.methods[1].edits)
        return [vectors.numpy(), shares["share"], token_scores(one, SENTENCES[:3])["score"]]

    on_both(run)


def vectors_and_classes(n=60):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return (rng.standard_normal((n, HIDDEN)) + y[:, None]).astype(np.float32), y


def test_stored_vectors_under_methods_probes_and_heads(tmp_path):
    X, y = vectors_and_classes()
    save_arrays(tmp_path / "vectors", {VECTORS: X[None]}, [(NONE, "-")], **{LAYERS: 3})
    edits = ((f"layer[{layer}]", random_eraser(1, HIDDEN)) for layer in (2,))
    methods = Fitted({NONE: (Active(NONE),), "last": (Active("last", "-", tuple(edits)),)}, {})
    rows = np.arange(60)

    def run(device):
        stored = States(tmp_path / "vectors", methods)
        ((_, both),) = stored.in_groups(rows, device=device)
        code = Code((y == 1).astype(int), rows[:40], rows[40:50], rows[50:], seed=0)
        sent = send(both, [code], fractions=(0.2, 0.5, 1.0), epochs=3, device=device)
        split = {"rows": [rows[:40]] * 2, "valid_rows": [rows[40:]] * 2}
        found = train_linear_heads(both, y, n_classes=3, seeds=[0, 1], **split, epochs=2, device=device)
        return [sent.nats, sent.right, found.weight.numpy(), found.predict(both[1], device=device)]

    def known(device):
        return [np.nan_to_num(each) for each in run(device)]

    on_both(known)


@pytest.mark.parametrize("name", ERASERS)
def test_erasers_fitted_and_applied(name):
    X, y = vectors_and_classes()
    fit = importlib.import_module(module_of(ERASERS[name])).fit
    z, rows = torch.from_numpy(y > 0), torch.arange(60)
    paired = torch.stack([rows[~z], rows[z][:20]], dim=1)

    def run(device):
        h = torch.from_numpy(X).to(device)
        labels = {"y": torch.arange(60, device=device) % 4} if ERASERS[name].needs_labels else {}
        eraser = fit(h, z.to(device), pairs=paired.to(device), **labels)
        parts = [getattr(eraser, field.name) for field in dataclasses.fields(eraser)]
        assert {part.device for part in parts if part is not None} <= {device, CPU}
        return [eraser.apply(h).cpu(), eraser.to(CPU).apply(h).cpu()]

    on_both(run, tolerance=1e-4)


def test_gradients_of_pretraining_and_its_metrics(tmp_path):
    pretrain.pretrain(test_pretrain.DOCUMENTS, tmp_path, seed=0, **test_pretrain.TINY)
    sentences = [["he is a nurse ."] * 3] * 6

    def run(device):
        model, tokenizer = load_encoder(tmp_path, head="pretraining", device=device)
        model.tie_weights()
        read = Sentences.of(tokenizer, sentences)
        pairs = pretrain.draw_pairs(read, n=8, max_length=24, rng=np.random.default_rng(0))
        batch = pretrain.Collator(read, pairs, tokenizer, np.random.default_rng(0))(range(8))
        batch = {name: values.to(device) for name, values in batch.items()}
        here = SimpleNamespace(map=map)  # in this thread, the only one in which there is another device
        loss, found = pretrain.gradients(model, batch, parts=1, pool=here)
        metrics = pretrain._evaluate(model, read, tokenizer, 8, 24)
        return [loss.cpu(), *(each.cpu() for each in found), *metrics.values()]

    on_both(run)


@pytest.mark.filterwarnings("ignore:for .*meta parameter")  # the name of the stand-in
def test_the_loss_of_coreference_and_its_predictions(tmp_path):
    documents = made_up.documents(tmp_path, range(4), sentences=3)
    pieces = Segmenter(made_up.TOKENIZER, 12)(documents)
    sizes = Sizes(**made_up.SIZES_OF_SCORER | {"dropout": 0.0})
    encoder, _ = load_encoder(made_up.save_encoder(tmp_path / "source"), head="none")
    encode = TokenVectors(encoder, SpecialTokens.of(made_up.TOKENIZER))

    def run(device):
        encoder.to(device)
        with torch.no_grad():
            states = torch.cat([encode(each).cpu() for each in pieces])
        vectors, scorer = StoredVectors(states, device), new_scorer(HIDDEN, sizes, 0).to(device)
        loss = scorer_loss(scorer, vectors, pieces[0], 1.0)
        loss.backward()
        gradients = [weights.grad.cpu() for weights in scorer.parameters() if weights.grad is not None]
        f1, mentions_kept = evaluate(scorer.eval(), vectors, Examples(documents[2:], pieces[2:]))
        predicted = predicted_clusters(scorer, vectors, pieces)
        return [states, loss.detach().cpu(), *gradients, [f1, mentions_kept], [len(clusters) for clusters in predicted]]

    on_both(run, tolerance=1e-4)
