"""Rule `given_measure`: a measure of somebody else's on one encoder, by the command that the configuration gives."""

import tempfile
from pathlib import Path

from _rule import by_role, model_folder, rule
from biasflow.base.tabular import write_csv
from biasflow.results.given import read_given, run_given

with rule(snakemake), tempfile.TemporaryDirectory() as folder:
    name, encoder, output = snakemake.wildcards.given, snakemake.wildcards.encoder, Path(folder, "output.csv")
    script = next(iter(by_role(snakemake.input, ["script"])["script"]), None)
    about = {"encoder": encoder, "folder": model_folder(snakemake.input.encoder), "output": output, "script": script}
    print(run_given(name, snakemake.params.command, **about))
    write_csv(read_given(name, encoder, output), snakemake.output[0])
