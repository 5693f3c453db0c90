"""The files of paper A: lists of occupations, GLUE, and OCCTMP and perplexity of a small BERT trained on real text."""

import math

import numpy as np
import pytest
from transformers import BertTokenizer

from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.documents import sample_sentences
from biasflow.corpora.glue import SIZES, TASKS, read_glue
from biasflow.corpora.professions import read_chinese_professions, read_professions
from biasflow.corpora.wikipedia import read_chinese_wikipedia
from biasflow.corpora.wikitext import running_text
from biasflow.encoders.examples import blocks_of
from biasflow.encoders.load import load_encoder
from biasflow.metrics import perplexity
from biasflow.metrics.occtmp import occtmp
from biasflow.metrics.pseudo_perplexity import pseudo_perplexity
from biasflow.readouts.likelihoods import pseudo_log_likelihoods
from biasflow.readouts.losses import masked_losses
from biasflow.readouts.masked_words import log_probabilities
from biasflow.readouts.reader import Reader
from biasflow.text.occupation_templates import PRONOUNS, occupation_sentences
from tests.real.files import DATA, LITWIKI, needs_data
from tests.real.wikitext import read_wikitext

pytestmark = needs_data


def at_hand(name):
    return DATA / read_catalogue().entry(name).mirror_path


@pytest.fixture(scope="module")
def professions():
    return read_professions(at_hand("professions"))


@pytest.fixture(scope="module")
def encoder():
    if not LITWIKI.is_dir():
        pytest.skip("no models/litwiki-bert beside the folder that BIASFLOW_DATA names")
    return Reader(*load_encoder(LITWIKI, head="masked_lm"), batch_size=8)


@pytest.fixture(scope="module")
def text():
    """The first 60,000 characters of WikiText-2's validation part, as they are."""
    with open(at_hand("wikitext-2-valid"), encoding="utf-8") as stream:
        return stream.read(60_000)


def test_320_english_occupations(professions):
    assert len(professions) == len(set(professions)) == 320
    assert professions[:2] == ["accountant", "acquaintance"] and "adjunct professor" in professions
    assert sum(name[0] in "aeiou" for name in professions) == sum(
        " is an " in sentence for sentence in occupation_sentences(professions, "article")
    )


def test_302_chinese_occupations():
    names = read_chinese_professions(at_hand("chinese-professions"))
    assert len(names) == len(set(names)) == 302 and names[0] == "会计"
    assert len(occupation_sentences(names, "chinese")) == 302


def test_what_the_chinese_articles_say_of_the_chinese_occupations():
    articles = read_chinese_wikipedia([at_hand("chinese-wikipedia"), at_hand("chinese-wikipedia-rest")])
    text = "".join(sentence for article in articles for sentence in article)
    assert (len(articles), text.count("他"), text.count("她")) == (1512, 2443, 363)
    names = read_chinese_professions(at_hand("chinese-professions"))
    assert [name for name in names if set(name) - set(text)] == ["挚友", "主厨", "歹徒", "焊接工", "摔跤手"]


@pytest.mark.parametrize(("task", "part"), [(task, part) for task in SIZES for part in SIZES[task]])
def test_glue_has_its_published_sizes(task, part):
    names = [f"glue-{task}-{part.replace('_', '-')}", f"glue-{task}-{part}-rest"]
    paths = [at_hand(name) for name in names if name in read_catalogue().files]
    if not paths[0].exists():
        pytest.skip(f"the mirror has no {paths[0].relative_to(DATA)}")
    data = read_glue(task, part, paths)
    assert len(data.examples) == data.published and data.dropped == 0
    assert set(data.examples.columns) == {*TASKS[task].texts, "label"}


@pytest.mark.parametrize(
    ("task", "label", "share"), [("cola", "acceptable", 0.69), ("sst2", "positive", 0.51), ("rte", "entailment", 0.53)]
)
def test_glue_labels_of_the_validation_parts(task, label, share):
    examples = read_glue(task, "validation", at_hand(f"glue-{task}-validation")).examples
    assert (examples["label"] == label).mean() == pytest.approx(share, abs=0.01)


def test_occtmp_of_a_real_encoder(encoder, professions):
    scores = {}
    for template in ("released", "article"):
        (log_p,) = log_probabilities(encoder, occupation_sentences(professions, template), PRONOUNS[template])
        scores[template] = occtmp(*log_p.T)
    released = scores["released"]
    assert released.n == 320
    assert 0 < released.diff < 5 and released.diff >= abs(released.signed_diff) and released.diff_variance > 0
    assert 0 < released.p_sum < 1 and released.p_he > released.p_she  # novels and Wikipedia write more of men
    assert released.diff != scores["article"].diff


def perplexities(encoder, text, folder, seeds):
    """By variant and mask seed."""
    masked_losses(encoder, text, seeds=seeds, max_length=64).to_parquet(folder / "losses.parquet")
    return perplexity.score(folder / "losses.parquet").pivot(index="readout_seed", columns="variant", values="value")


def test_perplexity_of_a_real_encoder(encoder, text, tmp_path):
    found = perplexities(encoder, text, tmp_path, seeds=(0, 1))
    assert math.exp(3.79) < found["-"].min()  # its loss on natural text at the end of its training ...
    assert found["-"].max() < len(encoder.tokenizer) / 4  # ... this one has <unk> and @-@ in it, which it never saw
    assert found["-"].std() < 0.3 * found["-"].mean()
    assert np.allclose(found["released"], found["-"], rtol=0.1)


def test_perplexity_runs_over_the_whole_test_part():
    tokenizer = BertTokenizer.from_pretrained(DATA / "tokenizers/bert-base-uncased", local_files_only=True)
    blocks = blocks_of(tokenizer, running_text(at_hand("wikitext-2-test")), max_length=512)
    assert blocks.shape == (586, 512)
    start = tokenizer.convert_ids_to_tokens(blocks[0, 1:8])
    assert start == ["=", "robert", "<", "un", "##k", ">", "="]


def test_perplexity_is_lower_on_natural_text_and_higher_where_words_are_shuffled(encoder, tmp_path):
    natural = " ".join(" ".join(article) for article in read_wikitext(at_hand("wikitext-2-valid"), whole=True)[:10])
    natural = natural[:30_000]
    shuffled = " ".join(np.random.default_rng(0).permutation(natural.split()))
    found = [perplexities(encoder, text, tmp_path, seeds=(0,)).loc[0, "-"] for text in (natural, shuffled)]
    assert math.exp(3.79) < found[0] < 400 and found[1] > 2 * found[0]


def test_pseudo_perplexity_of_a_real_encoder(encoder):
    sentences = [
        s for article in read_wikitext(at_hand("wikitext-2-valid"), whole=True) for s in article if len(s) < 150
    ]
    sample = sample_sentences(sentences, 20, seed=0)
    reversed_words = [" ".join(sentence.split()[::-1]) for sentence in sample]
    found = []
    for texts in (sample, reversed_words):
        (log_likelihoods,), tokens = pseudo_log_likelihoods(encoder, texts)
        found.append(pseudo_perplexity(log_likelihoods, tokens))
    assert 1 < found[0] < 300
    assert found[1] > 2 * found[0]
