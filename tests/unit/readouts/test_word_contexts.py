"""Words in context: which occurrences count, how they are sampled and cut, and whose token a vector is."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import BertTokenizer, PreTrainedTokenizerFast

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import write_parquet
from biasflow.readouts.word_contexts import find_word_contexts, lower_cases, read_word_contexts
from tests.unit.conftest import MODELS
from tests.unit.reference_ceat import word_vectors

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
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]
    return BertTokenizer(
        vocab={piece: i for i, piece in enumerate(vocabulary)}, do_lower_case=lower, model_max_length=64
    )


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


def found_in(contexts):
    assert all(text[start:end] for text, start, end in contexts.table[["text", "start", "end"]].itertuples(index=False))
    return [text[start:end] for text, start, end in contexts.table[["text", "start", "end"]].itertuples(index=False)]


def test_whole_words_only(tokenizer):
    contexts = find_word_contexts(tokenizer, [SENTENCES], ["he", "she", "nurse"])
    assert found_in(contexts) == ["he", "He", "he", "She", "she", "nurse"]
    assert contexts.table["word"].tolist() == ["he"] * 3 + ["she"] * 2 + ["nurse"]
    assert contexts.counts.values.tolist() == [["he", 3, 3], ["she", 2, 2], ["nurse", 1, 1]]
    assert (contexts.dropped, contexts.texts) == ((), 4)
    assert set(contexts.table["text"]) <= set(SENTENCES)


@pytest.mark.parametrize(("kind", "lower"), [("pieces", True), ("cased", False), ("bytes", False)])
def test_case_is_the_tokenizers(kind, lower):
    assert lower_cases(TOKENIZERS[kind]) == lower
    names = found_in(contexts_of(kind, ["Bill", "NASA"]))
    assert names == (["Bill", "bill", "Bill", "NASA", "nasa", "NASA"] if lower else ["Bill", "Bill", "NASA", "NASA"])
    assert found_in(contexts_of(kind, ["bill"])) == ["Bill", "bill", "Bill"]
    assert found_in(contexts_of(kind, ["nasa"])) == (["NASA", "nasa", "NASA"] if lower else ["nasa"])


def test_a_word_of_two_spellings_counts_for_both():
    assert contexts_of("pieces", ["Bill", "bill"]).counts["found"].tolist() == [3, 3]


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


@settings(max_examples=40, deadline=None)
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


def test_the_sample_is_uniform_over_the_parts_that_are_read():
    """100 occurrences in the first part, 50 in the second, 150 in the third: so many in 300 of the kept ones."""
    parts = [[f"he {LETTERS[number]}"] * count for number, count in enumerate((100, 50, 150))]
    kept = Counter()
    for seed in range(200):
        options = {"per_word": 12, "seed": seed, "missing": "drop"}
        found = find_word_contexts(TOKENIZERS["pieces"], parts, ["he", "queen"], **options)  # queen never ends it
        assert found.parts == 3 and len(set(found.table["text"])) <= 3
        kept.update(text[-1] for text in found.table["text"])
    assert sum(kept.values()) == 2400
    assert [kept[letter] / 2400 for letter in "abc"] == pytest.approx([1 / 3, 1 / 6, 1 / 2], abs=0.04)


def test_a_word_that_the_vocabulary_lacks_is_not_waited_for():
    parts = [["he is"], ["he was"]]
    assert find_word_contexts(TOKENIZERS["pieces"], parts, ["he", "ø"], per_word=1, missing="drop").parts == 1


@pytest.mark.parametrize(
    ("text", "max_length", "cut"),
    [("a b c (he), d e f", 9, " c (he), d"), ("a b c (he), d e f", 6, " (he),"), ("a b he", 9, "a b he")],
)
def test_texts_are_cut_between_words(text, max_length, cut):
    (row,) = contexts_of("cased", ["he"], [text], max_length=max_length).table.itertuples()
    assert row.text == cut and cut[row.start : row.end] == "he"


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "nurse", "  bcd", "(x.y)", "\n\n", "theatre,", "éèø", "..."]), max_size=40),
    st.lists(st.sampled_from(["a", "nurse", "  bcd", "(x.y)", "\n\n", "theatre,", "!"]), max_size=40),
    st.integers(8, 40),
    st.sampled_from(sorted(TOKENIZERS)),
)
def test_long_texts_are_cut_around_the_word(before, after, max_length, kind):
    text = " ".join([*before, "he", *after])
    (row,) = contexts_of(kind, ["he"], [text], max_length=max_length).table.itertuples()
    assert row.text[row.start : row.end] == "he"
    assert row.text in text
    tokens = len(TOKENIZERS[kind](row.text)["input_ids"])
    assert tokens <= max_length
    if len(TOKENIZERS[kind](text)["input_ids"]) <= max_length:
        assert row.text.strip() == text.strip()


def test_what_is_joined_to_the_word_goes_if_it_is_too_long():
    (row,) = contexts_of("pieces", ["he"], ["a " + "x/" * 30 + "he" + "/y" * 30], max_length=8).table.itertuples()
    assert (row.text, row.start, row.end) == ("he", 0, 2)
    with pytest.raises(BiasflowError, match="theatre"):
        contexts_of("pieces", ["theatre"], max_length=5)


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


def test_vectors_do_not_depend_on_batches():
    model, tokenizer = small_model("pieces"), TOKENIZERS["pieces"]
    contexts = contexts_of("pieces", ["she", "he", "nurse"]).table
    one, many = (word_vectors(model, tokenizer, contexts, batch_size=size) for size in (1, 8))
    assert {word: vectors.shape for word, vectors in one.items()} == {"she": (2, 32), "he": (3, 32), "nurse": (1, 32)}
    for word, vectors in one.items():
        assert vectors.dtype == np.float32
        assert many[word] == pytest.approx(vectors, abs=1e-5)


def test_contexts_are_saved_and_read(tmp_path):
    table = contexts_of("bytes", ["he", "she"]).table
    write_parquet(table, tmp_path / "contexts.parquet")
    pd.testing.assert_frame_equal(read_word_contexts(tmp_path / "contexts.parquet"), table, check_dtype=False)


@pytest.mark.parametrize(
    ("change", "named"),
    [({"end": [9]}, "row 0"), ({"start": [-1]}, "row 0"), ({"start": [2]}, "row 0"), ({"x": [1]}, "x")],
)
def test_a_file_that_holds_no_contexts_is_named(tmp_path, change, named):
    path = tmp_path / "contexts.parquet"
    write_parquet(pd.DataFrame({"word": ["he"], "text": ["he is"], "start": [0], "end": [2]} | change), path)
    with pytest.raises(BiasflowError, match=f"contexts.parquet.*{named}"):
        read_word_contexts(path)


def test_words_that_do_not_occur_are_errors_or_dropped():
    with pytest.raises(BiasflowError, match="queen"):
        contexts_of("pieces", ["he", "queen"])
    contexts = contexts_of("pieces", ["he", "queen", "naïve", "ø"], missing="drop")
    assert contexts.dropped == ("queen", "naïve", "ø")
    assert contexts.counts.values.tolist() == [["he", 3, 3], ["queen", 0, 0], ["naïve", 0, 0], ["ø", 0, 0]]
    assert set(contexts.table["word"]) == {"he"}
    with pytest.raises(BiasflowError, match="queen"):
        contexts_of("pieces", ["queen"], missing="drop")
    with pytest.raises(BiasflowError, match=r"ø .*vocabulary"):
        contexts_of("pieces", ["ø"], ["ø"])


@pytest.mark.parametrize(
    ("words", "options", "named"),
    [
        ([], {}, "no word"),
        (["flight attendant"], {}, "flight attendant"),
        ([""], {}, "''"),
        (["he", "she", "he"], {}, "'he'"),
        (["he"], {"per_word": 0}, "per_word"),
        (["he"], {"max_length": 2}, "max_length"),
        (["he"], {"missing": "ignore"}, "missing"),
        (["he"], {"texts": []}, "no text"),
    ],
)
def test_wrong_input_is_named(words, options, named):
    with pytest.raises(BiasflowError, match=named):
        contexts_of("pieces", words, **options)


def test_a_text_is_no_part_of_a_corpus():
    with pytest.raises(BiasflowError, match="one text"):
        find_word_contexts(TOKENIZERS["pieces"], SENTENCES, ["he"])


def test_contexts_that_do_not_fit_the_encoder_are_named():
    model, tokenizer = small_model("pieces"), TOKENIZERS["pieces"]
    table = contexts_of("pieces", ["he"]).table
    with pytest.raises(BiasflowError, match="no contexts"):
        word_vectors(model, tokenizer, table.head(0))
    with pytest.raises(BiasflowError, match=r"'he'.*64"):
        word_vectors(model, tokenizer, table.assign(text=table["text"] + " a" * 70))
    with pytest.raises(BiasflowError, match="'he'"):
        word_vectors(model, tokenizer, table.assign(text="øø øø", start=0, end=2))
    with pytest.raises(BiasflowError, match="'he'"):
        word_vectors(model, tokenizer, table.assign(text="   nurse", start=0, end=1))
