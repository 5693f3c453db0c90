"""Rule `glue_data`: training and validation examples of one GLUE task, or the embedded pairs as one."""

from scripts._rule import rule
from scripts.biasflow.base.tabular import write_csv
from scripts.biasflow.corpora.glue import read_glue
from scripts.biasflow.planted.nli import planted_parts

PLANTED = {"train": "train", "validation": "test"}  # embedded pairs: nothing is selected on the test part


def main(smk) -> None:
    with rule(smk) as facts:
        data = smk.params.task["data"]
        if data == "planted-nli":
            parts, _ = planted_parts(**smk.params.task["planted"])
            for part, source in PLANTED.items():
                write_csv(parts[source], smk.output[part])
            return
        for part in ("train", "validation"):
            name = "validation_matched" if (data, part) == ("mnli", "validation") else part
            found = read_glue(data, name, smk.input[part])
            facts[part] = {"examples": len(found.examples), "dropped": found.dropped, "published": found.published}
            write_csv(found.examples, smk.output[part])


if "snakemake" in globals():
    main(snakemake)
