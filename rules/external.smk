# What somebody gives for encoders without weights, in place of what is read from a model: one job for a readout of all of
# them that a block asks for.
for JOB in [job for job in JOBS if job.rule.startswith("external_")]:

    rule:
        name:
            JOB.rule  # external_<readout>_<block>
        input:
            unpack(inputs_of(JOB.rule)),
        output:
            [directory(folder) for folder in JOB.outputs],
        log:
            f"{RESULTS}/logs/readouts/{JOB.rule}.log",
        conda:
            "../envs/light.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=30,
        params:
            code=code_of(JOB.rule, "external_readout"),
            own=user_files_of(JOB.rule),
            world=config["world"],
            readouts=param_of(JOB.rule, "readouts"),
        script:
            "../scripts/external_readout.py"
