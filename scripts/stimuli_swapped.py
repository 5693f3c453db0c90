"""Rule `stimuli_swapped`: StereoSet's gender triples, or a user's, swapped by our own swapper."""

from _rule import rule
from biasflow.base.tabular import write_csv
from biasflow.corpora.stereoset import read_stereoset
from biasflow.stimuli.triples import own_stimuli
from biasflow.text.gender_swap import swap_stimuli

with rule(snakemake):
    if snakemake.params.is_own:
        stimuli = own_stimuli(snakemake.input.triples)
    else:
        stimuli = swap_stimuli(read_stereoset(snakemake.input.triples))
    write_csv(stimuli, snakemake.output[0])
