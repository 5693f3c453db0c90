"""Rule `planted_text`: the embedded corpus of one encoder, with its amount of bias."""

from _rule import rule
from biasflow.corpora.documents import write_documents
from biasflow.planted.corpus import discourses

with rule(snakemake) as facts:
    encoder = facts["encoder"] = snakemake.params.encoder
    documents = discourses(bias=encoder["bias"], seed=encoder["seed"], n=encoder["documents"])
    write_documents(documents, snakemake.output[0])
