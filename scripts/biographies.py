"""Rule `biographies`: the biographies of a task, scrubbed ones beside them, and which professions are used."""

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.tabular import write_csv, write_parquet
        from scripts.biasflow.corpora.labour import read_labour
        from scripts.biasflow.tasks.occupation.collect import from_files, planted

        data, task = smk.params.task["data"], smk.wildcards.task
        if data == "planted":
            found = planted(task, **smk.params.task["planted"])
        else:
            files = dict(zip(data["files"], smk.input.files, strict=True))
            found = from_files(files, data, read_labour(smk.input.labour), splits=smk.params.splits)
        biographies = found.scrubbed(smk.params.task["scrubbing"])
        write_parquet(biographies, smk.output.biographies)
        write_csv(found.professions, smk.output.professions)
        write_csv(found.sources, smk.output.sources)
        facts["biographies"] = len(biographies)


if "snakemake" in globals():
    main(snakemake)
