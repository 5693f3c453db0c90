"""Rule `stimuli_swapped`: StereoSet's gender triples, swapped by our own swapper."""

from scripts._rule import rule
from scripts.biasflow.base.tabular import write_csv
from scripts.biasflow.corpora.stereoset import read_stereoset
from scripts.biasflow.text.gender_swap import swap_stimuli


def main(smk) -> None:
    with rule(smk):
        write_csv(swap_stimuli(read_stereoset(smk.input.stereoset)), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
