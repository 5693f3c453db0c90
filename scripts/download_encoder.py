"""Rule `download_encoder`: config, tokenizer and safetensors weights of a hub encoder at a pinned revision."""

from dataclasses import asdict
from pathlib import Path

from _rule import rule
from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.hub import download_encoder


def main(smk) -> None:
    with rule(smk) as facts:
        id, revision = smk.params.encoder["id"], smk.params.encoder["revision"]
        known = read_catalogue().known_files(id, revision)
        origin = download_encoder(id, revision, Path(smk.output[0]).parent, lock_file=smk.params.lock, known=known)
        facts["origin"] = asdict(origin)


if "snakemake" in globals():
    main(snakemake)
