"""Rule `paper_ledger`: every printed number of the run's papers and published scores beside ours, its summary, and
errors in released code."""

import pandas as pd

from _rule import by_role, items, rule, weights_of
from biasflow.base.tabular import read_text_csv, write_csv
from biasflow.papers.frames import Run, scores_and_plan, with_weights
from biasflow.papers.ledger import CAPTIONS, ledger, of_items, released_errors, summary
from biasflow.papers.paper import load_tables
from biasflow.papers.rows import read_printed
from biasflow.results.tables import write_table

with rule(snakemake):
    of_run = snakemake.input
    scores, plan = scores_and_plan(
        [of_run.scores],
        of_run.plan,
        [of_run.reasons],
        limited=any("sample" in options for options, _ in snakemake.params.papers.values()),
    )
    names = with_weights(read_text_csv(snakemake.input.names), weights_of(snakemake.input))
    runs = {}
    for name, (options, files) in snakemake.params.papers.items():
        printed = read_printed(name, options.get("folder"))
        runs[name] = Run(scores, plan, names, printed, items(snakemake.input, name, files), options)
    rows = pd.concat([ledger(runs), of_items(snakemake.params.item_files, scores, plan)], ignore_index=True)
    write_csv(rows, snakemake.output.whole)
    tables = {"ledger": rows, "ledger_summary": summary(rows), "released_errors": released_errors(scores)}
    for name, target in load_tables(CAPTIONS).items():
        paths = by_role(snakemake.output, [name])[name]
        write_table(tables[name], *paths, caption=target.caption, decimals=target.decimals)
