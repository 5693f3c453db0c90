"""Rule `chinese_wikipedia`: articles of the Chinese Wikipedia as documents of sentences."""

from _rule import rule
from biasflow.corpora.documents import write_documents
from biasflow.corpora.wikipedia import read_chinese_wikipedia

with rule(snakemake) as facts:
    articles = read_chinese_wikipedia(snakemake.input.articles)
    write_documents(articles, snakemake.output[0])
    sentences = [sentence for article in articles for sentence in article]
    counts = {pronoun: sum(sentence.count(pronoun) for sentence in sentences) for pronoun in snakemake.params.pronouns}
    facts |= {
        "articles": len(articles),
        "sentences": len(sentences),
        "characters": sum(map(len, sentences)),
        **counts,
    }
