"""Rule `stereoset_changes`: what the authors dropped and mended in StereoSet."""

from _rule import rule
from biasflow.base.tabular import write_csv
from biasflow.corpora.stereoset import changes, read_gender_swapped, read_stereoset


def main(smk) -> None:
    with rule(smk):
        write_csv(changes(read_stereoset(smk.input.stereoset), read_gender_swapped(smk.input.authors)), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
