"""Rule `score`: all scores of a model that one block asks for, made of its readouts."""

from pathlib import Path

import pandas as pd

from _rule import dataset_files, rule
from biasflow.base.by_name import module_named
from biasflow.base.errors import AbsentError
from biasflow.base.sample import marked
from biasflow.base.tabular import write_csv, write_parquet
from biasflow.metrics.items import left_out_rows, scorer
from biasflow.readouts.files import left_out_of, reason_of, reasons_of
from biasflow.registry import TRAINING
from biasflow.results.changes import COLUMNS, digest_of_items, resampled_measures
from biasflow.results.draws import of_measures_alone
from biasflow.results.scores import HOLES, OF_MEASURES, concatenate, tidy, undefined, with_silent, write_scores

with rule(snakemake):
    tables, drawn, holes, failed = [], [], [], []
    for job in snakemake.params.jobs:
        readout = Path(snakemake.input[job["readout"]]) / job["file"]
        reasons = reasons_of(readout)
        about = {**snakemake.params.model, "metric": job["metric"], "dataset": job["dataset"]}
        if not set(job["methods"]) <= set(reasons):
            files = {role: path for role, (path,) in dataset_files(snakemake.input, job["inputs"]).items()}
            try:
                score = scorer(module_named(job["module"]), job["metric"])
                rows = score(readout, **files, **job["options"])
                of_measures = rows.attrs.get(OF_MEASURES, {})
                rows = rows[rows["method"].isin(job["methods"])]  # those of another metric may be read beside them
                rows = of_measures_alone(rows, job["measures"])
                if job["metric"] != TRAINING:  # which is of the fine-tuning, whatever it is measured under
                    reasons = with_silent(reasons, job["methods"], rows["method"]) | undefined(rows, job["measures"])
                # A training names its own parts.
                datasets = [marked(name, job["limits"]) for name in rows["dataset"]] if "dataset" in rows else None
                keys = {**snakemake.params.model, "dataset": datasets or job["dataset"]}
                come_from, left_out = dataset_files(snakemake.input, job["items"]), left_out_of(readout).reasons
                items = digest_of_items(come_from, job["chosen_by"], left_out)
                drawn.append(resampled_measures(rows, job["measures"], items, **keys))
                tables.append(tidy(rows, **keys))
                left_out = left_out_rows(readout, job["metric"], [*dict.fromkeys(rows["method"])])
                tables.append(tidy(left_out.assign(dataset=job["dataset"]), **snakemake.params.model))
            except Exception as error:  # its own: the other scores are kept
                reasons = dict.fromkeys(job["methods"], reason_of(error, snakemake.log[0])) | reasons
                failed += [] if isinstance(error, AbsentError) else [error]
            else:
                measured = [name for name in job["methods"] if name not in reasons]
                holes += [
                    {**about, "metric": measure, "method": name, "reason": why}
                    for measure, why in of_measures.items()
                    for name in measured
                ]
        holes += [about | {"method": name, "reason": reasons[name]} for name in job["methods"] if name in reasons]
    if failed and len(failed) == len(snakemake.params.jobs):
        raise failed[0]
    write_scores(concatenate(tables), snakemake.output.scores)
    write_csv(pd.DataFrame(holes, columns=HOLES), snakemake.output.reasons)
    write_parquet(pd.concat([pd.DataFrame(columns=COLUMNS), *drawn]), snakemake.output.resamples)
