"""Rule `nli_data_planted`: the embedded NLI pairs with known bias."""

from scripts._rule import rule
from scripts.biasflow.base.tabular import write_csv
from scripts.biasflow.corpora.nli import sources_table, write_nli
from scripts.biasflow.planted.nli import nli_pairs


def main(smk) -> None:
    with rule(smk) as facts:
        bias, seed = smk.params.bias, smk.params.seed
        facts["seed"] = seed
        parts = {
            part: nli_pairs(bias=bias, seed=seed, n=smk.params.pairs[part], part=part)
            for part in ("train", "validation", "test")
        }
        for part, pairs in parts.items():
            write_nli(pairs, smk.output[part])
        rows = [(part, f"planted, bias {bias:g}", len(pairs), 0) for part, pairs in parts.items()]
        write_csv(sources_table(rows), smk.output.sources)


if "snakemake" in globals():
    main(snakemake)
