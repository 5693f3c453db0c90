"""Rule `top_words`: the words that tell gender in scrubbed biographies, and then those that still do."""

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk):
        import pandas as pd

        from scripts.biasflow.base.tabular import read_parquet, write_csv
        from scripts.biasflow.tasks.occupation.gender_classifier import ALL, of_profession, top_words

        biographies = read_parquet(smk.input.biographies)
        chosen = smk.params.options
        options = {
            "seeds": chosen["seeds"],
            "iterations": chosen["iterations"],
            "n": chosen["words"],
            "min_texts": chosen["least"],
        }
        parts = {name: of_profession(biographies, name) for name in (ALL, chosen["profession"])}
        tables = [
            top_words(part["scrubbed"].tolist(), part["gender"].tolist(), **options).assign(part=name)
            for name, part in parts.items()
        ]
        write_csv(pd.concat(tables, ignore_index=True), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
