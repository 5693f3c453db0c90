"""Rule `biographies`: the biographies of the run's files, scrubbed ones beside them, and which professions are used."""

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.tabular import write_csv, write_parquet
        from scripts.biasflow.corpora.bios import PROFESSIONS, collect_bios, keep_professions
        from scripts.biasflow.corpora.labour import read_labour
        from scripts.biasflow.tasks.occupation.data import keep_balanceable, profession_table
        from scripts.biasflow.text.scrub import scrubbed_texts

        data, labour = smk.params.data, read_labour(smk.input.labour)
        known = PROFESSIONS if data["professions"] is None else data["professions"] or None
        biographies, sources = collect_bios(
            dict(zip(smk.params.names, smk.input.files, strict=True)), professions=known
        )
        biographies, professions = keep_professions(biographies, least=data["least"], small=data["small"])
        if data["small"] == "drop":  # otherwise rule `splits` tries them: new seeds must not make the biographies anew
            biographies, professions = keep_balanceable(
                biographies, professions, small="drop", advice="give more biographies", **smk.params.splits
            )
        biographies["scrubbed"] = scrubbed_texts(biographies, terms=smk.params.scrubbing)
        write_parquet(biographies, smk.output.biographies)
        write_csv(profession_table(professions, labour), smk.output.professions)
        write_csv(sources, smk.output.sources)
        facts["biographies"] = len(biographies)


if "snakemake" in globals():
    main(snakemake)
