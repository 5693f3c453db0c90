"""No readout depends on which texts are read together, in which order, or on which side a tokenizer would pad."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.corpora.conll import read_conll
from biasflow.encoders.attention import returns_attention
from biasflow.encoders.first_token import first_token_vectors
from biasflow.encoders.load import load_encoder
from biasflow.methods.fitted import save
from biasflow.methods.occurrences import Occurrences
from biasflow.methods.states import WordStates
from biasflow.readouts import pair_tokens, professions
from biasflow.readouts.cloze import Cloze, made_of, read_at
from biasflow.readouts.files import load_arrays
from biasflow.readouts.fillings import BEST, _best_at
from biasflow.readouts.likelihoods import SIDES, Masking, pair_likelihoods, pseudo_log_likelihoods
from biasflow.readouts.losses import losses_at
from biasflow.readouts.masked_words import FILLINGS, piece_log_probabilities
from biasflow.readouts.next_sentence import next_sentence_probabilities
from biasflow.readouts.predictions import batches
from biasflow.readouts.source import Source
from biasflow.readouts.token_scores import token_scores
from biasflow.readouts.vectors import TokenPooling, embed
from biasflow.readouts.word_contexts import word_batches
from biasflow.registry import READOUTS
from biasflow.tasks.coreference.model import TokenVectors
from biasflow.tasks.coreference.segments import Segmenter, SpecialTokens, in_one_row
from biasflow.training.examples import Examples
from tests.unit.conftest import save_random
from tests.unit.encoders.families import HIDDEN, SIZES, model_of
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.readouts.conftest import projection, reader
from tests.unit.synthetic_conll import conll_text

WORDS = "the nurse thank ##ed farmer because she he was late . very kind".split()
# The second is padded when it is read with the first; the third is read by itself.
TEXTS = [
    "The nurse thanked the farmer because she was late .",
    "the nurse thanked the farmer because she was .",
    "the nurse thanked the very very kind farmer because she was late .",
]
TOLERANCE = 1e-5
# Of no listed family: both read padding as if it were text, the first in spite of its attention mask.
OTHERS = {"nystromformer": transformers.NystromformerConfig, "fnet": transformers.FNetConfig}
FAMILIES = ("bert", "roberta", "distilbert", "albert", *OTHERS)
FIXED = {"strategy": {"Fixed": 16}, "direction": "Left", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0}
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "padding_side": st.sampled_from(["left", "right"]),
        "truncation_side": st.sampled_from(["left", "right"]),
        "model_input_names": st.sampled_from([["input_ids", "token_type_ids"], ["token_type_ids", "attention_mask"]]),
        "split_special_tokens": st.booleans(),
        "tokenizer_class": st.just("PreTrainedTokenizerFast"),
    },
)


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request, tmp_path_factory):
    path, tokenizer = tmp_path_factory.mktemp("any") / request.param, word_tokenizer(WORDS)
    for head in ("MaskedLM", "SequenceClassification", *["NextSentencePrediction"] * (request.param == "bert")):
        save_random(path / head, lambda head=head: model(request.param, head), tokenizer)
    return path


def model(kind, head):
    if kind not in OTHERS:
        return model_of(kind, head)
    return getattr(transformers, f"AutoModelFor{head}").from_config(OTHERS[kind](**SIZES))


def reading(folder, head, size):
    """The model untouched and, where its layers are known, under an edit of one of them."""
    model, tokenizer = load_encoder(folder, head=head)
    edits = {} if model.config.model_type in OTHERS else {"edited": [("layer[1]", projection(2, dimension=HIDDEN))]}
    return reader(model, tokenizer, batch_size=size, none=(), **edits)


def of_texts(array, texts):
    """Numbers [methods, rows, ...], as many rows for each text, as [texts, numbers]."""
    array = np.asarray(array, dtype=float)
    return np.moveaxis(array.reshape(len(array), texts, -1), 0, 1).reshape(texts, -1)


def read(folder, order, size):
    """Readout -> what it reads of the texts in this order, [texts, numbers], so many texts at once."""
    texts, n = [TEXTS[number] for number in order], len(order)
    items = pd.DataFrame({"first": texts, "second": [text.replace(" she ", " he ") for text in texts]})
    items.index = [str(number) for number in order]
    with_head = reading(folder / "MaskedLM", "masked_lm", size)
    found = {name: function(with_head, items) for name, function in OF_A_HEAD.items()}
    alone = reading(folder / "MaskedLM", "none", size)
    found |= {name: function(alone, items) for name, function in OF_STATES.items()}
    if len(alone.axis) > 1:  # places within an encoder of no listed family are not known
        found["word_families"] = words_that_methods_are_fitted_to(alone, items)
        found["token_scores"] = scores_of_tokens(alone, items)
    classes = reading(folder / "SequenceClassification", "classification", size)
    found["predictions"] = sentence_vectors(classes, items)
    if (next_sentence := folder / "NextSentencePrediction").exists():
        pairs = reading(next_sentence, "next_sentence", size)
        tokens = pairs.tokenised(list(items["first"]), list(items["second"]))
        found["next_sentence"] = next_sentence_probabilities(pairs, tokens)
    path = folder / "documents.conll"
    path.write_text("".join(map(document, texts, items.index)))
    found["clusters"] = tokens_of_documents(alone, read_conll(path).documents)
    found["professions"] = vectors_of_professions(folder, alone.fitted, path)
    return {name: of_texts(array, n) for name, array in found.items()}


def document(text, name):
    """A sentence like WinoBias's, in which "she" is the nurse."""
    words = text.split()
    return conll_text(f"nw/{name}", [words], [[(0, 1), (words.index("she"),) * 2]])


def masked_words(reader, items):
    """A word, another one that is hidden with it, and every way to ask for its pieces."""
    rows = [
        {"text": text, "start": start, "end": start + len("thanked"), "filling": filling, "item": item}
        for item, text in items["first"].items()
        for start in [text.index("thanked")]
        for filling in FILLINGS
    ]
    words = pd.DataFrame(rows).assign(also_start=0, also_end=3).set_index("item")
    return piece_log_probabilities(reader, words)[1]


def losses(reader, items):
    """Blocks of one length, the second token and another one masked."""
    ids = np.array([encoded[:10] for encoded in reader.tokenizer(list(items["first"]))["input_ids"]])
    labels = np.full(ids.shape, -100)
    labels[:, [1, 7]] = ids[:, [1, 7]]
    ids[:, 1] = reader.tokenizer.mask_token_id
    return losses_at(reader, ids, labels)


def likelihoods(reader, items):
    """Of texts and of pairs, by each way of masking that the model can be read by."""
    maskings = [name for name in Masking.__args__ if name != "attended" or returns_attention(reader.model)]
    pairs = pair_likelihoods(reader, items, maskings)
    of_pairs = pairs[[f"log_p_{side}" for side in SIDES]].to_numpy().reshape(len(maskings), len(reader.axis), -1, 2)
    of_texts = [pseudo_log_likelihoods(reader, list(items["first"]), l2r=l2r)[0][..., None] for l2r in (False, True)]
    return np.concatenate([*of_pairs, *of_texts], axis=-1)


def tokens_of_pairs(reader, items):
    _, sentences = made_of(reader, items, SIDES, lambda _, *pair: [side["input_ids"] for side in pair])
    means = pair_tokens._means(reader, sentences).values()
    return np.concatenate([values.reshape(len(values), len(items), 2) for values in means], axis=-1)


def fillings(reader, items):
    mask = reader.tokenizer.mask_token
    ids = reader.tokenizer([text.replace("farmer", mask) for text in items["first"]])["input_ids"]
    clozes = [Cloze(tuple(one), (one.index(reader.tokenizer.mask_token_id),), (0,)) for one in ids]
    return read_at(reader, clozes, "blanks", _best_at, BEST)


def vectors(reader, items):
    texts, targets = list(items["first"]), ["thanked"] * len(items)
    poolings = embed(reader, texts, TokenPooling.__args__, targets).values()
    return np.concatenate(list(poolings), axis=-1)


def words_in_context(reader, items):
    texts = items["first"]
    contexts = pd.DataFrame({"text": texts, "word": "she", "start": [text.index("she") for text in texts]})
    contexts["end"] = contexts["start"] + len("she")
    parts = word_batches(reader.under_each, reader.model, reader.tokenizer, contexts, batch_size=reader.batch_size)
    rows, states = zip(*parts, strict=True)
    return np.concatenate(states, axis=1)[:, np.argsort(np.concatenate(rows))]


def words_that_methods_are_fitted_to(reader, items):
    table = pd.DataFrame({"sentence": range(len(items)), "position": 2, "gender": "f"})
    occurrences = Occurrences(table, pd.DataFrame(), (), len(items), 40)
    states = WordStates(reader.model, reader.tokenizer, reader.batch_size, list(items["first"]), occurrences)
    places = [f"layer[{number}]" for number in range(SIZES["num_hidden_layers"])]
    at = [states.at(places, active.edits) for active in reader.methods]
    return np.stack([np.concatenate([of_places[place] for place in places], axis=-1) for of_places in at])


def scores_of_tokens(reader, items):
    """Of the first nine pieces, since some texts have more."""
    scores = token_scores(reader, list(items["first"]))
    return np.array([[group["score"].head(9) for _, group in scores.groupby("sentence")]])


def first_tokens(reader, items):
    return first_token_vectors(reader.model, reader.tokenizer, list(items["first"]), max_length=40)[0][None]


def tokens_of_documents(reader, documents):
    """What a scorer of coreference reads of the first ten pieces of each document."""
    pieces = Segmenter(reader.tokenizer, 40)(documents)
    encode = TokenVectors(reader.model, SpecialTokens.of(reader.tokenizer))
    states = reader.under_each(encode, in_one_row(pieces))
    return np.stack([states[:, of_one.start : of_one.start + 10] for of_one in pieces], axis=1)


def vectors_of_professions(folder, fitted, documents):
    output, methods = folder / "professions.safetensors", folder / "methods.safetensors"
    save(fitted, methods)
    source = Source(folder / "MaskedLM", tuple(fitted.methods), "coref", {"pro": (documents,)}, methods)
    professions.read(source, output, word_prefix_space=True)
    return load_arrays(output).arrays["vectors"]


def sentence_vectors(reader, items):
    """What a classification layer reads, of pairs of texts."""
    texts = [list(items[side]) for side in SIDES]
    examples = Examples(lambda start, stop: tuple(column[start:stop] for column in texts), (len(items),), None)
    rows, parts = zip(*batches(reader.sentence_vectors, reader, examples), strict=True)
    return torch.cat(parts, dim=1).numpy()[:, np.argsort(np.concatenate(rows))]


OF_A_HEAD = {
    "masked_words": masked_words,
    "losses": losses,
    "likelihoods": likelihoods,
    "pair_tokens": tokens_of_pairs,
    "fillings": fillings,
}
OF_STATES = {
    "vectors": vectors,
    "associations": words_in_context,
    "first_token": first_tokens,
}
# Readouts that read nothing else than these do, or what the first token's have stored.
SAME = {
    "sentence_vectors": "vectors",
    "document_similarities": "vectors",
    "people_similarities": "vectors",
    "gender_shares": "word_families",
    "nli_heads": "predictions",
    "probes": "first_token",
    "mlp_probes": "first_token",
    "families": "first_token",
    "heads": "first_token",
}


@pytest.fixture(scope="module")
def alone(folder):
    one_by_one = [read(folder, [number], 64) for number in range(len(TEXTS))]
    return {name: np.concatenate([of_one[name] for of_one in one_by_one]) for name in one_by_one[0]}


@settings(max_examples=3)
@given(
    about=SETTINGS,
    padding=st.sampled_from([None, FIXED | {"pad_token": "[PAD]"}]),
    order=st.permutations(range(len(TEXTS))),
    size=st.sampled_from([3, 64]),
)
def test_a_text_is_read_as_if_it_were_alone(folder, alone, about, padding, order, size):
    other = folder.parent / "other"
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(folder, other)
    for name, keys in (("tokenizer_config.json", about), ("tokenizer.json", {"padding": padding})):
        for path in other.glob(f"*/{name}"):
            path.write_text(json.dumps(json.loads(path.read_text()) | keys))
    found = read(other, order, size)
    wrong = {name: np.abs(found[name] - values[list(order)]).max() for name, values in alone.items()}
    assert max(wrong.values()) < TOLERANCE, wrong
    constant = [name for name, values in alone.items() if values.std(axis=0).max() < 100 * TOLERANCE]
    assert not constant


def test_every_readout_is_among_them(folder, alone):
    if folder.name == "bert":
        of_models = {name for name, entry in READOUTS.items() if entry.module != entry.external}
        assert {*alone} | {*SAME} == of_models
