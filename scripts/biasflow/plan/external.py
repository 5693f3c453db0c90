"""The external files that a run reads: which they are, and whether the files of the user's can be read."""

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from jsonschema import FormatChecker

from biasflow.base.by_name import module_named
from biasflow.base.errors import BiasflowError
from biasflow.base.files import check_path, no_folder
from biasflow.base.names import naming, require
from biasflow.base.paths import is_corpus_file
from biasflow.corpora import trait_ratings
from biasflow.corpora.catalogue import MANIFEST, Catalogue, Entry
from biasflow.corpora.rankings import read_rankings
from biasflow.corpora.stereoset import own_triples
from biasflow.corpora.word_sets import read_word_pairs, read_word_sets
from biasflow.encoders.configured import RANKINGS, Encoder
from biasflow.plan.datasets import OWN_ITEMS, TRAIT_LISTS, own_pairs, sources_of_data
from biasflow.plan.jobs import Job
from biasflow.plan.setup import Setup
from biasflow.plan.validation import fault
from biasflow.stimuli.densray_sets import check_pronouns, read_occupation_set
from biasflow.tasks.kinds import is_expanded
from biasflow.text.sentence_pairs import load_sentence_pairs


def check_files(config: Mapping, schema: Mapping, catalogue: Catalogue) -> None:
    """BiasflowError, naming the key, for a file or folder of the configuration that is not there (the schema says by
    `format` which keys name one); for a small list of one's own that cannot be used; and for a key of `files` that is
    no external file: the path beside it would never be looked at."""
    for name in config["files"]:
        require(name, catalogue.files, f"files.{name}", "files of biasflow/data/corpora.yaml")
    if problem := fault(config, schema, formats=_formats(catalogue)):
        raise BiasflowError(f"config: {problem}")
    for key, read in _lists(config):
        with naming(key):
            read()


def _lists(config: Mapping) -> Iterator[tuple[str, Callable[[], object]]]:
    """The keys that name a small list of the user's, and what reads it."""
    own = {metric: options["own"] for metric, options in config["metrics"].items() if "own" in options}
    for name, about in own["occtmp"].items():
        words = {"templates": about["templates"], "pronouns": about["pronouns"]}
        yield f"metrics.occtmp.own.{name}.pronouns", partial(check_pronouns, *about["pronouns"])
        yield f"metrics.occtmp.own.{name}.file", partial(read_occupation_set, name, about["file"], **words)
    for name, about in own["trait_ratings"].items():
        yield f"metrics.trait_ratings.own.{name}", partial(trait_ratings.items, **{r: about[r] for r in TRAIT_LISTS})
    for metric, is_single in (("weat", False), ("seat", False), ("ceat", True)):
        for name, about in own[metric].items():
            sets = partial(read_word_sets, about["file"], name, single=is_single)
            yield f"metrics.{metric}.own.{name}.file", sets
    for name, about in own["strength"].items():
        yield f"metrics.strength.own.{name}.file", partial(own_triples, about["file"])
    for metric, (_, _, module, of) in OWN_ITEMS.items():
        for name, about in own[metric].items():
            yield f"metrics.{metric}.own.{name}.file", partial(module_named(module).items, about["file"], **of)
    for name, about in config["encoders"].items():
        runs, others = Encoder(name, about).rankings
        if runs:
            yield f"encoders.{name}.{RANKINGS}", partial(read_rankings, runs, **others)
    if pairs := own_pairs(config["fitting"]):
        yield "fitting.words.file", partial(read_word_pairs, pairs["file"])
    if file := config["fitting"]["sentence_pairs"]:
        yield "fitting.sentence_pairs", partial(load_sentence_pairs, file)


def _formats(catalogue: Catalogue) -> FormatChecker:
    """What strings of the schema's formats must be; what is no text has none."""
    formats = FormatChecker(formats=())
    for name in ("file", "catalogued", "pattern", "folder", "mirror"):
        formats.checks(name, raises=BiasflowError)(partial(_is_there, name, list(catalogue.files)))
    return formats


def _is_there(kind: str, names: Collection[str], path: object) -> bool:
    """True; BiasflowError for a path of a format that is not there or empty. names: of the external files, any of which
    a path of the formats catalogued and pattern may be."""
    is_named = kind in ("catalogued", "pattern") and isinstance(path, str) and (is_corpus_file(path) or path in names)
    if not isinstance(path, str) or is_named or (kind == "pattern" and is_expanded(path)):  # tasks expand patterns
        return True
    check_path(path)
    is_folder = kind in ("folder", "mirror")
    if is_folder and not Path(path).is_dir():
        raise BiasflowError(no_folder(path))
    if kind == "mirror" and not (Path(path) / MANIFEST).is_file():
        raise BiasflowError(f"there is no {MANIFEST} in the folder {path!r}")
    if not is_folder and not Path(path).is_file():
        close = difflib.get_close_matches(path, [] if kind == "file" else names, n=1)
        raise BiasflowError(f"there is no file {path}" + (f"; did you mean {close[0]!r}?" if close else ""))
    if not is_folder and not Path(path).stat().st_size:
        raise BiasflowError(f"the file {path} is empty")
    return True


def check_network(jobs: Iterable, config: Mapping) -> None:
    """BiasflowError if some of Snakemake's jobs are to fetch external files, and there is no network."""
    if entries := [Entry(**entry) for job in jobs for entry in job.params.get("entries", ())]:
        from biasflow.corpora.download import check_reachable  # takes a third of a second, with a client of HTTP

        check_reachable(entries, local_files=config["files"], mirror=config["mirror"])


def files_read(setup: Setup, catalogue: Catalogue, jobs: Iterable[Job]) -> list[str]:
    """The names of all external files that jobs read."""
    known = {setup.paths.corpus(name): name for name in catalogue.files}
    made_from = sources_of_data(setup.paths)
    files = {file for job in jobs for file in job.files}
    return sorted(
        {known[file] for file in files & set(known)} | {name for file in files for name in made_from.get(file, ())}
    )
