"""Rule `wikitext`: WikiText-2 as released, its sentences, and a table of what the sentences leave out."""

from _rule import rule
from biasflow.base.files import write_text
from biasflow.base.tabular import write_csv
from biasflow.corpora.documents import write_documents
from biasflow.corpora.wikitext import contents, read_articles, running_text, sentences_of
from biasflow.stimuli.gendered_words import FAMILY, read_gendered_words

with rule(snakemake):
    articles = read_articles(snakemake.input.articles)
    write_text(snakemake.output.running, running_text(snakemake.input.articles))
    write_documents(sentences_of(articles), snakemake.output.sentences)
    write_documents(sentences_of(articles, whole=True), snakemake.output.whole_sentences)
    write_csv(contents(articles, read_gendered_words(FAMILY, [snakemake.input.words])), snakemake.output.about)
