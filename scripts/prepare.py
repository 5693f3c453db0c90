"""Rules that make data: `prepare` of a module fills their outputs."""

import importlib
from pathlib import Path

from _rule import by_role, rule


def main(smk) -> None:
    with rule(smk) as facts:
        step = smk.params.prepare
        outputs = {role: Path(path) for role, path in smk.output.items()}
        module = importlib.import_module(step["module"])
        facts |= module.prepare(by_role(smk.input, step["roles"]), outputs, **step["options"])


if "snakemake" in globals():
    main(snakemake)
