"""Rule `projective_audit`: do the numbers that the paper prints agree with each other?"""

from scripts._rule import rule
from scripts.biasflow.papers.dawkins2024.audit.audit import CAPTION, audit
from scripts.biasflow.papers.published import read_published
from scripts.biasflow.results.tables import write_table

PRINTED = ("table5", "table6", "table7", "text", "tables1_3_4")


def main(smk) -> None:
    with rule(smk):
        audited = audit(*(read_published(f"dawkins2024_{name}") for name in PRINTED))
        write_table(audited, smk.output.csv, smk.output.tex, smk.output.html, caption=CAPTION)


if "snakemake" in globals():
    main(snakemake)
