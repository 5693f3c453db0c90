# What is read from a model under methods: one rule per readout, and one for those of a narrow encoder that are read
# together, all of one shape. A job reads all datasets of a block.


def code_of_readout(name):
    """Wildcards -> the code of a job that reads: its script, and the modules that it imports by name."""
    modules = FIND.readings.modules(name)
    return lambda wildcards: code("read", *modules(wildcards))


def spares_of_readout(name):
    """Wildcards -> files that spare a readout work, whatever their age."""
    spares = FIND.readings.spares(name)
    return lambda wildcards: ancient(spares(wildcards))


for NAME, READOUT in JOBS_OF_READOUTS.items():

    rule:
        name:
            rule_of(NAME)
        input:
            named(FIND.readings.model_and_data(NAME)),
            spares=spares_of_readout(NAME),
        output:
            directory(f"{RESULTS}/readouts/{{encoder}}/{{training}}/{{block}}/{NAME}"),
        log:
            f"{RESULTS}/logs/readouts/{{encoder}}/{{training}}/{{block}}/{NAME}.log",
        benchmark:
            f"{RESULTS}/benchmarks/{NAME}/{{encoder}}/{{training}}/{{block}}.tsv"
        wildcard_constraints:
            encoder=one_of(
                {job.encoder: None for job in FIND.readings.jobs(NAME) if not SETUP.encoders[job.encoder].is_external}
            ),
        conda:
            "../envs/torch.yaml"
        threads: threads_for
        resources:
            mem_mb=memory(READOUT.memory),
            runtime=READOUT.runtime,
            gpu=GPUS,
        params:
            code=code_of_readout(NAME),
            own=own(FIND.readings.model_and_data(NAME)),
            readout=FIND.readings.params(NAME),
            device=DEVICE,
            deterministic=config["deterministic"],
        script:
            "../scripts/read.py"
