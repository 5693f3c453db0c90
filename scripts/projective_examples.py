"""Rules `projective_table1`, `3` and `4`: example triples with our model's probabilities."""

from itertools import product

from scripts._rule import rule
from scripts.biasflow.base.tabular import read_parquet, read_text_csv
from scripts.biasflow.papers.dawkins2024.tables import CAPTIONS, examples
from scripts.biasflow.papers.published import read_published
from scripts.biasflow.results.tables import combine, write_table

# By which of the printed identifiers a stimuli set names its triples.
IDS = {"stereoset-authors": "context_id", "stereoset-swapped": "stereoset_id"}
DECIMALS = {1: 5, 3: 4, 4: 4}  # as printed


def main(smk) -> None:
    with rule(smk):
        published, number = read_published("dawkins2024_tables1_3_4"), smk.params.number
        stimuli = dict(zip(smk.params.stimuli, map(read_text_csv, smk.input.stimuli), strict=True))
        blocks = zip(product(smk.params.encoders, smk.params.stimuli), smk.input.probabilities, strict=True)
        rows = combine(
            {
                (encoder, name): examples(number, stimuli[name], read_parquet(path), published, ids=IDS.get(name))
                for (encoder, name), path in blocks
            }
        )
        write_table(
            rows,
            smk.output.csv,
            smk.output.tex,
            smk.output.html,
            caption=CAPTIONS[f"table{number}"],
            decimals=DECIMALS[number],
        )


if "snakemake" in globals():
    main(snakemake)
