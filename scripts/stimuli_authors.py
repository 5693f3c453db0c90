"""Rule `stimuli_authors`: the triple pairs of the authors' own gender-swapped file."""

from _rule import rule
from biasflow.base.tabular import write_csv
from biasflow.corpora.stereoset import read_gender_swapped


def main(smk) -> None:
    with rule(smk):
        write_csv(read_gender_swapped(smk.input.authors), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
