"""Rule `swapped_text`: a text with the genders swapped, for encoders that are trained on both."""

from _rule import rule
from biasflow.base.files import read_text, whole_file
from biasflow.text.gender_swap import swap_gender

with rule(snakemake) as facts:
    lines = read_text(snakemake.input.text).splitlines(keepends=True)
    swapped = [swap_gender(line) for line in lines]
    facts |= {"lines": len(lines), "changed": sum(a != b for a, b in zip(lines, swapped, strict=True))}
    with whole_file(snakemake.output[0]) as temporary:
        temporary.write_text("".join(swapped), encoding="utf-8")
