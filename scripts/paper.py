"""Rule `paper_<name>`: a paper's tables and figures; `made_by` in its paper.yaml names the function that makes one."""

import pandas as pd

from _rule import by_role, items, rule, weights_of
from biasflow.base.tabular import read_text_csv
from biasflow.corpora.verified import COLUMNS, origin_of, remark
from biasflow.papers.frames import Run, scores_and_plan, with_weights
from biasflow.papers.make import make_paper
from biasflow.papers.paper import load
from biasflow.papers.rows import read_printed

with rule(snakemake):
    text = load(snakemake.params.paper, snakemake.params.options.get("folder"))
    files, told = by_role(snakemake.input, ["scores", "reasons", "external"]), snakemake.params
    scores, plan = scores_and_plan(
        files["scores"], snakemake.input.plan, files["reasons"], told.scored, limited="sample" in told.options
    )
    run = Run(
        scores=scores,
        plan=plan,
        names=with_weights(read_text_csv(snakemake.input.names), weights_of(snakemake.input)),
        printed=read_printed(text.name, text.folder),
        files=items(snakemake.input, text.name, snakemake.params.item_files),
        options=snakemake.params.options,
    )
    about_files = remark(pd.DataFrame(map(origin_of, files["external"]), columns=COLUMNS).astype(str))
    make_paper(text, run, by_role(snakemake.output, snakemake.output.keys()), remark=about_files)
