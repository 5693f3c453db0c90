"""Rule `nli_data`: training, validation and test pairs of a task, and where they are from."""

from scripts._rule import rule
from scripts.biasflow.base.tabular import write_csv
from scripts.biasflow.corpora.nli import collect_parts, write_nli
from scripts.biasflow.planted.nli import planted_parts


def main(smk) -> None:
    with rule(smk) as facts:
        task = smk.params.task
        if task["data"] == "planted":
            parts, sources = planted_parts(**task["planted"])
        else:
            given = {part: names for part, names in task["data"].items() if isinstance(names, list)}
            files = {part: dict(zip(names, smk.input[part], strict=True)) for part, names in given.items()}
            share = task["data"]["validation_share"]
            parts, sources = collect_parts(files, validation_share=share, seed=smk.params.seed)
        facts |= {"seed": smk.params.seed, "pairs": {part: len(pairs) for part, pairs in parts.items()}}
        for part, pairs in parts.items():
            write_nli(pairs, smk.output[part])
        write_csv(sources, smk.output.sources)


if "snakemake" in globals():
    main(snakemake)
