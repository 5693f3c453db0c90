"""Rule `stimuli_swapped`: StereoSet's gender triples, swapped by our own swapper."""

from _rule import rule
from biasflow.base.tabular import write_csv
from biasflow.corpora.stereoset import read_stereoset
from biasflow.text.gender_swap import swap_stimuli

with rule(snakemake):
    write_csv(swap_stimuli(read_stereoset(snakemake.input.stereoset)), snakemake.output[0])
