# Measures of others: their command is run on each encoder of a study that judges measures.


rule given_measure:
    input:
        unpack(inputs_of("given_measure")),
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
        command=param_of("given_measure", "command"),
        own=user_files_of("given_measure"),
    script:
        "../scripts/given_measure.py"
