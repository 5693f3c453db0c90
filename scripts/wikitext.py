"""Rule `wikitext`: the articles of WikiText-2 as documents of sentences."""

from scripts._rule import rule
from scripts.biasflow.corpora.documents import write_documents
from scripts.biasflow.corpora.wikitext import read_wikitext


def main(smk) -> None:
    with rule(smk):
        write_documents(read_wikitext(smk.input.articles), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
