# What somebody gives for encoders without weights, in place of what is read from a model: one job for a readout of all of
# them that a block asks for.
for (BLOCK, READOUT), JOBS in FIND.readings.external_jobs().items():
    GIVEN = FIND.readings.given_files_and_data(JOBS)

    rule:
        name:
            f"external_{READOUT}_{BLOCK}"
        input:
            **{role: here(files) for role, files in GIVEN.items()},
        output:
            [directory(PATHS.readout(*job)) for job in JOBS],
        log:
            f"{RESULTS}/logs/readouts/external/{BLOCK}/{READOUT}.log",
        conda:
            "../envs/light.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=30,
        params:
            code=code("external_readout", *FIND.readings.given_modules(JOBS)),
            own=own(**GIVEN),
            readouts=FIND.readings.given_params(JOBS),
        script:
            "../scripts/external_readout.py"
