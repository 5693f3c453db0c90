"""Rule `matrix`: methods x measures for every model, or why a cell is empty; as tables and on the page of the run."""

import os
from pathlib import Path

from _rule import by_role, rule
from biasflow.base.provenance import git_commit
from biasflow.base.records import record_file, result_of
from biasflow.base.tabular import read_parquet, read_text_csv, write_csv
from biasflow.corpora.verified import differing, remark
from biasflow.overview import agreement
from biasflow.overview.about import about, copies
from biasflow.overview.beside import bases
from biasflow.overview.calibrated import kind_of, own_calibrations
from biasflow.overview.contents import contents
from biasflow.overview.decisions import answers_of
from biasflow.overview.glossary import glossary
from biasflow.overview.notes import dropped_of_tasks, own_words
from biasflow.overview.overview import write_page, write_pictures, write_summary
from biasflow.results import power
from biasflow.results.differences import between_encoders
from biasflow.results.first_table import FirstTable, first_table
from biasflow.results.matrix import ROW, matrix, with_reasons, without_samples
from biasflow.results.scores import attributes, read_plan, read_scores
from biasflow.results.tables import write_table

with rule(snakemake):
    scores, reasons = read_scores(snakemake.input.scores), read_text_csv(snakemake.input.reasons)
    plan = read_plan(snakemake.input.plan, reasons)
    all_cells = with_reasons(matrix(scores, plan), reasons)
    matrix_table, plan, scores = map(without_samples, (all_cells, plan, scores))  # as tables and page show them
    names, encoders = read_text_csv(snakemake.input.names), read_text_csv(snakemake.input.encoders)
    groups, kinds = power.families(names), {name: kind_of(names, encoders, name) for name in encoders["encoder"]}
    calibrations = own_calibrations(encoders, snakemake.params.calibrated, snakemake.input.calibration)
    apart = between_encoders(scores, map(read_parquet, snakemake.input.get("resamples", [])), groups)
    trained_from = bases({groups.get(name, name): of for name, of in attributes(names).items()})
    dropped = dropped_of_tasks(snakemake.input.drops) + own_words(names, scores)
    kept = copies(names, encoders)
    answers = {(encoder, task): answers_of(Path(*file)) for encoder, task, *file in snakemake.params.decided}
    overview = contents(matrix_table, plan, scores, groups, kinds, calibrations, dropped, apart, kept, answers)
    write_csv(all_cells.merge(overview.verdicts, "left", on=ROW), snakemake.output.matrix)
    tables = {name: first_table(matrix_table, task) for name, task in snakemake.params.tables.items()}
    tables["power"] = FirstTable(power.power(scores, groups), {}, power.CAPTION)
    tables["agreement"] = FirstTable(overview.pairs, {}, agreement.CAPTION)
    files = read_text_csv(snakemake.input.files)
    paths = {name: by_role(snakemake.output, [f"{name}_table"])[f"{name}_table"] for name in tables}
    for name, table in tables.items():
        shown = {"caption": f"{table.caption} {remark(files)}".strip(), "decimals": 3, "headers": table.headers}
        write_table(table.frame, *paths[name], **shown)
    run, known = snakemake.config["run"], about(encoders, read_text_csv(snakemake.input.trainings), scores, names)
    write_page(
        overview,
        snakemake.output.page,
        about=known,
        glossary=glossary(matrix_table, names),
        run=run,
        commit=git_commit() or "",
        papers=snakemake.params.papers,
        tables={name: os.path.relpath(of[-1], Path(snakemake.output.page).parent) for name, of in paths.items()},
        files=remark(files),
        bases=trained_from,
        differing=differing(files),
        ledger=read_text_csv(*snakemake.input.ledger).to_dict("records") if snakemake.input.ledger else [],
    )
    write_pictures(overview, snakemake.output.pictures)
    page = result_of(record_file(snakemake.output.page))  # of a storage's, no copy that is deleted
    shown = {"about": known, "differing": differing(files), "bases": trained_from}
    write_summary(overview, snakemake.output.summary, run=run, page=page, **shown)
