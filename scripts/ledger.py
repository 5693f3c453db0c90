"""Rule `paper_ledger`: every printed number of the run's papers and published scores beside ours, its summary, and
errors in released code."""

import pandas as pd

from _rule import by_role, items, rule
from biasflow.base.tabular import read_text_csv, write_csv
from biasflow.papers.frames import Run, scores_and_plan
from biasflow.papers.ledger import CAPTIONS, ledger, of_items, released_errors, summary
from biasflow.papers.make import read_printed
from biasflow.papers.paper import load_tables
from biasflow.results.tables import write_table


def main(smk) -> None:
    with rule(smk):
        scores, plan = scores_and_plan(smk.input.scores, smk.input.plan, smk.input.reasons)
        names = read_text_csv(smk.input.names)
        runs = {}
        for name, (options, files) in smk.params.papers.items():
            printed = read_printed(name, options.get("folder"))
            runs[name] = Run(scores, plan, names, printed, items(smk.input, name, files), options)
        rows = pd.concat([ledger(runs), of_items(smk.params.item_files, scores, plan)], ignore_index=True)
        write_csv(rows, smk.output.whole)
        tables = {"ledger": rows, "ledger_summary": summary(rows), "released_errors": released_errors(scores)}
        for name, target in load_tables(CAPTIONS).items():
            paths = by_role(smk.output, [name])[name]
            write_table(tables[name], *paths, caption=target.caption, decimals=target.decimals)


if "snakemake" in globals():
    main(snakemake)
