"""Words in context: which occurrences count, how they are sampled and cut, and whose token a vector is."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from biasflow.base.errors import BiasflowError
from biasflow.encoders.edit import edited
from biasflow.encoders.load import load_encoder
from biasflow.metrics.combined_effect import draw_effects, score
from biasflow.readouts import associations
from biasflow.readouts.cosines import drawn_cosines
from biasflow.readouts.word_contexts import find_word_contexts
from biasflow.results.scores import tidy
from biasflow.stimuli.ceat_sets import ceat_tests, sets_of_vectors
from tests.unit.conftest import MODELS, SIZES, save_random
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.reference_ceat import word_vectors
from tests.unit.synthetic_bios import METHODS, source

SENTENCES = [
    "The nurse said that he's tired, and (He) left.",
    "Bill paid the bill; NASA did not.",
    "She saw the theatre: he, she, and Bill.",
    "nasa is not NASA",
]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def word_pieces(lower=True):
    """Whole words for a few, letters and their continuations for all others."""
    letters = LETTERS if lower else LETTERS + LETTERS.upper()
    pieces = ["he", "she", "the", "nur", "##se", *letters, *(f"##{letter}" for letter in letters), *".,;:'()"]
    return word_tokenizer(pieces, cased=not lower)


def byte_pairs():
    """A byte-level BPE as RoBERTa's, learned from the sentences; letters are merged with the space before them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=290, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(SENTENCES * 20, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    names = ("bos_token", "pad_token", "eos_token", "unk_token", "mask_token")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=64,
        cls_token="<s>",
        sep_token="</s>",
        **dict(zip(names, special, strict=True)),
    )


TOKENIZERS = {"pieces": word_pieces(), "cased": word_pieces(lower=False), "bytes": byte_pairs()}


@pytest.fixture(params=TOKENIZERS)
def tokenizer(request):
    return TOKENIZERS[request.param]


def small_model(kind):
    torch.manual_seed(0)
    model = MODELS["roberta" if kind == "bytes" else "bert-pretraining"]().eval()
    model.resize_token_embeddings(len(TOKENIZERS[kind]))
    return model


def contexts_of(kind, words, texts=SENTENCES, **options):
    return find_word_contexts(TOKENIZERS[kind], [texts], words, **options)


def test_the_sample_is_uniform_over_the_occurrences():
    texts = ["he", "he she he", *(["he"] * 8)]  # 11 occurrences, two of them in one text
    kept = Counter()
    for seed in range(300):
        contexts = contexts_of(
            "pieces", ["he"], [f"{text} {LETTERS[i]}" for i, text in enumerate(texts)], per_word=4, seed=seed
        )
        assert contexts.counts.values.tolist() == [["he", 11, 4]]
        kept.update((row.text[-1], row.start) for row in contexts.table.itertuples())
    assert len(kept) == 11
    assert np.array(list(kept.values())) / 300 == pytest.approx(np.full(11, 4 / 11), abs=0.1)


def test_the_sample_of_a_word_depends_on_the_seed_and_not_on_other_words():
    texts = [f"he and she {letter}" for letter in LETTERS]
    alone = contexts_of("pieces", ["he"], texts, per_word=5, seed=1).table
    together = contexts_of("pieces", ["she", "he"], iter(texts), per_word=5, seed=1).table
    assert together.query("word == 'he'").reset_index(drop=True).equals(alone)
    assert together.query("word == 'she'")["text"].tolist() != alone["text"].tolist()
    assert not contexts_of("pieces", ["he"], texts, per_word=5, seed=2).table.equals(alone)


@given(
    st.lists(st.lists(st.sampled_from(["he", "she he", "she", "a he he b", "nurse"]), max_size=6), max_size=6),
    st.integers(1, 5),
    st.integers(0, 3),
)
def test_a_corpus_in_parts_is_read_as_far_as_words_lack(parts, per_word, seed):
    """Against the parts up to the one with which every word has enough, as one."""
    words, opened = ["he", "she"], []
    texts = [[f"{text} {LETTERS[number]}" for text in part] for number, part in enumerate([["he she"], *parts])]

    def corpus():
        for part in texts:
            opened.append(part)
            yield iter(part)

    found = find_word_contexts(TOKENIZERS["pieces"], corpus(), words, per_word=per_word, seed=seed)
    counts = np.cumsum([[" ".join(part).split().count(word) for word in words] for part in texts], axis=0)
    enough = np.flatnonzero((counts >= per_word).all(axis=1))
    read = enough[0] + 1 if len(enough) else len(texts)
    assert (found.parts, len(opened)) == (read, read)
    assert found.counts["found"].tolist() == counts[read - 1].tolist()
    whole = [text for part in texts[:read] for text in part]
    other = contexts_of("pieces", words, whole, per_word=per_word, seed=seed)
    pd.testing.assert_frame_equal(found.table, other.table)
    pd.testing.assert_frame_equal(found.counts, other.counts)
    assert found.texts == other.texts == len(whole)
    used = [min(per_word, count) for count in counts[read - 1]]
    assert found.counts["used"].tolist() == used


@given(
    st.lists(st.sampled_from(["a", "nurse", "  bcd", "(x.y)", "\n\n", "theatre,", "éèø", "..."]), max_size=40),
    st.lists(st.sampled_from(["a", "nurse", "  bcd", "(x.y)", "\n\n", "theatre,", "!"]), max_size=40),
    st.integers(8, 40),
    st.sampled_from(sorted(TOKENIZERS)),
)
@example([], ["a"] * 6 + ["nurse"], 8, "pieces")
def test_long_texts_are_cut_around_the_word(before, after, max_length, kind):
    text = " ".join([*before, "he", *after])
    (row,) = contexts_of(kind, ["he"], [text], max_length=max_length).table.itertuples()
    assert row.text[row.start : row.end] == "he"
    assert row.text in text
    tokens = len(TOKENIZERS[kind](row.text)["input_ids"])
    assert tokens <= max_length
    if len(TOKENIZERS[kind](text)["input_ids"]) <= max_length:
        assert row.text.strip() == text.strip()
    if kind != "bytes":  # whose tokens hold the blanks between words
        assert row.text.split() == widest_window(before, after, max_length, TOKENIZERS[kind])


def widest_window(before, after, max_length, tokenizer):
    """The most words around "he", as many on either side as there are, that fit: each number of them tried."""
    before, after = (" ".join(words).split() for words in (before, after))
    most = max(len(before), len(after))
    windows = [[*before[max(0, len(before) - n) :], "he", *after[:n]] for n in range(most + 1)]
    return max((words for words in windows if len(tokenizer(" ".join(words))["input_ids"]) <= max_length), key=len)


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_vectors_are_those_of_the_words_last_pieces(kind):
    """The pieces by hand: those between the token counts of the text up to the word and up to its end."""
    model, tokenizer = small_model(kind), TOKENIZERS[kind]
    contexts = contexts_of(kind, ["he", "nurse", "theatre", "Bill"]).table
    found = word_vectors(model, tokenizer, contexts, batch_size=2)
    assert list(found) == ["he", "nurse", "theatre", "Bill"]
    several = 0
    for word, rows in contexts.groupby("word"):
        for vector, row in zip(found[word], rows.itertuples(), strict=True):
            blank = row.start > 0 and row.text[row.start - 1] == " "
            first = 1 + len(tokenizer.tokenize(row.text[: row.start - blank]))
            last = 1 + len(tokenizer.tokenize(row.text[: row.end]))
            first += tokenizer.tokenize(row.text)[first - 1] == "Ġ"  # a blank that is a token of its own
            with torch.inference_mode():
                states = model.base_model(**tokenizer(row.text, return_tensors="pt")).last_hidden_state[0]
            assert vector == pytest.approx(states[last - 1].numpy(), abs=1e-5)
            several += last - first > 1
    assert several >= 2


@pytest.mark.parametrize(("texts", "named"), [([], "no text"), (["nobody"], "no occurrence in 1 texts of he")])
def test_a_corpus_without_a_text_or_a_word_is_refused(texts, named):
    with pytest.raises(BiasflowError, match=named):
        contexts_of("pieces", ["he"], texts)


SETS = {"X": ("rose", "lily"), "Y": ("ant", "wasp"), "A": ("love", "peace"), "B": ("hate", "war")}
WORDS = [word for words in SETS.values() for word in words]
FILLERS = ["the", "was", "here", "again"]


@pytest.fixture
def folder(tmp_path):
    save_random(tmp_path / "model", lambda: BertModel(BertConfig(**SIZES)), word_tokenizer([*WORDS, *FILLERS]))
    write_sets(tmp_path / "words.csv", SETS)
    contexts(tmp_path, WORDS)
    return tmp_path


def write_sets(path, sets):
    rows = [("flowers", role, f"set {role}", word) for role, words in sets.items() for word in words]
    pd.DataFrame(rows, columns=["test", "role", "set_name", "word"]).to_csv(path, index=False)


def contexts(folder, words):
    rng = np.random.default_rng(0)
    texts = [" ".join([*rng.choice(FILLERS, size=3), word, *rng.choice(FILLERS, size=2)]) for word in words * 5]
    _, tokenizer = load_encoder(folder / "model", head="none")
    found = find_word_contexts(tokenizer, [texts], WORDS, max_length=32)
    found.table.to_parquet(folder / "contexts.parquet")
    return found.table


def read(folder, methods=("none",), **options):
    files = {"words": folder / "words.csv", "contexts": folder / "contexts.parquet"}
    asked = source(folder, "flowers", methods=methods, **files)
    path = folder / "flowers.safetensors"
    associations.read(asked, path, **{"draws": 60, "seed": 1, "missing": "error"} | options)
    return score(path)


def effect(rows, variant="concepts-spread", method="none"):
    chosen = (rows["metric"] == "ceat_effect_size") & (rows["variant"] == variant) & (rows["method"] == method)
    return rows.loc[chosen, "value"].item()


def test_effects_under_every_method_are_those_of_the_edited_model(folder):
    rows = read(folder, ("none", "last", "deep", "both"))
    (test,) = ceat_tests(["flowers"], folder / "words.csv").values()
    table = pd.read_parquet(folder / "contexts.parquet")
    model, tokenizer = load_encoder(folder / "model", head="none")
    cases = {("none", "-"): ()} | {
        (method, setting): edits for method in ("last", "deep", "both") for setting, edits in METHODS[method].items()
    }
    for (method, setting), edits in cases.items():
        with edited(model, [edit for edit in edits if edit[0] != "pooled"]):
            sets = sets_of_vectors(test, word_vectors(model, tokenizer, table))
        cosines = drawn_cosines(**sets, draws=60, seed=1)
        own = rows[(rows["method"] == method) & (rows["setting"] == setting)]
        for order, drawn in draw_effects(cosines, tuple(map(len, sets.values()))).items():
            for variance in ("spread", "sampling"):
                expected = drawn.combined(variance)
                found = own[own["variant"] == f"{order}-{variance}"].set_index("metric")["value"]
                assert found["ceat_effect_size"] == pytest.approx(expected.effect_size, abs=1e-4)
                assert found["ceat_tau_squared"] == pytest.approx(expected.tau_squared, abs=1e-4)
                assert found["ceat_p_one_sided"] == pytest.approx(expected.p_one_sided, abs=1e-4)
                assert found["ceat_p_two_sided"] == pytest.approx(expected.p_two_sided, abs=1e-4)
    assert len({round(effect(rows, method=method), 3) for method in ("none", "last", "both")}) == 3
    assert (rows.loc[rows["metric"] != "ceat_words", "n"] == 60).all()
    assert len(tidy(rows, encoder="e")) == 5 * (4 * 4 + 1)


def test_a_users_test_is_scored_as_one_of_ours(folder):
    """Of the same words; how many of them are split stands beside."""
    ours = read(folder)
    table = pd.read_csv(folder / "words.csv").drop(columns="test")
    table.to_csv(folder / "own.csv", index=False)
    files = {"own": folder / "own.csv", "contexts": folder / "contexts.parquet"}
    path = folder / "own.safetensors"
    associations.read(source(folder, "flowers", **files), path, draws=60, seed=1, missing="error")
    own = score(path)
    split = own["metric"] == "ceat_split_words"
    assert own[~split].reset_index(drop=True).equals(ours)
    assert own.loc[split, ["value", "n"]].values.tolist() == [[0, len(WORDS)]]
