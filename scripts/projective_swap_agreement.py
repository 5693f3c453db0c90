"""Rule `projective_swap_agreement`: our gender swapper against the authors' gender-swapped file."""

import pandas as pd

from scripts._rule import rule
from scripts.biasflow.base.tabular import read_text_csv, write_csv
from scripts.biasflow.papers.dawkins2024.tables import CAPTIONS
from scripts.biasflow.results.tables import write_table
from scripts.biasflow.text.swap_agreement import compare


def main(smk) -> None:
    with rule(smk):
        set_aside = next(path for path in smk.input.lexicon if path.endswith("set_aside.csv"))
        disagreements, summary = compare(read_text_csv(smk.input.stimuli), pd.read_csv(set_aside, dtype=str))
        write_csv(disagreements, smk.output.disagreements)
        write_table(summary, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS["swap_agreement"])


if "snakemake" in globals():
    main(snakemake)
