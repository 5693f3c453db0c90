"""The datasets that a metric reads from a model: their names, files, and what is to be known to read and to score them.

One function per kind of dataset, named in registry.METRICS. A dataset that the configuration leaves to us fits the
encoder: embedded stimuli for an encoder of the embedded corpus, real ones for any other."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.biasflow.corpora.densray_sets import CHINESE, OCCUPATIONS, PLANTED_OCCUPATIONS
from scripts.biasflow.corpora.seat import DENSRAY_TESTS
from scripts.biasflow.plan.paths import CORPORA, Paths
from scripts.biasflow.plan.sources import PLANTED, is_planted, origin

Files = Mapping[str, tuple[str, ...]]
WIKITEXT = "wikitext-2"
REAL_STIMULI = ("stereoset-authors",)
# The stimuli that are a file of the authors (Dawkins et al. 2024) as it is, and its name in the catalogue.
AUTHORS_STIMULI = {"stereoset-authors": "gender-swapped-dev", "stereoset-authors-test": "gender-swapped-test"}
REAL_OCCUPATIONS = ("professions", "professions-article")
WORD_TESTS = tuple(DENSRAY_TESTS)
SENTENCE_TESTS = ("sent-weat6", "sent-weat6b", "sent-weat7", "sent-weat7b", "sent-weat8", "sent-weat8b")
RAW, SCRUBBED = "raw", "scrubbed"
SENTENCES_OF_PAGE = 40
CEAT_WORDS = os.path.relpath(Path(__file__).resolve().parents[3] / "config/ceat_words.csv")


@dataclass(frozen=True)
class Dataset:
    """files: role -> paths, inputs of the readout; options: of its read(); scoring: of the metric's score();
    scored_with: role -> paths that the score needs as well."""

    name: str
    files: Files = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    scoring: Mapping[str, object] = field(default_factory=dict)
    scored_with: Files = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """For whom datasets are looked up: a model of an encoder, and the task whose data it is read on.

    training: "pretrained", "random/seed0" or "<task>/<strategy>/seed<n>"; seeds, strategies: the block's."""

    config: Mapping
    encoder: str
    task: str | None
    training: str
    seeds: Sequence[int]
    strategies: Sequence[str]

    @property
    def paths(self) -> Paths:
        return Paths(self.config["run"])

    @property
    def planted(self) -> bool:
        return is_planted(self.config, self.encoder)

    @property
    def options(self) -> Mapping:
        return self.config["metrics"]

    @property
    def about_task(self) -> Mapping:
        return self.config["tasks"][self.task]

    def chosen(self, value: Sequence[str] | None, planted: Sequence[str], real: Sequence[str]) -> Sequence[str]:
        """What the configuration names, or what fits the encoder."""
        return value if value is not None else planted if self.planted else real


def corpus_file(catalogue: Sequence[str], name: str) -> str:
    """A file of the catalogue, or the user's own."""
    return f"{CORPORA}/{name}" if name in catalogue else name


def text_file(config: Mapping, encoder: str, text: str | None, *, held_out: bool = False) -> str:
    """The running text by its name in the configuration (null: what fits): for training and fitting, or held out."""
    paths = Paths(config["run"])
    text = text or (PLANTED if is_planted(config, encoder) else WIKITEXT)
    if text == PLANTED:
        return paths.text(origin(config, encoder) + (".held-out" if held_out else ""))
    return paths.text(text + ("-test" if held_out else "")) if text == WIKITEXT else text


def text_name(config: Mapping, encoder: str, text: str | None) -> str:
    return text or (PLANTED if is_planted(config, encoder) else WIKITEXT)


def stimuli(asked: Asked) -> list[Dataset]:
    options = asked.options["strength"]
    return [
        Dataset(
            name,
            {"stimuli": (asked.paths.data(f"stimuli/{name}.csv"),)},
            {"batch_size": options["batch_size"]},
            {"tops": options["tops"]},
        )
        for name in asked.chosen(options["stimuli"], (PLANTED,), REAL_STIMULI)
    ]


def occupations(asked: Asked) -> list[Dataset]:
    options = asked.options["occtmp"]
    names = list(asked.chosen(options["sets"], (PLANTED,), REAL_OCCUPATIONS))
    names += [CHINESE] if asked.encoder in options["chinese"] else []
    own = {name: one for name, one in options["own"].items() if asked.encoder in one["encoders"]}
    found = []
    for name in [*names, *own]:
        if name in own:
            files = {"occupations": (own[name]["file"],)}
        else:
            file, _ = OCCUPATIONS[name]
            files = {"occupations": (f"{CORPORA}/{file}",)} if file else {}
        keys = {key: own[name][key] for key in ("template", "pronouns")} if name in own else {}
        found.append(Dataset(name, files, keys))
    return found


def planted_occupations(asked: Asked) -> list[Dataset]:
    return [Dataset(PLANTED_OCCUPATIONS)] if asked.planted else []


def word_tests(asked: Asked) -> list[Dataset]:
    names = asked.chosen(asked.options["weat"]["tests"], (PLANTED,), WORD_TESTS)
    return [_test(name, "weat") for name in names]


def sentence_tests(asked: Asked) -> list[Dataset]:
    options = asked.options["seat"]
    names = asked.chosen(options["tests"], (), SENTENCE_TESTS)
    return [_test(name, "seat", sentence_pooling=options["pooling"]) for name in names]


def _test(name: str, kind: str, **options: str) -> Dataset:
    files = {} if name == PLANTED else {"test": (f"{CORPORA}/{DENSRAY_TESTS.get(name, name)}",)}
    return Dataset(name, files, options, {"kind": kind})


def context_tests(asked: Asked) -> list[Dataset]:
    options = asked.options["ceat"]
    contexts = (asked.paths.data(f"contexts/{asked.encoder}/ceat.parquet"),)
    keys = {key: options[key] for key in ("draws", "seed", "missing")}
    files = {"contexts": contexts, "words": (CEAT_WORDS,)}
    return [Dataset(name, files, keys) for name in ceat_tests(asked.config, asked.encoder)]


def ceat_tests(config: Mapping, encoder: str) -> list[str]:
    """The tests of words in context, for an encoder."""
    named = config["metrics"]["ceat"]["tests"]
    return list(named if named is not None else (PLANTED,) if is_planted(config, encoder) else WORD_TESTS)


def words(asked: Asked) -> list[Dataset]:
    fitting = asked.config["fitting"]
    keys = {key: fitting[key] for key in ("n", "cap_per_word", "max_length", "batch_size")}
    kind = fitting_words(asked.config, asked.encoder)
    return [Dataset("words", fitting_files(asked.config, asked.encoder), {**keys, "words": kind})]


def fitting_words(config: Mapping, encoder: str) -> str:
    """Where the gendered words come from: "planted" or "family"."""
    return config["fitting"]["words"] or (PLANTED if is_planted(config, encoder) else "family")


def fitting_files(config: Mapping, encoder: str) -> Files:
    """The text and the words that erasers are fitted to."""
    files = {"text": (text_file(config, encoder, config["fitting"]["text"]),)}
    family = fitting_words(config, encoder) != PLANTED
    return files | ({"words": (f"{CORPORA}/google-analogies",)} if family else {})


def running_text(asked: Asked) -> list[Dataset]:
    options = asked.options["perplexity"]
    name = text_name(asked.config, asked.encoder, options["text"])
    file = text_file(asked.config, asked.encoder, options["text"], held_out=True)
    return [Dataset(name, {"text": (file,)}, {key: options[key] for key in ("mask_seeds", "max_length", "batch_size")})]


def sample_of_text(asked: Asked) -> list[Dataset]:
    """The sentences of the running text whose tokens are masked one by one."""
    (text,) = running_text(asked)
    keys = {"pseudo_sentences": asked.options["perplexity"]["pseudo_sentences"]}
    return [Dataset(text.name, text.files, keys)]


def test_sets(asked: Asked) -> list[Dataset]:
    name = "test" if asked.about_task["kind"] == "nli" else "validation"
    keys = {"batch_size": asked.about_task.get("batch_size", 64)}
    return [Dataset(name, {"examples": (asked.paths.data(f"{asked.task}/{name}.csv"),)}, keys)]


def occupation_pairs(asked: Asked) -> list[Dataset]:
    file = asked.paths.data(f"{asked.task}/occupation_pairs.json")
    return [Dataset("occupation-pairs", {"pairs": (file,)}, {"batch_size": asked.about_task["batch_size"]})]


def task_texts(asked: Asked) -> list[Dataset]:
    """The raw biographies; the scrubbed ones, too, where a model was trained on such, and for comparison with it."""
    about, strategy = asked.about_task, asked.training.split("/")[1] if "/" in asked.training else ""
    scrubbed = strategy == "scrubbing" or (asked.training == "pretrained" and "scrubbing" in asked.strategies)
    folder = asked.paths.data(asked.task)
    files = {"biographies": (f"{folder}/biographies.parquet",)}
    return [
        Dataset(
            f"{asked.task}-{text}",
            files,
            {"text": text, "max_length": about["finetuning"]["max_length"]},
        )
        for text in ([RAW, SCRUBBED] if scrubbed else [RAW])
    ]


def trainings(asked: Asked) -> list[Dataset]:
    return [Dataset("training")]


def token_scores(asked: Asked) -> list[Dataset]:
    """A page of sentences whose tokens have scores."""
    file = text_file(asked.config, asked.encoder, asked.config["fitting"]["text"])
    return [Dataset("sentences", {"text": (file,)}, {"sentences": SENTENCES_OF_PAGE})]


def training_examples(config: Mapping, task: str) -> Dataset:
    """What heads are retrained on: the training pairs of a task."""
    about = config["tasks"][task]
    files = {"examples": (Paths(config["run"]).data(f"{task}/train.csv"),)}
    return Dataset("train", files, dict(about["retrain_heads"]))


DATASETS: Mapping[str, Callable[[Asked], list[Dataset]]] = {
    function.__name__: function
    for function in (
        stimuli,
        occupations,
        planted_occupations,
        word_tests,
        sentence_tests,
        context_tests,
        words,
        running_text,
        sample_of_text,
        test_sets,
        occupation_pairs,
        task_texts,
        trainings,
        token_scores,
    )
}
