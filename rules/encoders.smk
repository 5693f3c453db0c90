# Encoders: downloaded from the hub, pre-trained, or trained on. Local folders are used where they lie.
PRETRAINED = [name for name, encoder in SETUP.encoders.items() if encoder.source == "pretrain"]


# As with other downloads the code is no input: what comes is checked against its sha256.
rule download_encoder:
    output:
        directory(f"{RESULTS}/encoders/{{encoder}}"),
    log:
        f"{RESULTS}/logs/encoders/{{encoder}}.log",
    wildcard_constraints:
        encoder=having("encoders", "source", "hub"),
    localrule: True
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        encoder=param_of("download_encoder", "encoder"),
    script:
        "../scripts/download_encoder.py"


rule pretrain:
    input:
        unpack(inputs_of("pretrain")),
    output:
        directory(f"{RESULTS}/encoders/{{encoder}}"),
    log:
        f"{RESULTS}/logs/encoders/{{encoder}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/pretrain/{{encoder}}.tsv"
    wildcard_constraints:
        encoder=having("encoders", "source", "pretrain"),
    conda:
        "../envs/torch.yaml"
    # The only encoder takes both: everything else waits for it. Of several, two side by side are faster.
    threads: lambda wildcards: 2 if PRETRAINED == [wildcards.encoder] else threads_for(wildcards)
    resources:
        mem_mb=memory_of("pretrain", 6000),
        runtime=minutes_of("pretrain", 120),
        gpu=GPUS,
    params:
        code=code("pretrain"),
        own=user_files_of("pretrain"),
        device=DEVICE,
        deterministic=config["deterministic"],
        encoder=param_of("pretrain", "encoder"),
    script:
        "../scripts/pretrain.py"


rule continue_encoder:
    input:
        unpack(inputs_of("continue_encoder")),
    output:
        directory(f"{RESULTS}/encoders/{{encoder}}"),
    log:
        f"{RESULTS}/logs/encoders/{{encoder}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/continue_encoder/{{encoder}}.tsv"
    wildcard_constraints:
        encoder=having("encoders", "source", "continued"),
    conda:
        "../envs/torch.yaml"
    threads: threads_for
    resources:
        mem_mb=memory_of("continue_encoder", 12000),
        runtime=minutes_of("continue_encoder", 240),
        gpu=GPUS,
    params:
        code=code("continue_encoder"),
        own=user_files_of("continue_encoder"),
        device=DEVICE,
        deterministic=config["deterministic"],
        encoder=param_of("continue_encoder", "encoder"),
    script:
        "../scripts/continue_encoder.py"
