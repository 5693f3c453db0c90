"""Rule `download`: one external file from a local file, the mirror or upstream, verified."""

from dataclasses import asdict
from pathlib import Path

from scripts._rule import rule
from scripts.biasflow.corpora.catalogue import read_catalogue
from scripts.biasflow.corpora.download import fetch


def main(smk) -> None:
    with rule(smk) as facts:
        catalogue = read_catalogue(smk.input.catalogue)
        target = Path(smk.output[0])
        origin = fetch(
            catalogue.entry(smk.wildcards.file),
            target,
            lock_file=smk.params.lock,
            local_files=smk.params.files,
            mirror=smk.params.mirror,
            wanted={catalogue.entry(name): target.parent / name for name in smk.params.wanted},
        )
        facts["origin"] = asdict(origin)


if "snakemake" in globals():
    main(snakemake)
