"""The targets made from a run for Liang, Dufter & Schütze (2020); paper.yaml has the captions."""

from biasflow.papers.liang2020 import figures, performance, tables

TABLES = {
    "main": tables.main,
    "occtmp": tables.occtmp,
    "association": tables.association,
    "perplexity": performance.perplexity,
    "glue": performance.glue,
    "chinese": tables.chinese,
    "intrinsic": performance.intrinsic,
    "gender_share": performance.gender_share,
}
FIGURES = {
    "occtmp_by_layer": figures.occtmp_by_layer,
    "perplexity_by_layer": figures.perplexity_by_layer,
    "gender_shares": figures.gender_shares,
}
PAGES = {"sentences": figures.sentences}
