"""Rule `stereoset_changes`: what the authors dropped and mended in StereoSet."""

from _rule import rule
from biasflow.base.tabular import write_csv
from biasflow.corpora.stereoset import changes, read_gender_swapped, read_stereoset

with rule(snakemake):
    write_csv(
        changes(read_stereoset(snakemake.input.stereoset), read_gender_swapped(snakemake.input.authors)),
        snakemake.output[0],
    )
