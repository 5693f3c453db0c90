"""Where the files of encoders and models lie, and the jobs that make encoders and what belongs to one."""

from collections.abc import Collection, Iterator, Mapping

from biasflow.base.paths import package_file
from biasflow.corpora.catalogue import Catalogue
from biasflow.corpora.wikipedia import ENGLISH_WIKIPEDIA
from biasflow.encoders.configured import Encoder
from biasflow.encoders.recipes import PLANTED_BIAS, PLANTED_SEARCH, RECIPES, SWAPPED
from biasflow.matrix import NA, RANDOM, Model
from biasflow.plan.datasets import BIOGRAPHIES, CEAT, CEAT_WORDS, ceat_tests, text_file, text_name
from biasflow.plan.estimate import of_pretraining
from biasflow.plan.jobs import Job
from biasflow.plan.setup import Setup

_HELD_OUT = ".held-out"
LABOUR = "data/labour_statistics.csv"


def encoder_files(setup: Setup, name: str) -> list[str]:
    """The files of a local encoder, or those that are given in place of an external one; otherwise the folder that a
    rule of this run writes."""
    encoder = setup.encoders[name]
    if encoder.source == "local":
        return encoder.local_files
    if encoder.is_external:
        file_lists = (files for by_metric in encoder.given_files.values() for files in by_metric.values())
        return list(dict.fromkeys(file.file for files in file_lists for file in files))
    return [setup.paths.encoder(name)]


def model_files(setup: Setup, model: Model) -> list[str]:
    """The folder of a model that is fine-tuned here; of any other, random ones too, the files of its encoder."""
    if not model.is_trained:
        return encoder_files(setup, model.encoder)
    return [setup.paths.model(model.encoder, model.training)]


def head_of(setup: Setup, model: Model) -> str:
    """The head that a model is loaded with, so that its sentence vector can be reached; a random one has none."""
    if model.strategy == RANDOM:
        return "none"
    if model.task != NA:
        return setup.task(model.task).kind.head
    return "next_sentence" if setup.encoders[model.encoder].has_head("next_sentence") else "none"


def encoder_jobs(setup: Setup, catalogue: Catalogue) -> Iterator[Job]:
    """The jobs that download, pre-train or continue encoders, write the embedded texts that some are trained on, look
    for words in texts, and run the measures of others (key `given`)."""
    for name, encoder in setup.encoders.items():
        if encoder.missing:
            continue
        if encoder.source == "hub":
            about = {key: value for key, value in encoder.about.items() if key in ("id", "revision", "pooling")}
            yield Job("download_encoder", [name], [setup.paths.encoder(name)], params={"encoder": about})
        elif encoder.source in ("pretrain", "continued"):
            yield (_continued if encoder.continues else _pretrained)(setup, encoder)
        if encoder.planted:
            yield from _planted_texts(setup, encoder)
        if not encoder.is_external:
            yield from _contexts(setup, catalogue, encoder)
            yield from _given_measures(setup, name)


def _pretrained(setup: Setup, encoder: Encoder) -> Job:
    texts = [text_file(setup.paths, encoder, text) for text in encoder.corpora]
    return Job(
        "pretrain",
        [encoder.name],
        [setup.paths.encoder(encoder.name)],
        {"texts": texts, "vocabulary": encoder.about["vocabulary"] or []},
        {"encoder": _without(encoder.about, ("source", "corpus", "bias", "documents", "vocabulary"))},
        operations=of_pretraining(encoder),
    )


def _continued(setup: Setup, encoder: Encoder) -> Job:
    """The job that trains an encoder further: on a text, on the same text with genders swapped where its recipe takes
    that, or by the shares of women where bias is planted."""
    about = encoder.about
    inputs = {"encoder": encoder_files(setup, encoder.continues.name)}
    if about["recipe"] == PLANTED_BIAS:
        inputs["text"] = text_file(setup.paths, encoder, about["text"] or BIOGRAPHIES[1])
        inputs["labour"] = about.get("labour", package_file(LABOUR))
    elif about["recipe"] == PLANTED_SEARCH:
        inputs["text"] = package_file("data/planted_search.yaml")  # the templates: an edit trains again
        inputs["labour"] = about.get("labour", package_file("data/winobias_professions.csv"))
        inputs["held_out"] = package_file(LABOUR)  # the professions that people_search asks for
    else:
        inputs["text"] = text_file(setup.paths, encoder, about["text"], running=not about["next_sentence"])
        if RECIPES[about["recipe"]].beside == SWAPPED:
            inputs["swapped"] = f"{inputs['text'].removesuffix('.txt')}.swapped.txt"
    return Job(
        "continue_encoder",
        [encoder.name],
        [setup.paths.encoder(encoder.name)],
        inputs,
        {"encoder": _without(about, ("source", "from", "text", "labour"))},
        operations=of_pretraining(encoder),
    )


def _without(about: Mapping[str, object], keys: Collection[str]) -> dict[str, object]:
    """What the configuration says of an encoder, without what the job's files say already."""
    return {key: value for key, value in about.items() if key not in keys}


def _planted_texts(setup: Setup, encoder: Encoder) -> Iterator[Job]:
    """The jobs that write the embedded corpus of an encoder, and a held-out text of the same world, of another seed."""
    about, world = encoder.planted, setup.config["world"]
    held_out = {"bias": about["bias"], "seed": about["seed"] + 1_000_000, "documents": 2000}
    trained_on = {key: about[key] for key in ("bias", "seed", "documents") if key in about}
    for part, corpus in (("", trained_on), (_HELD_OUT, held_out)):
        params = {"encoder": corpus | ({"world": world} if world else {})}
        yield Job("planted_text", [encoder.name, part], [setup.paths.text(encoder.name + part)], params=params)


def _contexts(setup: Setup, catalogue: Catalogue, encoder: Encoder) -> Iterator[Job]:
    """The jobs that look for the words of CEAT in a text: those of its own tests, and those of each of the user's."""
    options = setup.config["metrics"]["ceat"]
    if options["text"] == ENGLISH_WIKIPEDIA:
        names = catalogue.shards[ENGLISH_WIKIPEDIA][: options["shards"]]  # in the order in which they are read
        text = [setup.paths.corpus(name) for name in names]
    else:
        text = [text_file(setup.paths, encoder, options["text"])]
    params = {"tests": ceat_tests(options, encoder), "text": text_name(encoder, options["text"])}
    lists = {CEAT: {"words": CEAT_WORDS}} | {name: {"own": about["file"]} for name, about in options["own"].items()}
    for name, words in lists.items():
        inputs = {**words, "encoder": encoder_files(setup, encoder.name), "text": text}
        outputs = [path(encoder.name, name) for path in (setup.paths.contexts, setup.paths.context_counts)]
        yield Job("ceat_contexts", [encoder.name, name], outputs, inputs, params)


def _given_measures(setup: Setup, encoder: str) -> Iterator[Job]:
    for measure, about in setup.config["given"].items():
        inputs = {"encoder": encoder_files(setup, encoder), "script": [about["script"]] if "script" in about else []}
        output = setup.paths.given_values(measure, encoder)
        yield Job("given_measure", [measure, encoder], [output], inputs, {"command": about["command"]})
