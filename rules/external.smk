# What somebody gives for an encoder without weights, in place of what is read from a model: one rule for all readouts.


rule external_readout:
    input:
        named(FIND.readings.given_files_and_data),
    output:
        directory(f"{RESULTS}/readouts/{{encoder}}/{{training}}/{{block}}/{{readout}}"),
    log:
        f"{RESULTS}/logs/readouts/{{encoder}}/{{training}}/{{block}}/{{readout}}.log",
    wildcard_constraints:
        encoder=of_source("external"),
        readout=one_of(name for name, readout in READOUTS.items() if readout.external),
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        code=lambda wildcards: code("external_readout", FIND.readings.given_module(wildcards)),
        own=own(FIND.readings.given_files_and_data),
        readout=FIND.readings.given_params,
    script:
        "../scripts/external_readout.py"
