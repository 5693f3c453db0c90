# What the representations of encoders hold of gender: vectors of the biographies, compression, contextual associations.
# {model} is "pretrained", "random/seed0", or a fine-tuned encoder such as "scrubbing/seed0"; {kind} is its first part.


rule representations:
    input:
        code=code("representations"),
        encoder=lambda wildcards: files_of_model(wildcards, wildcards.model),
        biographies=f"{BIOGRAPHIES}/biographies.parquet",
    output:
        f"{RESULTS}/representations/{{encoder}}/{{model}}.safetensors",
    log:
        f"{RESULTS}/logs/representations/{{encoder}}/{{model}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/representations/{{encoder}}/{{model}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=12000,
        runtime=240,
        gpu=GPU,
    params:
        device=config["device"],
        texts=lambda wildcards: texts_of_model(wildcards.model),
        max_length=INTERNAL["finetuning"]["max_length"],
    script:
        "../scripts/representations.py"


rule compression:
    input:
        code=code("compression"),
        biographies=f"{BIOGRAPHIES}/biographies.parquet",
        representations=f"{RESULTS}/representations/{{encoder}}/{{model}}.safetensors",
    output:
        f"{RESULTS}/scores/{{encoder}}/compression/{{model}}.csv",
    log:
        f"{RESULTS}/logs/compression/{{encoder}}/{{model}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/compression/{{encoder}}/{{model}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=240,
        gpu=GPU,
    params:
        device=config["device"],
        seeds=seeds_of_model,
        probe=INTERNAL["probe"],
    script:
        "../scripts/compression.py"


rule ceat_contexts:
    input:
        code=code("ceat_contexts"),
        encoder=encoder_files,
        text=ceat_text,
        words=project_file("config/ceat_words.csv"),
        world=PLANTED_WORLD,
    output:
        contexts=f"{RESULTS}/contexts/{{encoder}}/ceat.parquet",
        counts=f"{RESULTS}/contexts/{{encoder}}/ceat_counts.csv",
    log:
        f"{RESULTS}/logs/contexts/{{encoder}}/ceat.log",
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        **{key: INTERNAL["ceat"][key] for key in ("tests", "per_word", "seed", "missing")},
    script:
        "../scripts/ceat_contexts.py"


rule ceat:
    input:
        code=code("ceat"),
        encoders=lambda wildcards: [files_of_model(wildcards, model)[0] for model in KINDS[wildcards.kind]],
        weights=lambda wildcards: sum([files_of_model(wildcards, model)[1:] for model in KINDS[wildcards.kind]], []),
        contexts=f"{RESULTS}/contexts/{{encoder}}/ceat.parquet",
        words=project_file("config/ceat_words.csv"),
        world=PLANTED_WORLD,
    output:
        f"{RESULTS}/scores/{{encoder}}/ceat/{{kind}}.csv",
    log:
        f"{RESULTS}/logs/ceat/{{encoder}}/{{kind}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/ceat/{{encoder}}/{{kind}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=12000,
        runtime=480,
        gpu=GPU,
    params:
        **{key: INTERNAL["ceat"][key] for key in ("tests", "draws", "seed", "missing")},
        models=lambda wildcards: KINDS[wildcards.kind],
        device=config["device"],
    script:
        "../scripts/ceat.py"
