"""The targets made from a run for this paper, by the names of paper.yaml.

Beside the scores, the plan and the names (kind method, attribute `setting`: the one setting of the grid that a method
of `during` is, such as "sent 0") they are made of these files of a run, by role and key:

    stimuli             <stimuli>                            triples with their swapped copies, CSV
    next_sentence       <encoder>/<stimuli>                  readout of the untouched model at least: Parquet with the
                                                             columns method, setting, triple, label, swapped, p
    stereoset-changes   stereoset-changes                    what the authors dropped or mended, CSV
    explained_variance  <encoder>                            method, subspace, upstream, head, component,
                                                             explained_variance; CSV
    sentence_pairs      <encoder>                            set, kept: the pairs that they were fitted to, CSV
    training            <encoder>/<task>/<strategy>/seed<n>  what a fine-tuning wrote of itself, JSON
    sources             <task>                               part, source, pairs, dropped of the task's data, CSV
    occupation_pairs    <task>                               the gender-occupation pairs, JSON

A role or key that is absent is a measurement that was not run; the last two are needed where there is a training.
Options of the run are those of papers.dawkins2024, and `tops` (shares of triples) and `selection` (of the pairs)."""

from biasflow.papers.dawkins2024.correlations import correlations
from biasflow.papers.dawkins2024.downstream import finetuning, nli_intervals, table6
from biasflow.papers.dawkins2024.examples import table1, table2, table3, table4
from biasflow.papers.dawkins2024.figures import strength_distance, strength_fairness
from biasflow.papers.dawkins2024.rows import with_own_levels
from biasflow.papers.dawkins2024.table7 import table7
from biasflow.papers.dawkins2024.tables import rank_agreement, subspaces, table5
from biasflow.papers.dawkins2024.text import text

TABLES = {
    "table1": table1,
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "table5": with_own_levels(table5),
    "table6": with_own_levels(table6),
    "table7": with_own_levels(table7),
    "correlations": with_own_levels(correlations),
    "nli_intervals": with_own_levels(nli_intervals),
    "text": text,
    "rank_agreement": rank_agreement,
    "finetuning": finetuning,
    "subspaces": subspaces,
}
FIGURES = {"strength_distance": strength_distance, "strength_fairness": strength_fairness}
