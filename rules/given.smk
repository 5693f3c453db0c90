# Measures of others: their command is run on each encoder of a study that judges measures.


rule given_measure:
    input:
        encoder=lambda wildcards: here(FIND.encoders.files(wildcards.encoder)),
        script=lambda wildcards: here(FIND.given_script(wildcards.given)),
    output:
        f"{RESULTS}/given/{{given}}/{{encoder}}.csv",
    log:
        f"{RESULTS}/logs/given/{{given}}/{{encoder}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/given/{{given}}/{{encoder}}.tsv"
    wildcard_constraints:
        given=one_of(config["given"]),
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(8000),
        runtime=240,
    params:
        code=code("given_measure"),
        command=lambda wildcards: config["given"][wildcards.given]["command"],
        own=own(
            encoder=lambda wildcards: FIND.encoders.files(wildcards.encoder),
            script=lambda wildcards: FIND.given_script(wildcards.given),
        ),
    script:
        "../scripts/given_measure.py"
