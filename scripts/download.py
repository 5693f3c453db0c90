"""Rule `download`: an external file from a local file, the mirror or upstream, verified."""

import os
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock

from _rule import OF_OUTPUT, rule
from biasflow.base.paths import LOCK
from biasflow.base.records import record_since
from biasflow.corpora.catalogue import Entry
from biasflow.corpora.download import fetch

(target,) = map(Path, snakemake.output)
# Another run may be fetching the same file: this one waits for it, and takes what it has fetched.
with FileLock(target.with_name(f".{target.name}.lock")), rule(snakemake) as facts:
    (entry,) = snakemake.params.entries
    about = {"lock_file": LOCK, "local_files": snakemake.config["files"], "mirror": snakemake.config["mirror"]}
    fetched = record_since(target, float(os.environ.get("BIASFLOW_STARTED", "inf")))
    origin = fetched["origin"] if fetched else asdict(fetch(Entry(**entry), target, **about))
    facts[OF_OUTPUT] = {str(target): {"origin": origin}}
