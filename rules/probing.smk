# What the representations of encoders hold of gender: vectors of the biographies, compression, contextual associations.
# {model} is "pretrained", "random/seed0", or a fine-tuned encoder such as "scrubbing/seed0"; {kind} is its first part.
# An encoder is loaded once, for all that is read off it; what needs vectors only, and is short, runs for all seeds of a
# kind in one job.
CEAT = INTERNAL["ceat"]


rule representations:
    input:
        code=code("representations"),
        encoder=model_files,
        biographies=f"{BIOGRAPHIES}/biographies.parquet",
        contexts=f"{RESULTS}/contexts/{{encoder}}/ceat.parquet" if CEAT["tests"] else [],
        words=project_file("config/ceat_words.csv"),
        world=PLANTED_WORLD,
    output:
        **({"ceat": f"{RESULTS}/scores/{{encoder}}/ceat/{{model}}.csv"} if CEAT["tests"] else {}),
        vectors=f"{RESULTS}/representations/{{encoder}}/{{model}}.safetensors",
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
        ceat={key: CEAT[key] for key in ("tests", "draws", "seed", "missing")} if CEAT["tests"] else None,
    script:
        "../scripts/representations.py"


rule compression:
    input:
        code=code("compression"),
        biographies=f"{BIOGRAPHIES}/biographies.parquet",
        representations=lambda wildcards: [
            f"{RESULTS}/representations/{wildcards.encoder}/{model}.safetensors" for model in KINDS[wildcards.kind]
        ],
    output:
        f"{RESULTS}/scores/{{encoder}}/compression/{{kind}}.csv",
    log:
        f"{RESULTS}/logs/compression/{{encoder}}/{{kind}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/compression/{{encoder}}/{{kind}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=240,
        gpu=GPU,
    params:
        device=config["device"],
        models=lambda wildcards: KINDS[wildcards.kind],
        seeds=INTERNAL["seeds"],
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
        **{key: CEAT[key] for key in ("tests", "per_word", "seed", "missing")},
    script:
        "../scripts/ceat_contexts.py"
