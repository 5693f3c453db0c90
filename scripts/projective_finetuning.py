"""Rule `projective_finetuning`: which data the encoders were fine-tuned and measured on."""

import json
from pathlib import Path

import pandas as pd

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.downstream import finetuning
from scripts.biasflow.papers.dawkins2024.tables import CAPTIONS
from scripts.biasflow.results.tables import write_table
from scripts.biasflow.text.occupation_pairs import load_pairs


def main(smk) -> None:
    with rule(smk):
        facts = [json.loads(Path(path).read_text(encoding="utf-8")) for path in smk.input.training]
        rows = finetuning(
            pd.read_csv(smk.input.sources),
            dict(zip(smk.params.finetunings, facts, strict=True)),
            selection=smk.params.selection,
            pairs=len(load_pairs(smk.input.pairs)),
            not_run=smk.params.not_run,
        )
        write_table(rows, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTIONS["finetuning"])


if "snakemake" in globals():
    main(snakemake)
