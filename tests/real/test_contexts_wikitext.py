"""Family pairs of the real analogy file, where they occur in WikiText-2, and DensRay on a small BERT of real text."""

import pytest
import torch
from transformers import BertTokenizer, RobertaTokenizer

from biasflow.corpora.analogies import read_family_pairs
from biasflow.encoders import taps
from biasflow.encoders.edit import edited
from biasflow.encoders.load import load_encoder
from biasflow.erasers import densray
from biasflow.methods.fitting import fit_block
from biasflow.methods.occurrences import find_occurrences
from biasflow.methods.states import WordStates
from biasflow.readouts.gender_shares import gender_shares
from tests.real.files import DATA, LITWIKI, needs, needs_data
from tests.real.wikitext import read_wikitext

pytestmark = needs_data
with_encoder = needs(LITWIKI)


@pytest.fixture(scope="module")
def pairs():
    return read_family_pairs(DATA / "analogies/questions-words.txt")


@pytest.fixture(scope="module")
def encoder():
    return load_encoder(LITWIKI, head="none")


@pytest.fixture(scope="module")
def sentences():
    return [sentence for article in read_wikitext(DATA / "wikitext-2/wiki.train.tokens") for sentence in article]


@pytest.fixture(scope="module")
def occurrences(encoder, sentences, pairs):
    return find_occurrences(encoder[1], sentences, *zip(*pairs, strict=True), n=2000, max_length=64)


@pytest.fixture(scope="module")
def states(encoder, sentences, occurrences):
    return WordStates(*encoder, 32, sentences, occurrences)


def test_the_family_section_has_23_pairs(pairs):
    assert len(pairs) == 23 and len({word for pair in pairs for word in pair}) == 46
    assert pairs[0] == ("boy", "girl") and pairs[-1] == ("uncle", "aunt")
    assert ("he", "she") in pairs and ("his", "her") in pairs and "him" not in dict(pairs)


@with_encoder
def test_pronouns_make_up_most_of_the_occurrences(occurrences, sentences):
    counts = occurrences.counts.set_index("word")
    found = counts.groupby("gender")["found"].sum()
    assert counts.groupby("gender")["used"].sum().to_dict() == {"masculine": 1000, "feminine": 1000}
    assert found["feminine"] == 1000 and found["masculine"] > 1500  # articles about men, mostly
    assert counts.loc[["he", "his"], "found"].sum() > 0.7 * found["masculine"]
    assert counts.loc[["she", "her"], "found"].sum() > 0.7 * found["feminine"]
    assert 1000 < occurrences.sentences_read < len(sentences)
    for row in occurrences.table.head(50).itertuples():
        assert row.word in sentences[row.sentence].lower()


@with_encoder
def test_a_cap_gives_nouns_their_part(encoder, sentences, pairs):
    options = {"n": 400, "cap_per_word": 60, "max_length": 64}
    capped = find_occurrences(encoder[1], sentences, *zip(*pairs, strict=True), **options)
    assert capped.counts["used"].max() <= 60
    assert (capped.counts["used"] > 0).sum() > 12


def test_two_vocabularies_find_the_same_words(sentences, pairs):
    tokenizers = BertTokenizer, RobertaTokenizer  # lower-cased word pieces; cased bytes, with spaces in the pieces
    folders = DATA / "tokenizers/bert-base-uncased", DATA / "tokenizers/roberta-base"
    found = []
    for tokenizer, folder in zip(tokenizers, folders, strict=True):
        loaded = tokenizer.from_pretrained(folder, local_files_only=True)
        some = find_occurrences(loaded, sentences, *zip(*pairs, strict=True), n=400, max_length=128)
        found.append(some.counts.set_index("word")["found"])
        assert "policewoman" in some.left_out and "aunt" not in some.left_out
    frequent = ["he", "his", "she", "her", "man", "king", "mother", "wife"]
    assert found[0][frequent].to_dict() == pytest.approx(found[1][frequent].to_dict(), rel=0.02)


@with_encoder
def test_densray_separates_the_genders_of_words_that_it_has_not_seen(states):
    X = states.at(["layer[3]"])["layer[3]"]
    z = states.labels(X)["z"]
    order = torch.randperm(len(X), generator=torch.Generator().manual_seed(0))
    seen, unseen = order[: len(X) // 2], order[len(X) // 2 :]
    eraser = densray.fit(X[seen], z[seen])
    scores = densray.scores(eraser, X)
    middle = (scores[seen][z[seen]].mean() + scores[seen][~z[seen]].mean()) / 2
    assert ((scores[unseen] > middle) == z[unseen]).float().mean() > 0.85


@with_encoder
def test_every_layer_holds_gender_and_shuffled_labels_do_not(encoder, states):
    layers = list(taps.resolve(encoder[0], "all"))
    assert len(gender_shares(states, ["layer[3].attention.value"])) == 4
    shares = gender_shares(states, layers).set_index("place")["share"]
    for place, X in states.at(layers).items():
        shuffled = X[torch.randperm(len(X), generator=torch.Generator().manual_seed(0))]
        assert shares[place] > 10 * densray.gender_share(shuffled, torch.arange(len(X)) >= len(X) // 2)


@with_encoder
@pytest.mark.parametrize("eraser", ["densray", "leace"])
@pytest.mark.parametrize("sequential", [False, True])
def test_erasing_layer_by_layer_takes_most_of_the_gender_out(encoder, sentences, pairs, eraser, sequential):
    model, tokenizer = encoder
    words = tuple(zip(*pairs, strict=True))
    module = f"biasflow.erasers.{eraser}"
    method = [{"eraser": eraser, "module": module, "places": "all", "sequential": sequential}]
    options = {"sentences": sentences, "words": words, "n": 300, "max_length": 64, "batch_size": 32}
    (active,) = fit_block(model, tokenizer, {"some": method}, **options).every_setting()
    some = find_occurrences(tokenizer, sentences, *words, n=300, max_length=64)
    states = WordStates(model, tokenizer, 32, sentences, some)
    with edited(model, active.edits) as reports:
        states.at(["layer[3]"])
    assert all(report.residual < 1e-4 for report in reports)
    before, after = (gender_shares(states, ["layer[3]"], edits)["share"][0] for edits in ((), active.edits))
    assert after < 0.5 * before
