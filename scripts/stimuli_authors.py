"""Rule `stimuli_authors`: the triple pairs of the authors' own gender-swapped file."""

from scripts._rule import rule
from scripts.biasflow.base.tabular import write_csv
from scripts.biasflow.corpora.stereoset import read_gender_swapped


def main(smk) -> None:
    with rule(smk):
        write_csv(read_gender_swapped(smk.input.authors), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
