"""Rule `download`: an external file from a local file, the mirror or upstream, verified."""

from dataclasses import asdict
from pathlib import Path

from _rule import OF_OUTPUT, rule
from biasflow.base.paths import LOCK
from biasflow.corpora.catalogue import Entry
from biasflow.corpora.download import fetch

with rule(snakemake) as facts:
    (entry,), (target,) = snakemake.params.entries, snakemake.output
    about = {"lock_file": LOCK, "local_files": snakemake.config["files"], "mirror": snakemake.config["mirror"]}
    facts[OF_OUTPUT] = {target: {"origin": asdict(fetch(Entry(**entry), Path(target), **about))}}
