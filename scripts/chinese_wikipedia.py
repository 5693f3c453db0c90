"""Rule `chinese_wikipedia`: articles of the Chinese Wikipedia as documents of sentences."""

from _rule import rule
from biasflow.corpora.documents import write_documents
from biasflow.corpora.wikipedia import read_chinese_wikipedia


def main(smk) -> None:
    with rule(smk) as facts:
        articles = read_chinese_wikipedia(smk.input.articles)
        write_documents(articles, smk.output[0])
        sentences = [sentence for article in articles for sentence in article]
        counts = {pronoun: sum(sentence.count(pronoun) for sentence in sentences) for pronoun in smk.params.pronouns}
        facts |= {
            "articles": len(articles),
            "sentences": len(sentences),
            "characters": sum(map(len, sentences)),
            **counts,
        }


if "snakemake" in globals():
    main(snakemake)
