# Erasers, fitted to a model: all methods of a paper, or of a block that is asked for, in one job.


rule fit_methods:
    input:
        unpack(inputs_of("fit_methods")),
    output:
        methods=f"{RESULTS}/methods/{{encoder}}/{{training}}/{{group}}.safetensors",
        about=directory(f"{RESULTS}/methods/{{encoder}}/{{training}}/{{group}}.about"),
    log:
        f"{RESULTS}/logs/methods/{{encoder}}/{{training}}/{{group}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/fit_methods/{{encoder}}/{{training}}/{{group}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: threads_for
    resources:
        mem_mb=memory_of("fit_methods", 8000),
        runtime=minutes_of("fit_methods", 120),
        gpu=GPUS,
    params:
        code=code_of("fit_methods", "fit_methods"),
        own=user_files_of("fit_methods"),
        fit=param_of("fit_methods", "fit"),
        device=DEVICE,
    script:
        "../scripts/fit_methods.py"
