"""Rule `biographies_planted`: the embedded biographies with a known bias, scrubbed ones beside them."""

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        import pandas as pd

        from scripts.biasflow.base.tabular import write_csv, write_parquet
        from scripts.biasflow.corpora.bios import keep_professions
        from scripts.biasflow.planted.bios import biographies
        from scripts.biasflow.planted.world import load_world
        from scripts.biasflow.tasks.occupation.data import profession_table
        from scripts.biasflow.text.scrub import scrubbed_texts

        planted = smk.params.planted
        table = biographies(bias=planted["bias"], seed=planted["seed"], n=planted["biographies"])
        table, professions = keep_professions(table, least=2, advice="raise internal.planted.biographies")
        table["scrubbed"] = scrubbed_texts(table, terms=smk.params.scrubbing)
        write_parquet(table, smk.output.biographies)
        write_csv(profession_table(professions, pd.Series(load_world().shares)), smk.output.professions)
        facts |= {"seed": planted["seed"], "biographies": len(table)}


if "snakemake" in globals():
    main(snakemake)
