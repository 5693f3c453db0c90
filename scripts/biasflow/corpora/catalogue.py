"""The catalogue of external files (biasflow/data/corpora.yaml; tests check it against a schema)."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from biasflow.base.errors import BiasflowError
from biasflow.base.shipped import shipped

CATALOGUE = shipped("data/corpora.yaml")
MANIFEST = "MANIFEST.tsv"  # of a mirror: its files with size and sha256


@dataclass(frozen=True)
class Entry:
    """One external file.

    url: upstream address. bytes, sha256: of the upstream file, None where unknown; then columns and rows (None where
    unknown, too) are what is known of it. mirror_path: the file's place in a mirror folder. mirror_exact: whether a
    mirror's copy must be byte-equal to upstream."""

    name: str
    url: str
    licence: str
    mirror_path: str
    mirror_exact: bool
    bytes: int | None = None
    sha256: str | None = None
    columns: tuple[str, ...] = ()
    rows: int | None = None


@dataclass(frozen=True)
class HubEncoder:
    """One pretrained encoder on the hub; sha256 maps file names of its repository to digests."""

    id: str
    revision: str
    licence: str
    sha256: Mapping[str, str]


@dataclass(frozen=True)
class Catalogue:
    """All external files by name, and encoders by id. shards: data set of several files -> their names, `scattered`;
    sets: the names of their files, by the name of the set."""

    files: Mapping[str, Entry]
    shards: Mapping[str, tuple[str, ...]]
    sets: Mapping[str, tuple[str, ...]]
    encoders: Mapping[str, HubEncoder]

    def entry(self, name: str) -> Entry:
        """The file of that name; BiasflowError with the known names when there is none."""
        if name not in self.files:
            raise BiasflowError(
                f"{name}: no such file in biasflow/data/corpora.yaml; it names {', '.join(self.files)}."
            )
        return self.files[name]

    def known_files(self, id: str, revision: str) -> Mapping[str, str]:
        """The known sha256 by file name of a hub encoder at a revision; empty where the catalogue has none."""
        encoder = self.encoders.get(id)
        return encoder.sha256 if encoder is not None and encoder.revision == revision else {}


def read_catalogue() -> Catalogue:
    """Read the catalogue."""
    data = yaml.load(CATALOGUE.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    shards = {name: _shards(name, keys) for name, keys in data["sharded"].items()}
    sets = {name: _set(name, keys) for name, keys in data["sets"].items()}
    files = {name: _entry(name, keys) for name, keys in data["files"].items()}
    return Catalogue(
        files=files | {entry.name: entry for parts in (*shards.values(), *sets.values()) for entry in parts},
        shards={name: tuple(parts[number].name for number in scattered(len(parts))) for name, parts in shards.items()},
        sets={name: tuple(entry.name for entry in parts) for name, parts in sets.items()},
        encoders={id: HubEncoder(id=id, **keys) for id, keys in data["encoders"].items()},
    )


def _entry(name: str, keys: dict) -> Entry:
    return Entry(
        name=name,
        url=keys["url"] if "url" in keys else _hub_url(**keys["hub"]),
        licence=keys["licence"],
        mirror_path=keys["mirror"]["path"],
        mirror_exact=keys["mirror"]["exact"],
        bytes=keys["bytes"],
        sha256=keys["sha256"],
        **{"columns": tuple(form["columns"]), "rows": form["rows"]} if (form := keys.get("form")) else {},
    )


def _shards(name: str, keys: dict) -> list[Entry]:
    """The files of a data set: <name>-<number>."""
    digits = len(str(keys["shards"] - 1))
    return [_entry(f"{name}-{shard:0{digits}d}", _keys_of(shard, keys)) for shard in range(keys["shards"])]


def _keys_of(shard: int, keys: dict) -> dict:
    """The keys of one file of a data set: its number in the paths, and what is known of it."""
    paths = {at: keys[at] | {"path": keys[at]["path"].replace("{shard}", f"{shard:05d}")} for at in ("hub", "mirror")}
    known = keys["known"].get(str(shard), {"bytes": None, "sha256": None})
    return paths | known | {key: keys[key] for key in ("licence", "form")}


def _set(name: str, keys: dict) -> list[Entry]:
    """The files of a set, each with its own name in that of the set."""
    entries = []
    for path, known in keys["files"].items():
        own_name = re.sub("[^a-z0-9]+", "-", Path(path).stem.lower()).strip("-")
        mirror = {"path": keys["mirror"].replace("{file}", Path(path).name), "exact": True}
        about = {"url": keys["url"].replace("{file}", path), "licence": keys["licence"], "mirror": mirror}
        entries.append(_entry(f"{name}-{own_name}", about | known))
    return entries


def scattered(count: int) -> list[int]:
    """Return 0, ..., count - 1 in the order of their reversed binary digits (van der Corput): any first few are spread
    over the whole, and a longer selection contains a shorter one."""
    digits = (count - 1).bit_length()
    return sorted(range(count), key=lambda number: f"{number:0{digits}b}"[::-1])


def _hub_url(dataset: str, revision: str, path: str) -> str:
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    return f"{endpoint}/datasets/{dataset}/resolve/{revision}/{path}"
