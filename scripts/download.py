"""Rule `download`: one external file from a local file, the mirror or upstream, verified."""

from dataclasses import asdict
from pathlib import Path

from _rule import rule
from biasflow.asking.paths import LOCK, corpus_file
from biasflow.corpora.catalogue import Entry, read_catalogue
from biasflow.corpora.download import fetch
from biasflow.plan.external import external_files


def main(smk) -> None:
    with rule(smk) as facts:
        target = Path(smk.output[0])
        catalogue = read_catalogue()
        origin = fetch(
            Entry(**smk.params.entry),
            target,
            lock_file=LOCK,
            local_files=smk.config["files"],
            mirror=smk.config["mirror"],
            wanted={
                catalogue.entry(name): corpus_file(smk.config, name) for name in external_files(smk.config, catalogue)
            },
        )
        facts["origin"] = asdict(origin)


if "snakemake" in globals():
    main(snakemake)
