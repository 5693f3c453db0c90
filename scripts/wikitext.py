"""Rule `wikitext`: WikiText-2 as released, its sentences, and a table of what the sentences leave out."""

from _rule import rule
from biasflow.base.files import whole_file
from biasflow.base.tabular import write_csv
from biasflow.corpora.documents import write_documents
from biasflow.corpora.wikitext import contents, read_articles, running_text, sentences_of
from biasflow.stimuli.gendered_words import FAMILY, read_gendered_words

with rule(snakemake):
    articles = read_articles(snakemake.input.articles)
    with whole_file(snakemake.output.running) as temporary:
        temporary.write_text(running_text(snakemake.input.articles), encoding="utf-8", newline="")
    write_documents(sentences_of(articles), snakemake.output.sentences)
    write_documents(sentences_of(articles, whole=True), snakemake.output.whole_sentences)
    write_csv(contents(articles, read_gendered_words(FAMILY, [snakemake.input.words])), snakemake.output.about)
