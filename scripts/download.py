"""Rules `download` and `download_<set>`: external files from a local file, the mirror or upstream, verified."""

from dataclasses import asdict
from pathlib import Path

from _rule import OF_OUTPUT, rule
from biasflow.base.paths import LOCK
from biasflow.corpora.catalogue import Entry
from biasflow.corpora.download import fetch

with rule(snakemake) as facts:
    about = {"lock_file": LOCK, "local_files": snakemake.config["files"], "mirror": snakemake.config["mirror"]}
    for entry, target in zip(snakemake.params.entries, snakemake.output, strict=True):
        origin = fetch(Entry(**entry), Path(target), **about)
        facts.setdefault(OF_OUTPUT, {})[target] = {"origin": asdict(origin)}
