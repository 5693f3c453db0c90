"""Rule `glue_data`: training and validation examples of one GLUE task."""

from scripts._rule import rule
from scripts.biasflow.base.tabular import write_csv
from scripts.biasflow.corpora.glue import read_glue


def main(smk) -> None:
    with rule(smk) as facts:
        for part, paths in (("train", smk.input.train), ("validation", smk.input.validation)):
            data = read_glue(smk.wildcards.task, smk.params.parts[part], paths)
            facts[part] = {"examples": len(data.examples), "dropped": data.dropped, "published": data.published}
            write_csv(data.examples, smk.output[part])


if "snakemake" in globals():
    main(snakemake)
