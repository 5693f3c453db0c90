"""The files of paper A: lists of occupations, GLUE, and OCCTMP and perplexity of a small BERT trained on real text."""

import math

import numpy as np
import pytest

from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.glue import SIZES, TASKS, read_glue
from biasflow.corpora.word_sets import read_chinese_professions, read_professions
from biasflow.encoders.load import load_encoder
from biasflow.metrics import perplexity
from biasflow.metrics.occtmp import occtmp
from biasflow.readouts.losses import masked_losses
from biasflow.readouts.masked_words import log_probabilities
from biasflow.readouts.reader import Reader
from biasflow.stimuli.densray_sets import PRONOUNS, occupation_sentences
from tests.real.files import DATA, LITWIKI, needs_data

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


@pytest.mark.parametrize(("task", "part"), [(task, part) for task in SIZES for part in SIZES[task]])
def test_glue_has_its_published_sizes(task, part):
    names = [f"glue-{task}-{part.replace('_', '-')}", f"glue-{task}-{part}-rest"]
    paths = [at_hand(name) for name in names if name in read_catalogue().files]
    if not paths[0].exists():
        pytest.skip(f"the mirror has no {paths[0].relative_to(DATA)}")
    data = read_glue(task, part, paths)
    assert len(data.examples) == data.published and data.dropped == 0
    assert set(data.examples.columns) == {*TASKS[task].texts, "label"}


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
