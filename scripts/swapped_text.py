"""Rule `swapped_text`: a text with the genders swapped, for encoders that are trained on both."""

from _rule import rule
from biasflow.base.files import read_text, write_text
from biasflow.text.gender_swap import swap_gender

with rule(snakemake) as facts:
    lines = read_text(snakemake.input.text).splitlines(keepends=True)
    swapped = [swap_gender(line) for line in lines]
    facts |= {"lines": len(lines), "changed": sum(a != b for a, b in zip(lines, swapped, strict=True))}
    write_text(snakemake.output[0], "".join(swapped))
