"""Rule `nli_data`: training, validation and test pairs, and where they are from."""

from scripts._rule import rule
from scripts.biasflow.base.tabular import write_csv
from scripts.biasflow.corpora.nli import collect_parts, write_nli


def main(smk) -> None:
    with rule(smk) as facts:
        files = {part: dict(zip(names, smk.input[part], strict=True)) for part, names in smk.params.files.items()}
        parts, sources = collect_parts(files, validation_share=smk.params.validation_share, seed=smk.params.seed)
        facts |= {"seed": smk.params.seed, "pairs": {part: len(pairs) for part, pairs in parts.items()}}
        for part, pairs in parts.items():
            write_nli(pairs, smk.output[part])
        write_csv(sources, smk.output.sources)


if "snakemake" in globals():
    main(snakemake)
