# Encoders: downloaded from the hub, pre-trained, or trained on. Local folders are used where they lie.


# As with other downloads the code is no input: what comes is checked against its sha256.
rule download_encoder:
    output:
        directory(f"{RESULTS}/encoders/{{encoder}}"),
    log:
        f"{RESULTS}/logs/encoders/{{encoder}}.log",
    wildcard_constraints:
        encoder=of_source("hub"),
    localrule: True
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        encoder=lambda wildcards: {
            key: value
            for key, value in config["encoders"][wildcards.encoder].items()
            if key in ("id", "revision", "pooling")
        },
    script:
        "../scripts/download_encoder.py"


rule pretrain:
    input:
        texts=lambda wildcards: here(FIND.encoders.pretraining_texts(wildcards.encoder)),
        vocabulary=lambda wildcards: here(config["encoders"][wildcards.encoder]["vocabulary"] or []),
    output:
        directory(f"{RESULTS}/encoders/{{encoder}}"),
    log:
        f"{RESULTS}/logs/encoders/{{encoder}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/pretrain/{{encoder}}.tsv"
    wildcard_constraints:
        encoder=of_source("pretrain"),
    conda:
        "../envs/torch.yaml"
    # The only encoder takes both: everything else waits for it. Of several, two side by side are faster.
    threads: lambda wildcards: 2 if FIND.encoders.one_is_pretrained() else threads_for(wildcards)
    resources:
        mem_mb=memory(6000),
        runtime=120,
        gpu=GPUS,
    params:
        code=code("pretrain"),
        own=own(
            texts=lambda wildcards: FIND.encoders.pretraining_texts(wildcards.encoder),
            vocabulary=lambda wildcards: config["encoders"][wildcards.encoder]["vocabulary"] or [],
        ),
        device=DEVICE,
        deterministic=config["deterministic"],
        encoder=lambda wildcards: FIND.encoders.pretraining(wildcards.encoder),
    script:
        "../scripts/pretrain.py"


rule continue_encoder:
    input:
        named(lambda wildcards: FIND.encoders.continued_from(wildcards.encoder)),
    output:
        directory(f"{RESULTS}/encoders/{{encoder}}"),
    log:
        f"{RESULTS}/logs/encoders/{{encoder}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/continue_encoder/{{encoder}}.tsv"
    wildcard_constraints:
        encoder=of_source("continued"),
    conda:
        "../envs/torch.yaml"
    threads: threads_for
    resources:
        mem_mb=memory(12000),
        runtime=240,
        gpu=GPUS,
    params:
        code=code("continue_encoder"),
        own=own(lambda wildcards: FIND.encoders.continued_from(wildcards.encoder)),
        device=DEVICE,
        deterministic=config["deterministic"],
        encoder=lambda wildcards: FIND.encoders.continuing(wildcards.encoder),
    script:
        "../scripts/continue_encoder.py"
