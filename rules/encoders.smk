# Encoders: downloaded from the hub, or pre-trained. Local folders are used where they lie.


localrules:
    download_encoder,


# As with other downloads the code is no input: what comes is checked against its sha256.
rule download_encoder:
    output:
        f"{RESULTS}/encoders/{{encoder}}/config.json",
        f"{RESULTS}/encoders/{{encoder}}/model.safetensors",
    log:
        f"{RESULTS}/logs/encoders/{{encoder}}.log",
    wildcard_constraints:
        encoder=of_source("hub"),
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        encoder=lambda wildcards: {key: ENCODERS[wildcards.encoder][key] for key in ("id", "revision")},
        lock=f"{CORPORA}/lock.json",
    script:
        "../scripts/download_encoder.py"


rule pretrain:
    input:
        code=code("pretrain"),
        text=corpus_of,
        vocabulary=lambda wildcards: ENCODERS[wildcards.encoder]["vocabulary"] or [],
    output:
        f"{RESULTS}/encoders/{{encoder}}/config.json",
        f"{RESULTS}/encoders/{{encoder}}/model.safetensors",
        f"{RESULTS}/encoders/{{encoder}}/training.json",
    log:
        f"{RESULTS}/logs/encoders/{{encoder}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/pretrain/{{encoder}}.tsv"
    wildcard_constraints:
        encoder=of_source("pretrain"),
    conda:
        "../envs/torch.yaml"
    threads: 2
    resources:
        mem_mb=6000,
        runtime=120,
        gpu=GPU,
    params:
        device=config["device"],
        encoder=lambda wildcards: {
            key: value
            for key, value in ENCODERS[wildcards.encoder].items()
            if key not in ("source", "corpus", "bias", "documents", "vocabulary", "next_sentence")
        },
    script:
        "../scripts/pretrain.py"
