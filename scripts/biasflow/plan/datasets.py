"""The datasets that each metric reads from a model: their names, their files, and the options for reading and scoring.

One function per kind of dataset, named in registry.METRICS: here, or in the plans of the tasks that it is a part of. A
dataset that the configuration leaves to us fits the encoder: embedded stimuli for an encoder of the embedded corpus,
real ones for any other."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from biasflow.base.files import sha256
from biasflow.base.paths import Paths, package_file
from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.disco import BLANK
from biasflow.corpora.seat import DENSRAY_TESTS
from biasflow.corpora.stereoset import AUTHORS_STIMULI
from biasflow.encoders.configured import GIVEN_AS, PLANTED, Encoder
from biasflow.encoders.places import SENTENCE
from biasflow.encoders.sentence_transformers import FIRST_TOKEN, POOLINGS
from biasflow.matrix import NA, Dataset, Files, of_pairs
from biasflow.plan.setup import kind_of
from biasflow.registry import EMBEDDING, METRICS, PACKAGE, TASKS, TOKENS
from biasflow.stimuli.densray_sets import CHINESE, OCCUPATIONS, PLANTED_OCCUPATIONS
from biasflow.tasks.kinds import Asked, TaskPlan

ANALOGIES = "google-analogies"
WIKITEXT, WHOLE_SENTENCES = "wikitext-2", "wikitext-2-whole-sentences"
CHINESE_TEXT = "chinese-wikipedia"
CHINESE_ARTICLES = (CHINESE_TEXT, f"{CHINESE_TEXT}-rest")  # files of the catalogue
BIOGRAPHIES = tuple(f"bias-in-bios-{part}" for part in ("train", "dev", "test"))
REAL_STIMULI = ("stereoset-authors",)
REAL_OCCUPATIONS = ("professions", "professions-article")
WORD_TESTS = tuple(DENSRAY_TESTS)
SENTENCES = "sent-"  # how the names of tests of sentences begin
SENTENCE_TESTS = ("sent-weat6", "sent-weat6b", "sent-weat7", "sent-weat7b", "sent-weat8", "sent-weat8b")
SENTENCES_OF_PAGE = 40
GEST = ("gest",)  # with the authors' corrections; the paper's own sentences are "gest-paper"
GREP_TOPICS = ("appearance", "career", "child-care", "cognitive-capabilities", "domestic-work", "physical-capabilities")
GREP_TOPICS += ("sex-relationship",)
CONTEXTS = ("n", "max_length", "batch_size")
CEAT, CEAT_WORDS = "ceat", package_file("data/ceat_words.csv")  # its own tests: the name of their contexts, their words
# Texts, in all the forms in which rules write them, and stimuli -> the files of the catalogue that they are made from.
TEXT_SOURCES = {
    **dict.fromkeys((WIKITEXT, WHOLE_SENTENCES), ("wikitext-2-train", ANALOGIES)),
    **dict.fromkeys((f"{WIKITEXT}-test", f"{WHOLE_SENTENCES}-test"), ("wikitext-2-test", ANALOGIES)),
    CHINESE_TEXT: CHINESE_ARTICLES,
}
FORMS_OF_TEXT = ("", ".sentences", ".swapped", ".sentences.swapped")
SWAPPED = "stereoset-swapped"  # by our own swapper
STIMULI_SOURCES = {SWAPPED: "stereoset-dev", **AUTHORS_STIMULI}
GENDER, ALL, BOTH = "gender", "all", "both"  # bias types of StereoSet, and both of its tests together
FACTORS = {"character": 4, "personality": 5}
TRAITS = {f"{kind}-{sign}": factors for kind, factors in FACTORS.items() for sign in ("positive", "negative")}
TRAIT_LISTS = ("words", "traits", "templates")  # of the user's
# Metric -> of the user's items: how their names begin in tables, and role, module and options that list them.
OWN_ITEMS = {
    "crows_pairs": ("pairs-", "pairs", f"{PACKAGE}.corpora.crows_pairs", {"own": True}),
    "intrasentence": ("blanks-", "stereoset", f"{PACKAGE}.corpora.stereoset", {"own": True}),
    "intersentence": (
        "sentences-",
        "stereoset",
        f"{PACKAGE}.corpora.stereoset",
        {"own": True, "part": "intersentence"},
    ),
}
OWN_PAIRS = "own"  # gendered words of the user's, or words of two other groups


def text_file(
    paths: Paths, encoder: Encoder, text: str | None, *, held_out: bool = False, running: bool = False
) -> str:
    """The file of a text by its name in the configuration (null: what fits): for training and fitting, or held out.

    It has a sentence a line or, where it is read as one `running` string, WikiText-2 as released."""
    text = text_name(encoder, text)
    if text == PLANTED:
        return paths.text(encoder.origin.name + (".held-out" if held_out else ""))
    if text in (WIKITEXT, WHOLE_SENTENCES):
        by_sentence = text == WIKITEXT and not running
        return paths.text(text + ("-test" if held_out else "") + (".sentences" if by_sentence else ""))
    if text in BIOGRAPHIES:
        return paths.corpus(text)
    return paths.text(text) if text == CHINESE_TEXT else text


def sources_of_data(paths: Paths) -> dict[str, tuple[str, ...]]:
    """Path of a text or of stimuli -> the names of the external files that the run makes it from."""
    texts = {paths.text(text + form): names for text, names in TEXT_SOURCES.items() for form in FORMS_OF_TEXT}
    return texts | {paths.data(f"stimuli/{name}.csv"): (file,) for name, file in STIMULI_SOURCES.items()}


def text_name(encoder: Encoder, text: str | None) -> str:
    """The name of a text, or of the one that fits the encoder where none is named."""
    return text or (PLANTED if encoder.is_planted else WIKITEXT)


def stimuli(asked: Asked) -> list[Dataset]:
    """The gender-swapped triples that Strength and Distance are read on."""
    options = asked.options["strength"]
    reading, scoring = {"batch_size": options["batch_size"]}, {"tops": options["tops"]}
    names = [*asked.chosen(options["stimuli"], (PLANTED,), REAL_STIMULI), *_own_tests(asked, "strength")]
    files = {name: {"stimuli": (asked.paths.data(f"stimuli/{name}.csv"),)} for name in names}
    return [Dataset(name, files[name], reading, scoring) for name in names]


def occupations(asked: Asked) -> list[Dataset]:
    """The lists of occupations for OCCTMP; a list of the user's has its own template and pronouns."""
    options = asked.options["occtmp"]
    names = list(asked.chosen(options["sets"], (PLANTED,), REAL_OCCUPATIONS))
    names += [CHINESE] if asked.encoder.name in options["chinese"] else []
    files = {name: asked.paths.corpus(file) for name in names if (file := OCCUPATIONS[name][0])}
    datasets = [Dataset(name, {"occupations": (files[name],)} if name in files else {}) for name in names]
    for name, about in options["own"].items():
        if asked.encoder.name in about["encoders"]:
            keys = {key: about[key] for key in ("templates", "pronouns")}
            datasets.append(Dataset(name, {"occupations": (about["file"],)}, keys))
    return datasets


def planted_occupations(asked: Asked) -> list[Dataset]:
    """The occupations of the embedded corpus, for the encoders that were trained on it."""
    return [Dataset(PLANTED_OCCUPATIONS)] if asked.encoder.is_planted else []


def word_tests(asked: Asked) -> list[Dataset]:
    """WEAT's tests of words, and those of the user's."""
    names = asked.chosen(asked.options["weat"]["tests"], (PLANTED,), WORD_TESTS)
    datasets = [_test(asked, name, "weat") for name in names]
    for name, about in _own_tests(asked, "weat").items():
        options = {"templates": about["templates"], "of_words": True}
        datasets.append(Dataset(name, {"own": (about["file"],)}, options, {"kind": "weat"}))
    if asked.options["weat"]["pooling"] != SENTENCE:
        return datasets
    pooled = _pooled(asked, own=True)
    return [pooled.of(one, word_pooling=pooled.pooling) for one in datasets]


def _own_tests(asked: Asked, metric: str) -> dict[str, Mapping]:
    """The tests of the user's that an encoder is measured on, by name; a paper has none of them."""
    if asked.pooling is None:
        return {}
    tests = asked.options[metric]["own"].items()
    return {name: test for name, test in tests if test["encoders"] is None or asked.encoder.name in test["encoders"]}


class Pooled(NamedTuple):
    """What stands for a sentence (`readouts.vectors.Pooling`), the states of the last layer that it depends on ("": as
    the metric says), and why no sentence has such a vector."""

    pooling: str
    reads_states: str = ""
    absent: str = ""

    def of(self, dataset: Dataset, **options: object) -> Dataset:
        """The dataset, read with such vectors, and with these options beside its own."""
        about = {"reads_states": self.reads_states, "absent": self.absent}
        return replace(dataset, options={**dataset.options, **options}, **about)


def _pooled(asked: Asked, *, own: bool = False) -> Pooled:
    """What stands for a sentence, as the configuration says, or the encoder's folder. own: the vector that a search
    takes, of a sentence encoder always the one that sentence-transformers makes, and of others what is named alone."""
    named, encoder = asked.options["seat"]["pooling"], asked.encoder
    has_own = encoder.is_sentence_encoder and asked.model.task == NA
    pooling = SENTENCE if own and has_own and asked.pooling else named or asked.pooling or FIRST_TOKEN
    if pooling == SENTENCE and has_own:
        return Pooled(SENTENCE, EMBEDDING)
    if own and named is None and not encoder.is_sentence_encoder:
        remedy = "for the mean of its tokens write metrics: {seat: {pooling: mean}}"
        return Pooled(FIRST_TOKEN, absent=f"encoders.{encoder.name} is no sentence encoder: {remedy}")
    if pooling != SENTENCE and (named is not None or pooling in POOLINGS):
        return Pooled(pooling, TOKENS if pooling == "mean" else "")
    reason = (
        f"metrics.seat.pooling: encoders.{encoder.name} pools the tokens of a sentence by {pooling}, and SEAT knows "
        f"{' and '.join(POOLINGS)} where sentence-transformers does not make the vector (of an encoder as published, "
        "with modules.json); to take one of these, write metrics: {seat: {pooling: mean}} in the configuration"
    )
    return Pooled(FIRST_TOKEN, absent=reason)


def sentence_tests(asked: Asked) -> list[Dataset]:
    """The sentence tests of SEAT, read with the encoder's pooling, which the dataset's name shows unless it is the
    first token, and with the others of POOLINGS (for a paper with the first alone)."""
    names, pooled = asked.chosen(asked.options["seat"]["tests"], (), SENTENCE_TESTS), _pooled(asked)
    pooling = pooled.pooling
    others = [name for name in POOLINGS if pooling not in (name, SENTENCE) and asked.pooling]
    suffix = f"-{pooling}" if asked.pooling and pooling != FIRST_TOKEN else ""
    tests = [_test(asked, name, "seat") for name in names]
    for name, about in _own_tests(asked, "seat").items():
        options, files = {"templates": about["templates"]}, {"own": (about["file"],)}
        tests.append(Dataset(f"{SENTENCES}{name}", files, options, {"kind": "seat"}))
    return [replace(pooled.of(test, sentence_pooling=pooling, others=others), suffix=suffix) for test in tests]


def _test(asked: Asked, name: str, kind: str) -> Dataset:
    files = {} if name == PLANTED else {"test": (asked.paths.corpus(DENSRAY_TESTS.get(name, name)),)}
    return Dataset(name, files, {}, {"kind": kind})


def gest_sentences(asked: Asked) -> list[Dataset]:
    """The sentences of GEST, which differ in one word, or embedded ones."""
    datasets = [
        _in_planted_language("gest", maskings=["differing"])
        if name == PLANTED
        else _listed(asked, name, "gest", {"sentences": name}, maskings=["differing"])
        for name in asked.chosen(asked.options["gest"]["sentences"], (PLANTED,), GEST)
    ]
    return _with_l2r(asked, "gest", datasets, maskings=["differing-l2r"])


def _with_l2r(asked: Asked, metric: str, datasets: list[Dataset], **options: object) -> list[Dataset]:
    """The datasets, and each a second time with these options if the metric's key `l2r` asks for likelihoods in which a
    token hides the rest of its word. Somebody's scores have none."""
    if not asked.options[metric]["l2r"] or asked.encoder.is_external:
        return datasets
    return datasets + [replace(one, options={**one.options, **options}, suffix="-l2r") for one in datasets]


def crows_pairs(asked: Asked) -> list[Dataset]:
    """The pairs of CrowS-Pairs, a dataset for each type of bias, or embedded ones."""
    return _with_l2r(asked, "crows_pairs", _crows_pairs(asked), maskings=["shared-l2r"])


def _crows_pairs(asked: Asked) -> list[Dataset]:
    files = {"pairs": "crows-pairs"}
    types = asked.chosen(asked.options["crows_pairs"]["bias_types"], (PLANTED,), (GENDER,))
    datasets = [
        _in_planted_language("crows_pairs")
        if name == PLANTED
        else _listed(asked, f"crows-pairs-{name}", "crows_pairs", files, of={"bias_type": name})
        for name in types
    ]
    return datasets + _own_items(asked, "crows_pairs")


def _own_items(asked: Asked, metric: str) -> list[Dataset]:
    """The user's pairs or triples for a metric."""
    start, role, module, of = OWN_ITEMS[metric]
    named = {f"{start}{name}": {role: (about["file"],)} for name, about in _own_tests(asked, metric).items()}
    return [_listed_by(name, module, files, of=of) for name, files in named.items()]


def stereotype_pairs(asked: Asked) -> list[Dataset]:
    """The pairs of CrowS-Pairs, of the same types as for the metric crows_pairs, and StereoSet's sentences as pairs."""
    pairs = _crows_pairs(asked)
    names = asked.chosen(None, (), ("stereoset-pairs",))
    return pairs + [_listed(asked, name, "stereoset_pairs", {"stereoset": "stereoset-dev"}) for name in names]


def stereoset_blanks(asked: Asked) -> list[Dataset]:
    """StereoSet's sentences with a blank, a dataset for each type of bias, or embedded ones."""
    types = asked.chosen(asked.options["intrasentence"]["bias_types"], (PLANTED,), (GENDER,))
    name = "stereoset-blanks"
    blanks = [_in_planted_language(name) if kind == PLANTED else _stereoset(asked, name, kind, {}) for kind in types]
    own = [] if asked.encoder.is_external else _own_items(asked, "intrasentence")
    return blanks + [replace(one, scoring={"own": True}) for one in own]


def stereoset_sentences(asked: Asked) -> list[Dataset]:
    """StereoSet's contexts with sentences; `both`, with its blanks, has no readout of ours, only a user's scores."""
    types = asked.chosen(asked.options["intersentence"]["bias_types"], (), (GENDER,))
    options = {"batch_size": asked.options["strength"]["batch_size"]}
    datasets = [
        _stereoset(asked, "stereoset-sentences", name, {"part": "intersentence" if name != BOTH else BOTH}, **options)
        for name in types
        if name != BOTH or asked.encoder.is_external
    ]
    own = [] if asked.encoder.is_external else _own_items(asked, "intersentence")
    return datasets + [replace(one, options={**one.options, **options}) for one in own]


def _stereoset(asked: Asked, name: str, bias_type: str, of: Mapping[str, str], **options: object) -> Dataset:
    of = of | ({} if bias_type == GENDER else {"bias_type": ALL if bias_type == BOTH else bias_type})
    name += "" if bias_type == GENDER else f"-{bias_type}"
    return _listed(asked, name, "stereoset", {"stereoset": "stereoset-dev"}, of=of, **options)


def bec_pro(asked: Asked) -> list[Dataset]:
    """BEC-Pro's sentences, a dataset for each language, or embedded ones."""
    languages = asked.options["bec_pro"]["languages"].get(asked.encoder.name)
    if languages is None and asked.encoder.is_planted:
        return [_in_planted_language("bec_pro")]
    return [
        _listed(asked, f"bec-pro-{language}", "bec_pro", {"sentences": f"bec-pro-{language}"})
        for language in languages or ("english",)
    ]


def disco(asked: Asked) -> list[Dataset]:
    """DisCo's templates with names and with nouns for persons."""
    return [
        _listed(asked, f"disco-{persons}", "disco", {}, of={"persons": persons}, blank=BLANK)
        for persons in asked.chosen(None, (), ("names", "nouns"))
    ]


def trait_ratings(asked: Asked) -> list[Dataset]:
    """The sentences of trait ratings, a dataset for each of TRAITS and for each set of lists of the user's."""
    datasets, options = [], asked.options["trait_ratings"]
    for name in asked.chosen(options["traits"], (), tuple(TRAITS)):
        lists = {"templates": "templates-negative-traits" if name.endswith("negative") else "templates"}
        lists |= {"masculine": "males", "feminine": "females", "neo": "neo"}
        files = {role: f"traits-lists-{file}" for role, file in lists.items()}
        files |= {f"factor{n}": f"traits-{name}-factor{n}" for n in range(1, TRAITS[name] + 1)}
        datasets.append(_listed(asked, f"traits-{name}", "trait_ratings", files))
    for name, about in _own_tests(asked, "trait_ratings").items():
        files = {role: (about[role],) for role in TRAIT_LISTS}
        datasets.append(_listed_by(f"traits-{name}", f"{PACKAGE}.corpora.trait_ratings", files))
    return datasets


def winogender(asked: Asked) -> list[Dataset]:
    """Winogender's sentences, or embedded ones."""
    if asked.encoder.is_planted:
        return [_in_planted_language("winogender")]
    files = {"sentences": "winogender-sentences", "occupations": "winogender-occupations"}
    return [_listed(asked, "winogender", "winogender", files)]


def _listed(
    asked: Asked,
    name: str,
    module: str,
    files: Mapping[str, str],
    *,
    of: Mapping[str, str] | None = None,
    **options: object,
) -> Dataset:
    """The items that a module of corpora lists, from files of the catalogue by role. If an external encoder scored the
    items of another file, the dataset's name ends in the name of that file."""
    paths = {}
    for role, file in files.items():
        known = asked.paths.corpus(file)
        paths[role] = (asked.encoder.file_of(file, known),)
        if paths[role] != (known,):
            name += _ending(file, *paths[role])
    return _listed_by(name, f"{PACKAGE}.corpora.{module}", paths, of=of, **options)


def _ending(file: str, path: str) -> str:
    """What the name of a dataset ends in whose items are those of another file than the one of the catalogue."""
    return "-" + re.sub("[^A-Za-z0-9]+", "-", Path(path).stem.removeprefix(f"{file}-")).strip("-")


def named_after_own_files(dataset: Dataset, paths: Paths) -> Dataset:
    """The dataset, its name ending in those of the files that the configuration has in place of published ones
    (`files`); one with the publisher's own bytes is no other file."""
    names = {paths.corpus(name): (name,) for name in paths.files} | sources_of_data(paths)
    files = [file for of_role in dataset.files.values() for file in of_role]
    own = dict.fromkeys(name for file in files for name in names.get(file, ()) if name in paths.files)
    endings = [_ending(name, paths.files[name]) for name in own if not _is_published(name, paths.files[name])]
    return replace(dataset, suffix=dataset.suffix + "".join(dict.fromkeys(endings)))


@cache
def _is_published(name: str, path: str) -> bool:
    entry = read_catalogue().entry(name)
    return Path(path).is_file() and Path(path).stat().st_size == entry.bytes and sha256(path) == entry.sha256


def _in_planted_language(test: str, **options: object) -> Dataset:
    """The items of a test in the planted language."""
    return _listed_by(f"{test.replace('_', '-')}-planted", f"{PACKAGE}.planted.{test.replace('-', '_')}", **options)


def _listed_by(
    name: str, module: str, files: Files | None = None, *, of: Mapping[str, object] | None = None, **options: object
) -> Dataset:
    """The items that a module lists, by its full name."""
    return Dataset(name, files or {}, {"items": module, "of": dict(of or {}), **options}, modules=(module,))


def context_tests(asked: Asked) -> list[Dataset]:
    """CEAT's tests of words in context, and those of the user's."""
    options = asked.options["ceat"]
    keys = {key: options[key] for key in ("draws", "seed", "missing")}
    files = {"contexts": (asked.paths.contexts(asked.encoder.name, CEAT),), "words": (CEAT_WORDS,)}
    files_by_test = dict.fromkeys(ceat_tests(options, asked.encoder), files)
    for name, about in _own_tests(asked, "ceat").items():
        files_by_test[name] = {"contexts": (asked.paths.contexts(asked.encoder.name, name),), "own": (about["file"],)}
    return [Dataset(name, files, keys) for name, files in files_by_test.items()]


def ceat_tests(options: Mapping, encoder: Encoder) -> list[str]:
    """The tests of words in context, for an encoder."""
    named = options["tests"]
    return list(named if named is not None else (PLANTED,) if encoder.is_planted else WORD_TESTS)


def words(asked: Asked) -> list[Dataset]:
    """The gendered words to which methods are fitted, in their text."""
    fitting, encoder = asked.config["fitting"], asked.encoder
    options = {**fitting_contexts(fitting, encoder), "words": fitting_words(fitting, encoder)}
    return [Dataset(own_groups(fitting) or "words", fitting_files(fitting, asked.paths, encoder), options)]


def probed_words(asked: Asked) -> list[Dataset]:
    """The gendered words to which methods are fitted, for probes of several families."""
    extra = asked.options["probe_families"]
    return [replace(dataset, options={**dataset.options, **extra}) for dataset in words(asked)]


def fitting_contexts(fitting: Mapping, encoder: Encoder) -> dict[str, int | None]:
    """How gendered words are found and read for an encoder: by its own settings, else by those of the one it continues.
    fitting: the key of that name, as below."""
    if encoder.name not in fitting["own"] and encoder.continues:
        return fitting_contexts(fitting, encoder.continues)
    return {key: fitting[key] for key in CONTEXTS} | fitting["own"].get(encoder.name, {})


def fitting_words(fitting: Mapping, encoder: Encoder) -> str:
    """Where the words that erasers are fitted to come from: "planted", "family" or "own"."""
    if own_pairs(fitting):
        return OWN_PAIRS
    return fitting["words"] or (PLANTED if encoder.is_planted else "family")


def own_pairs(fitting: Mapping) -> Mapping | None:
    """Return name and file of the user's word pairs if erasers are fitted to them, else None."""
    words = fitting["words"]
    return words if isinstance(words, Mapping) else None


def own_groups(fitting: Mapping) -> str | None:
    """Return what tells the groups of the user's word pairs apart if erasers are fitted to these pairs, else None."""
    return (own_pairs(fitting) or {}).get("name")


def fitting_files(fitting: Mapping, paths: Paths, encoder: Encoder) -> Files:
    """The text and the words that erasers are fitted to."""
    files = {"text": (text_file(paths, encoder, fitting["text"]),)}
    words = fitting_words(fitting, encoder)
    if words == PLANTED:
        return files
    return files | {"words": (own_pairs(fitting)["file"] if words == OWN_PAIRS else paths.corpus(ANALOGIES),)}


def running_text(asked: Asked) -> list[Dataset]:
    """The held-out text whose perplexity is measured."""
    options = asked.options["perplexity"]
    name = text_name(asked.encoder, options["text"])
    file = text_file(asked.paths, asked.encoder, options["text"], held_out=True, running=True)
    return [Dataset(name, {"text": (file,)}, {key: options[key] for key in ("mask_seeds", "max_length", "batch_size")})]


def sample_of_text(asked: Asked) -> list[Dataset]:
    """The sentences of the running text whose tokens are masked one by one."""
    options = asked.options["perplexity"]
    name = text_name(asked.encoder, options["text"])
    file = text_file(asked.paths, asked.encoder, options["text"], held_out=True)
    sample = Dataset(name, {"text": (file,)}, {"pseudo_sentences": options["pseudo_sentences"]})
    both = _with_l2r(asked, "perplexity", [sample], l2r=True)
    return [replace(one, scoring={"variant": "l2r"}) if one.suffix else one for one in both]


def sentences(asked: Asked) -> list[Dataset]:
    """The sentences of the held-out text whose similarity to each other is compared before and after a method; what
    stands for one is as in `sentence_tests`."""
    options, text = asked.options["similarity"], asked.options["perplexity"]["text"]
    files = {"text": (text_file(asked.paths, asked.encoder, text, held_out=True),)}
    pooled = _pooled(asked)
    dataset = Dataset(text_name(asked.encoder, text), files)
    return [pooled.of(dataset, sentences=options["sentences"], pooling=pooled.pooling)]


def worded_documents(asked: Asked) -> list[Dataset]:
    """Grep-BiasIR's queries, with documents in three wordings."""
    return _ranked(asked, "grep-biasir", {topic: f"grep-biasir-{topic}" for topic in GREP_TOPICS})


def questions_with_answers(asked: Asked) -> list[Dataset]:
    """GenderBias-QA's questions, with answers on women and on men."""
    return _ranked(asked, "genderbias-qa", {"answers": "genderbias-qa-train", "more": "genderbias-qa-test"})


def _ranked(asked: Asked, name: str, files: Mapping[str, str]) -> list[Dataset]:
    """Queries with documents, where a text has the vector that its users' search has; none for an encoder of another
    language."""
    pooled, names = _pooled(asked, own=True), asked.chosen(None, (), (name,))
    return [pooled.of(_listed(asked, one, "retrieval", files), pooling=pooled.pooling) for one in names]


def searched_people(asked: Asked) -> list[Dataset]:
    """Biographies in which people of a profession are searched for, where a text has the vector that a search has."""
    about, pooled = dict(asked.options["people_search"]), _pooled(asked, own=True)
    names = asked.chosen(about.pop("files"), (), BIOGRAPHIES[-1:])
    if not names:
        return []
    known = read_catalogue().files
    files = {"people": tuple(asked.paths.corpus(name) if name in known else name for name in names)}
    own = [name for name in names if name not in known]
    dataset = Dataset("people" + "".join(_ending("people", name) for name in own), files)
    return [pooled.of(dataset, **about, pooling=pooled.pooling)]


def ranked_lists(asked: Asked) -> list[Dataset]:
    """The lists that an external encoder gives; what it says of their documents."""
    runs, about = asked.encoder.rankings
    return [Dataset("rankings", {role: (path,) for role, path in about.items()})] if runs else []


def trainings(asked: Asked) -> list[Dataset]:
    """What a fine-tuning wrote of itself."""
    return [Dataset("training")]


def token_scores(asked: Asked) -> list[Dataset]:
    """A page of sentences whose tokens have scores."""
    file = text_file(asked.paths, asked.encoder, asked.config["fitting"]["text"])
    return [Dataset("sentences", {"text": (file,)}, {"sentences": SENTENCES_OF_PAGE})]


_ITEMS = (stimuli, occupations, planted_occupations, gest_sentences, crows_pairs, stereotype_pairs, stereoset_blanks)
_ITEMS += (questions_with_answers, stereoset_sentences, bec_pro, disco, trait_ratings, winogender, context_tests)
_ITEMS += (running_text, sample_of_text)
# Of these `limit` takes no sample: they are small.
_WHOLE = (
    word_tests,
    sentence_tests,
    words,
    probed_words,
    sentences,
    worded_documents,
    searched_people,
    ranked_lists,
    trainings,
    token_scores,
)
DATASETS: Mapping[str, Callable[[Asked], list[Dataset]]] = {one.__name__: one for one in (*_ITEMS, *_WHOLE)}
SAMPLED = {one.__name__ for one in _ITEMS}


def given_predictions(asked: Asked) -> list[Dataset]:
    """What an external encoder predicts of people, a dataset for each pair of groups that is compared."""
    files, groups = asked.encoder.predictions
    predicted = Dataset("predictions", {"people": tuple(files)})
    return of_pairs(predicted, groups) if groups else [predicted]


def datasets_of(metric: str, task: TaskPlan | None, encoder: Encoder) -> Callable[[Asked], list[Dataset]] | None:
    """The function that lists the datasets of a metric; None where it needs data that the task does not have."""
    name = METRICS[metric].datasets
    if encoder.is_external and METRICS[metric].readout in GIVEN_AS:
        return given_predictions
    return DATASETS.get(name) or (task.kind.datasets.get(name) if task else None)


def kinds_of(metric: str) -> list[str]:
    """The kinds of task whose models a metric measures, and "" if it measures those that are not fine-tuned."""
    entry = METRICS[metric]
    having = [kind for kind in TASKS if entry.datasets in DATASETS or entry.datasets in kind_of(kind).datasets]
    return ([""] if entry.pretrained else []) + (having if entry.finetuned else [])
