"""Rules `external_<readout>_<block>`: files that encoders of source external give, made the readouts that they stand
for. What is wrong with a file is the reason of its own cells; the job fails if no file can be read."""

from _rule import OF_OUTPUT, dataset_files, rule
from biasflow.base.by_name import module_named
from biasflow.base.errors import AbsentError
from biasflow.base.files import whole_folder
from biasflow.readouts.files import reason_of, write_left_out, write_reasons

UNTOUCHED = "none"

with rule(snakemake) as facts:
    tried, failed = 0, []
    for output, readouts in zip(snakemake.output, snakemake.params.readouts, strict=True):
        of_output = facts.setdefault(OF_OUTPUT, {})[output] = {}
        with whole_folder(output) as folder:
            for readout in readouts:
                module, path = module_named(readout["module"]), folder / readout["file"]
                data = dataset_files(snakemake.input, readout["inputs"])
                tried += 1
                try:
                    about = module.read(data.pop("given"), data, path, **readout["options"])
                    write_left_out(path, about)
                    of_output[readout["dataset"]] = about
                except Exception as error:  # its own: the other files are read
                    write_reasons(path, {UNTOUCHED: reason_of(error, snakemake.log[0])})
                    failed += [] if isinstance(error, AbsentError) else [error]
    if failed and len(failed) == tried:
        raise failed[0]
