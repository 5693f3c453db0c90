"""The targets of the paper, by the names of its paper.yaml."""

from functools import partial

from biasflow.papers.orgad2022.ceat import ceat, contexts
from biasflow.papers.orgad2022.correlations import correlations
from biasflow.papers.orgad2022.documents import data_coreference
from biasflow.papers.orgad2022.examples import figure2
from biasflow.papers.orgad2022.figures import figure3, figure4, figure5, figure6, figure7
from biasflow.papers.orgad2022.fits import table2, table6
from biasflow.papers.orgad2022.halves import COREFERENCE, RAW, SCRUBBED
from biasflow.papers.orgad2022.overview import table1, table1b
from biasflow.papers.orgad2022.stages import table3, table4, table5, table7, table8
from biasflow.papers.orgad2022.words import data, gender_told, table9, table10

_TABLES = (
    table1,
    table1b,
    table2,
    table3,
    table4,
    table5,
    table6,
    table7,
    table8,
    table9,
    table10,
    gender_told,
    correlations,
    ceat,
    contexts,
    data,
    data_coreference,
)
TABLES = {function.__name__: function for function in _TABLES}
TABLES |= {
    f"{function.__name__}_coreference": partial(function, half=COREFERENCE) for function in (table2, correlations, ceat)
}
FIGURES = {
    function.__name__ + suffix: partial(function, tested=tested)
    for suffix, tested in (("", RAW), ("_scrubbed", SCRUBBED))
    for function in (figure3, figure5, figure7)
}
FIGURES |= {function.__name__: function for function in (figure4, figure6)}
PAGES = {"figure2": figure2}
