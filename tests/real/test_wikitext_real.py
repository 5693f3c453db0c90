"""WikiText-2: words in contexts, with real vocabularies; pre-training on long documents."""

import math
import re

import pytest
from transformers import BertTokenizer, RobertaTokenizer

from biasflow.encoders.load import load_encoder
from biasflow.readouts.word_contexts import find_word_contexts
from biasflow.training.pretrain import pretrain
from tests.real.files import DATA, needs_data, read_wikitext

pytestmark = needs_data


@pytest.fixture(scope="module")
def sentences():
    return [sentence for article in read_wikitext(DATA / "wikitext-2/wiki.train.tokens") for sentence in article]


@pytest.mark.parametrize(("kind", "name"), [(BertTokenizer, "bert-base-uncased"), (RobertaTokenizer, "roberta-base")])
def test_words_of_real_vocabularies_end_with_their_last_piece(sentences, kind, name):
    tokenizer = kind.from_pretrained(DATA / "tokenizers" / name, local_files_only=True)
    words = ["he", "Shakespeare", "NASA", "his"]
    found = find_word_contexts(tokenizer, [sentences], words, per_word=50, max_length=16)
    counts = found.counts.set_index("word")["found"]
    for word in words:
        flags = re.IGNORECASE if name == "bert-base-uncased" else 0
        pattern = re.compile(rf"(?<!\w)[{word[0]}{word[0].upper()}]{word[1:]}(?!\w)", flags)
        assert counts[word] == sum(len(pattern.findall(sentence)) for sentence in sentences)
    encoded = tokenizer(found.table["text"].tolist())
    assert max(map(len, encoded["input_ids"])) <= 16
    for i, row in enumerate(found.table.itertuples()):
        last = encoded.char_to_token(i, row.end - 1)
        piece = tokenizer.convert_ids_to_tokens(encoded["input_ids"][i][last]).lstrip("Ġ#")
        assert row.word.lower().endswith(piece.lower())


@pytest.fixture(scope="module")
def documents():
    return read_wikitext(DATA / "wikitext-2/wiki.valid.tokens")


def test_a_few_steps_beat_the_uniform_guess(documents, tmp_path):
    metrics = pretrain(
        documents, tmp_path, seed=0, vocab_size=2000, layers=2, hidden=64, heads=2, intermediate=128, max_length=64,
        steps=60, batch_size=16, threads=1,
    )  # fmt: skip
    assert metrics["masked_lm_loss"] < math.log(metrics["vocabulary"]) - 0.5
    model, tokenizer = load_encoder(tmp_path, head="pretraining")
    assert len(tokenizer) == metrics["vocabulary"] == model.config.vocab_size
