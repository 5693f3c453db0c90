"""Rule `biographies`: the biographies of the run's files, scrubbed ones beside them, and which professions are used."""

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.corpora.bios import PROFESSIONS, collect_bios, keep_professions
        from scripts.biasflow.corpora.labour import read_labour
        from scripts.biasflow.tabular import write_csv, write_parquet
        from scripts.biasflow.tasks.occupation_data import profession_table
        from scripts.biasflow.text.scrub import scrubbed_texts

        data = smk.params.data
        known = PROFESSIONS if data["professions"] is None else data["professions"] or None
        biographies, sources = collect_bios(
            dict(zip(smk.params.names, smk.input.files, strict=True)), professions=known
        )
        biographies, professions = keep_professions(biographies, least=data["least"], small=data["small"])
        biographies["scrubbed"] = scrubbed_texts(biographies, terms=smk.params.scrubbing)
        write_parquet(biographies, smk.output.biographies)
        write_csv(profession_table(professions, read_labour(smk.input.labour)), smk.output.professions)
        write_csv(sources, smk.output.sources)
        facts["biographies"] = len(biographies)


if "snakemake" in globals():
    main(snakemake)
