"""Rule `download_encoder`: config, tokenizer and safetensors weights of a hub encoder at a pinned revision."""

from dataclasses import asdict
from pathlib import Path

from _rule import rule
from biasflow.base.paths import LOCK
from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.hub import download_encoder
from biasflow.encoders.sentence_transformers import check_pooling
from biasflow.encoders.stored import CONFIG, check_config

with rule(snakemake) as facts:
    id, revision = snakemake.params.encoder["id"], snakemake.params.encoder["revision"]
    pooling = snakemake.params.encoder.get("pooling")

    def check(folder: Path) -> None:
        check_config(folder / CONFIG)
        check_pooling(folder, pooling, key=f"encoders.{snakemake.wildcards.encoder}.pooling")

    known = read_catalogue().known_files(id, revision)
    origin = download_encoder(id, revision, snakemake.output[0], lock_file=LOCK, known=known, check=check)
    facts["origin"] = asdict(origin)
