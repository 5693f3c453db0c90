"""Rule `stimuli_authors`: the triple pairs of the authors' own gender-swapped file."""

from _rule import rule
from biasflow.base.tabular import write_csv
from biasflow.corpora.stereoset import read_gender_swapped

with rule(snakemake):
    write_csv(read_gender_swapped(snakemake.input.authors), snakemake.output[0])
