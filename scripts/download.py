"""Rule `download`: one external file from a local file, the mirror or upstream, verified."""

from dataclasses import asdict
from pathlib import Path

from _rule import rule
from biasflow.asking.paths import LOCK, Paths
from biasflow.corpora.catalogue import Entry, read_catalogue
from biasflow.corpora.download import fetch
from biasflow.plan.external import external_files


def main(smk) -> None:
    with rule(smk) as facts:
        target = Path(smk.output[0])
        catalogue, paths = read_catalogue(), Paths(smk.config["run"], smk.config["files"])
        origin = fetch(
            Entry(**smk.params.entry),
            target,
            lock_file=LOCK,
            local_files=smk.config["files"],
            mirror=smk.config["mirror"],
            wanted={catalogue.entry(name): paths.corpus(name) for name in external_files(smk.config, catalogue)},
        )
        facts["origin"] = asdict(origin)


if "snakemake" in globals():
    main(snakemake)
