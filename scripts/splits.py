"""Rule `splits`: can all splits be balanced as their strategies need it? Found before anything is trained."""

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk):
        import pandas as pd

        from scripts.biasflow.base.tabular import read_parquet, write_csv
        from scripts.biasflow.tasks.occupation.data import keep_balanceable, split_counts

        biographies = read_parquet(smk.input.biographies)
        professions = pd.read_csv(smk.input.professions)
        keep_balanceable(biographies, professions, advice=smk.params.advice, **smk.params.splits)
        write_csv(split_counts(biographies, smk.params.splits["seeds"]), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
