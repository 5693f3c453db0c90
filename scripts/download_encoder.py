"""Rule `download_encoder`: config, tokenizer and safetensors weights of a hub encoder at a pinned revision."""

from dataclasses import asdict

from _rule import rule
from biasflow.asking.paths import LOCK
from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.hub import download_encoder
from biasflow.encoders.stored import check_config


def main(smk) -> None:
    with rule(smk) as facts:
        id, revision = smk.params.encoder["id"], smk.params.encoder["revision"]
        known = read_catalogue().known_files(id, revision)
        origin = download_encoder(id, revision, smk.output[0], lock_file=LOCK, known=known, check=check_config)
        facts["origin"] = asdict(origin)


if "snakemake" in globals():
    main(snakemake)
