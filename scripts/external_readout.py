"""Rules `external_<readout>_<block>`: files that encoders of source external give, made the readouts that they stand
for."""

from _rule import OF_OUTPUT, dataset_files, rule
from biasflow.base.by_name import module_named
from biasflow.base.errors import AbsentError
from biasflow.base.files import whole_folder
from biasflow.readouts.files import write_left_out, write_reasons

UNTOUCHED = "none"

with rule(snakemake) as facts:
    for output, readouts in zip(snakemake.output, snakemake.params.readouts, strict=True):
        of_output = facts.setdefault(OF_OUTPUT, {})[output] = {}
        with whole_folder(output) as folder:
            for readout in readouts:
                module, path = module_named(readout["module"]), folder / readout["file"]
                data = dataset_files(snakemake.input, readout["inputs"])
                try:
                    about = module.read(data.pop("given"), data, path, **readout["options"])
                    write_left_out(path, about)
                    of_output[readout["dataset"]] = about
                except AbsentError as error:
                    write_reasons(path, {UNTOUCHED: str(error)})
