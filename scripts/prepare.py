"""Rules that make data: `prepare` of a module fills their outputs."""

import importlib
from pathlib import Path

from _rule import by_role, rule

with rule(snakemake) as facts:
    step = snakemake.params.prepare
    outputs = {role: Path(path) for role, path in snakemake.output.items()}
    module = importlib.import_module(step["module"])
    facts |= module.prepare(by_role(snakemake.input, step["roles"]), outputs, **step["options"])
