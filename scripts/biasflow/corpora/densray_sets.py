"""The occupations and association tests of paper A by the names that the configuration gives them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.files import read_text
from scripts.biasflow.corpora.professions import read_chinese_professions, read_professions
from scripts.biasflow.corpora.seat import DENSRAY_TESTS, AssociationTest, densray_tests, read_association_test
from scripts.biasflow.planted.association import PLANTED, planted_test
from scripts.biasflow.planted.world import load_world
from scripts.biasflow.text.occupation_templates import MASK, PRONOUNS, occupation_sentences

# Set of occupations -> external file and template of `occupation_sentences`; the planted set needs no file.
OCCUPATIONS = {
    "professions": ("professions", "released"),
    "professions-article": ("professions", "article"),
    "chinese-professions": ("chinese-professions", "chinese"),
    PLANTED: (None, "released"),
}
CHINESE = "chinese-professions"
OWN_SLOT = "{occupation}"


@dataclass(frozen=True)
class OccupationSet:
    """Sentences with one [MASK] each, the masculine and the feminine pronoun that stand for it, and whether a pronoun
    may have several pieces."""

    sentences: Sequence[str]
    pronouns: tuple[str, str]
    pieces: bool = False


def occupation_sets(densray: Mapping, encoder: str | None = None) -> list[str]:
    """The sets of occupations that an encoder (None: any) is measured on, by paper A's part of the configuration."""
    chinese = densray["chinese"] if encoder is None else encoder in densray["chinese"]
    own = [name for name, one in densray["own_occupations"].items() if encoder is None or encoder in one["encoders"]]
    return [*densray["occtmp"], *([CHINESE] if chinese else []), *own]


def occupation_files(sets: Sequence[str], own: Mapping[str, Mapping]) -> dict[str, str]:
    """Set -> name in the catalogue or path, for the sets that have a file."""
    files = {name: own[name]["file"] if name in own else OCCUPATIONS[name][0] for name in sets}
    return {name: file for name, file in files.items() if file}


def test_files(tests: Sequence[str]) -> dict[str, str]:
    """Association test -> external file, for the tests that have one."""
    return {name: DENSRAY_TESTS.get(name, name) for name in tests if name != PLANTED}


def read_occupation_sets(
    sets: Sequence[str], paths: Mapping[str, str | Path], own: Mapping[str, Mapping]
) -> dict[str, OccupationSet]:
    """The sets by name; paths: set -> file; own: name -> template (with [MASK] and {occupation}) and pronouns.

    A file of one's own has an occupation a line. BiasflowError for a template without one of the two slots."""
    readers = {"professions": read_professions, "chinese-professions": read_chinese_professions}
    found = {}
    for name in sets:
        if name in own:
            found[name] = _own_set(name, paths[name], **{key: own[name][key] for key in ("template", "pronouns")})
            continue
        file, template = OCCUPATIONS[name]
        occupations = readers[file](paths[name]) if file else list(load_world().occupations)
        found[name] = OccupationSet(occupation_sentences(occupations, template), PRONOUNS[template])
    return found


def _own_set(name: str, path: str | Path, *, template: str, pronouns: Sequence[str]) -> OccupationSet:
    if template.count(MASK) != 1 or OWN_SLOT not in template:
        raise BiasflowError(
            f"config: key 'densray.own_occupations.{name}.template': {template!r} needs one {MASK} and {OWN_SLOT}"
        )
    occupations = [line.strip() for line in read_text(path).split("\n") if line.strip()]
    if not occupations:
        raise BiasflowError(f"{path}: no occupation; write one a line.")
    sentences = [template.replace(OWN_SLOT, occupation) for occupation in occupations]
    return OccupationSet(sentences, tuple(pronouns), pieces=True)


def read_tests(
    tests: Sequence[str], paths: Mapping[str, str | Path]
) -> tuple[dict[str, AssociationTest], dict[str, AssociationTest]]:
    """Tests of words and tests of sentences, by name; paths: test -> file."""
    words, sentences = {}, {}
    for name in tests:
        if name == PLANTED:
            words[name] = planted_test()
        elif name in DENSRAY_TESTS:
            source = DENSRAY_TESTS[name]
            words |= densray_tests({source: read_association_test(paths[name], source)}, [name])
        else:
            sentences[name] = read_association_test(paths[name], name)
    return words, sentences
