# Fine-tuned encoders: bias in natural language inference under all interventions, and GLUE under erasers.


rule nli_heads:
    input:
        code=code("nli_heads"),
        encoder=finetuned_files,
        subspaces=finetuned_subspaces,
        train=f"{NLI_DATA}/train.csv",
    output:
        f"{RESULTS}/extrinsic/{{encoder}}/nli/{{training}}/seed{{seed}}.heads.safetensors",
    log:
        f"{RESULTS}/logs/extrinsic/{{encoder}}/nli/{{training}}/seed{{seed}}.heads.log",
    benchmark:
        f"{RESULTS}/benchmarks/nli_heads/{{encoder}}/{{training}}/seed{{seed}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 2
    resources:
        mem_mb=12000,
        runtime=240,
        gpu=GPU,
    params:
        device=config["device"],
        training=NLI["retrain_heads"],
    script:
        "../scripts/nli_heads.py"


rule nli_predictions:
    input:
        code=code("nli_predictions"),
        encoder=finetuned_files,
        subspaces=finetuned_subspaces,
        pairs=f"{RESULTS}/nli/occupation_pairs.json",
        test=f"{NLI_DATA}/test.csv",
        heads=retrained_heads,
    output:
        predictions=f"{RESULTS}/extrinsic/{{encoder}}/nli/{{training}}/seed{{seed}}.safetensors",
        edits=f"{RESULTS}/extrinsic/{{encoder}}/nli/{{training}}/seed{{seed}}.edits.csv",
    log:
        f"{RESULTS}/logs/extrinsic/{{encoder}}/nli/{{training}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/nli_predictions/{{encoder}}/{{training}}/seed{{seed}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 2
    resources:
        mem_mb=6000,
        runtime=240,
        gpu=GPU,
    params:
        device=config["device"],
        batch_size=NLI["batch_size"],
        setting=lambda wildcards: DURING.get(wildcards.training),
    script:
        "../scripts/nli_predictions.py"


rule nli_scores:
    input:
        code=code("nli_scores"),
        predictions=f"{RESULTS}/extrinsic/{{encoder}}/nli/{{training}}/seed{{seed}}.safetensors",
        test=f"{NLI_DATA}/test.csv",
    output:
        f"{RESULTS}/scores/{{encoder}}/nli/{{training}}/seed{{seed}}.csv",
    log:
        f"{RESULTS}/logs/scores/{{encoder}}/nli/{{training}}/seed{{seed}}.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        setting=lambda wildcards: DURING.get(wildcards.training),
        when=lambda wildcards: "during_finetuning" if wildcards.training in DURING else "after_finetuning",
    script:
        "../scripts/nli_scores.py"


rule eraser_nli:
    input:
        code=code("eraser_nli"),
        encoder=finetuned_files,
        erasers=eraser_files,
        pairs=f"{RESULTS}/nli/occupation_pairs.json",
        test=f"{NLI_DATA}/test.csv",
    output:
        f"{RESULTS}/scores/{{encoder}}/erasers/nli/{{training}}/seed{{seed}}.csv",
    log:
        f"{RESULTS}/logs/scores/{{encoder}}/erasers/nli/{{training}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/eraser_nli/{{encoder}}/erasers/nli/{{training}}/seed{{seed}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 2
    resources:
        mem_mb=8000,
        runtime=120,
        gpu=GPU,
    params:
        device=config["device"],
        layers=LAYERS,
    script:
        "../scripts/eraser_nli.py"


rule glue_scores:
    input:
        code=code("glue_scores"),
        encoder=glue_encoder,
        eraser=eraser_of_method,
        validation=glue_examples("validation"),
    output:
        f"{RESULTS}/scores/{{encoder}}/glue/{{task}}/{{when}}/{{method}}/seed{{seed}}.csv",
    log:
        f"{RESULTS}/logs/scores/{{encoder}}/glue/{{task}}/{{when}}/{{method}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/glue_scores/{{encoder}}/glue/{{task}}/{{when}}/{{method}}/seed{{seed}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 2
    resources:
        mem_mb=8000,
        runtime=120,
        gpu=GPU,
    params:
        device=config["device"],
        layers=lambda wildcards: LAYERS.get(wildcards.method, ""),
    script:
        "../scripts/glue_scores.py"


rule occupation_scores:
    input:
        code=code("occupation_scores"),
        biographies=f"{BIOGRAPHIES}/biographies.parquet",
        professions=f"{BIOGRAPHIES}/professions.csv",
        own_heads=per_occupation_seed("finetuned/{{encoder}}/occupation/{{strategy}}/seed{seed}/head.safetensors"),
        trainings=per_occupation_seed("finetuned/{{encoder}}/occupation/{{strategy}}/seed{seed}/training.json"),
        representations=per_occupation_seed("representations/{{encoder}}/{{strategy}}/seed{seed}.safetensors"),
    output:
        scores=f"{RESULTS}/scores/{{encoder}}/occupation/{{strategy}}.csv",
        counts=f"{RESULTS}/extrinsic/{{encoder}}/occupation/{{strategy}}/counts.csv",
        heads=per_occupation_seed("extrinsic/{{encoder}}/occupation/{{strategy}}/seed{seed}.heads.safetensors"),
    log:
        f"{RESULTS}/logs/occupation/{{encoder}}/{{strategy}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/occupation_scores/{{encoder}}/{{strategy}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=12000,
        runtime=120,
        gpu=GPU,
    params:
        device=config["device"],
        seeds=INTERNAL["seeds"],
        heads=INTERNAL["heads"],
    script:
        "../scripts/occupation_scores.py"


rule frozen_scores:
    input:
        code=code("frozen_scores"),
        biographies=f"{BIOGRAPHIES}/biographies.parquet",
        professions=f"{BIOGRAPHIES}/professions.csv",
        representations=f"{RESULTS}/representations/{{encoder}}/{PRETRAINED}.safetensors",
    output:
        scores=f"{RESULTS}/scores/{{encoder}}/occupation/frozen.csv",
        counts=f"{RESULTS}/extrinsic/{{encoder}}/occupation/frozen/counts.csv",
        heads=f"{RESULTS}/extrinsic/{{encoder}}/occupation/frozen/heads.safetensors",
    log:
        f"{RESULTS}/logs/occupation/{{encoder}}/frozen.log",
    benchmark:
        f"{RESULTS}/benchmarks/frozen_scores/{{encoder}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=16000,
        runtime=240,
        gpu=GPU,
    params:
        device=config["device"],
        heads=INTERNAL["frozen"],
        strategies=INTERNAL["strategies"],
        oversampling=INTERNAL["oversampling"],
    script:
        "../scripts/frozen_scores.py"


rule top_words:
    input:
        code=code("top_words"),
        biographies=f"{BIOGRAPHIES}/biographies.parquet",
    output:
        f"{RESULTS}/occupation/top_words.csv",
    log:
        f"{RESULTS}/logs/occupation/top_words.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=120,
    params:
        **INTERNAL["top_words"],
    script:
        "../scripts/top_words.py"
