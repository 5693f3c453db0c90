"""Rule `planted_text`: the embedded corpus of one encoder, with its amount of bias."""

from _rule import rule
from biasflow.corpora.documents import write_documents
from biasflow.planted.corpus import discourses


def main(smk) -> None:
    with rule(smk) as facts:
        encoder = facts["encoder"] = smk.params.encoder
        documents = discourses(bias=encoder["bias"], seed=encoder["seed"], n=encoder["documents"])
        write_documents(documents, smk.output[0])


if "snakemake" in globals():
    main(snakemake)
