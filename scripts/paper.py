"""Rule `paper_<name>`: a paper's tables and figures; `made_by` in its paper.yaml names the function that makes one."""

from _rule import by_role, items, rule
from biasflow.base.tabular import read_text_csv
from biasflow.corpora.verified import remark
from biasflow.papers.frames import Run, scores_and_plan
from biasflow.papers.make import make_paper, read_printed
from biasflow.papers.paper import load


def main(smk) -> None:
    with rule(smk):
        text = load(smk.params.paper, smk.params.options.get("folder"))
        scores, plan = scores_and_plan(smk.input.scores, smk.input.plan, smk.input.reasons)
        run = Run(
            scores=scores,
            plan=plan,
            names=read_text_csv(smk.input.names),
            printed=read_printed(text.name, text.folder),
            files=items(smk.input, text.name, smk.params.item_files),
            options=smk.params.options,
        )
        about_files = remark(read_text_csv(smk.input.files))
        make_paper(text, run, by_role(smk.output, smk.output.keys()), remark=about_files)


if "snakemake" in globals():
    main(snakemake)
