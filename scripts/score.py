"""Rule `score`: all scores of a model that one block asks for, made of its readouts."""

import importlib

from scripts._rule import rule
from scripts.biasflow.results.scores import concatenate, tidy, write_scores


def main(smk) -> None:
    with rule(smk):
        tables = []
        for job in smk.params.jobs:
            with_files = {role: smk.input[role][0] for role in job["roles"]}
            rows = importlib.import_module(job["module"]).score(job["readout"], **with_files, **job["options"])
            rows = rows[rows["method"].isin(job["methods"])]  # those of another metric may be read beside them
            keys = {"dataset": job["dataset"]} if "dataset" not in rows else {}
            tables.append(tidy(rows, **keys, **smk.params.model))
        write_scores(concatenate(tables), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
