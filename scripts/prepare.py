"""Rules that make data: `prepare` of a module fills their outputs."""

from pathlib import Path

from _rule import by_role, rule
from biasflow.base.by_name import module_named

with rule(snakemake) as facts:
    step = snakemake.params.prepare
    outputs = {role: Path(path) for role, path in snakemake.output.items()}
    module = module_named(step["module"])
    facts |= module.prepare(by_role(snakemake.input, step["roles"]), outputs, **step["options"])
