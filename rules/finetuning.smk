# Fine-tuning for the downstream tasks: their data, and one encoder per seed.
# {training} is "plain", or the setting whose interventions are active in training (DURING).
NLI_PARTS = ["train", "validation", "test"]


rule nli_data:
    input:
        **{part: [corpus_file(name) for name in names] for part, names in NLI_FILES.items()},
        code=code("nli_data"),
    output:
        **{part: f"{RESULTS}/nli/files/{part}.csv" for part in NLI_PARTS},
        sources=f"{RESULTS}/nli/files/sources.csv",
    log:
        f"{RESULTS}/logs/nli/data.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=6000,
        runtime=30,
    params:
        files=NLI_FILES,
        validation_share=NLI["data"]["validation_share"] if NLI_FILES else None,
        seed=min(NLI["seeds"]),
    script:
        "../scripts/nli_data.py"


rule nli_data_planted:
    input:
        code=code("nli_data_planted"),
        world=PLANTED_WORLD,
    output:
        **{part: f"{RESULTS}/nli/planted/{part}.csv" for part in NLI_PARTS},
        sources=f"{RESULTS}/nli/planted/sources.csv",
    log:
        f"{RESULTS}/logs/nli/planted_data.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        bias=NLI["planted"]["bias"],
        seed=NLI["planted"]["seed"],
        pairs={part: NLI["planted"][part] for part in NLI_PARTS},
    script:
        "../scripts/nli_data_planted.py"


rule finetune_nli:
    input:
        code=code("finetune_nli"),
        encoder=encoder_files,
        train=f"{NLI_DATA}/train.csv",
        validation=f"{NLI_DATA}/validation.csv",
    output:
        f"{RESULTS}/finetuned/{{encoder}}/nli/{{training}}/seed{{seed}}/config.json",
        f"{RESULTS}/finetuned/{{encoder}}/nli/{{training}}/seed{{seed}}/model.safetensors",
        f"{RESULTS}/finetuned/{{encoder}}/nli/{{training}}/seed{{seed}}/training.json",
    log:
        f"{RESULTS}/logs/finetuned/{{encoder}}/nli/{{training}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/finetune_nli/{{encoder}}/{{training}}/seed{{seed}}.tsv"
    wildcard_constraints:
        training="plain",
    conda:
        "../envs/torch.yaml"
    threads: 2
    resources:
        mem_mb=12000,
        runtime=720,
        gpu=GPU,
    params:
        device=config["device"],
        recipe=NLI["finetuning"],
        checkpoints=f"{RESULTS}/checkpoints/{{encoder}}/nli/{{training}}/seed{{seed}}",
    script:
        "../scripts/finetune_nli.py"


use rule finetune_nli as finetune_nli_edited with:
    input:
        code=code("finetune_nli"),
        encoder=encoder_files,
        train=f"{NLI_DATA}/train.csv",
        validation=f"{NLI_DATA}/validation.csv",
        sentence_pairs=SENTENCE_PAIRS,
    output:
        f"{RESULTS}/finetuned/{{encoder}}/nli/{{training}}/seed{{seed}}/config.json",
        f"{RESULTS}/finetuned/{{encoder}}/nli/{{training}}/seed{{seed}}/model.safetensors",
        f"{RESULTS}/finetuned/{{encoder}}/nli/{{training}}/seed{{seed}}/training.json",
        f"{RESULTS}/finetuned/{{encoder}}/nli/{{training}}/seed{{seed}}/subspaces.safetensors",
    wildcard_constraints:
        training=one_of(DURING),
    params:
        device=config["device"],
        recipe=NLI["finetuning"],
        checkpoints=f"{RESULTS}/checkpoints/{{encoder}}/nli/{{training}}/seed{{seed}}",
        setting=lambda wildcards: DURING[wildcards.training],
        subspaces=FITTING,


rule glue_data:
    input:
        code=code("glue_data"),
        train=lambda wildcards: [f"{CORPORA}/{name}" for name in glue_files(wildcards.task, "train", CATALOGUE)],
        validation=lambda wildcards: [
            f"{CORPORA}/{name}" for name in glue_files(wildcards.task, "validation", CATALOGUE)
        ],
    output:
        train=f"{RESULTS}/glue/{{task}}/train.csv",
        validation=f"{RESULTS}/glue/{{task}}/validation.csv",
    log:
        f"{RESULTS}/logs/glue/{{task}}.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        parts=lambda wildcards: {
            "train": "train",
            "validation": "validation_matched" if wildcards.task == "mnli" else "validation",
        },
    script:
        "../scripts/glue_data.py"


rule finetune_glue:
    input:
        code=code("finetune_glue"),
        encoder=encoder_files,
        eraser=eraser_of_method,
        train=glue_examples("train"),
        validation=glue_examples("validation"),
    output:
        f"{RESULTS}/finetuned/{{encoder}}/glue/{{task}}/{{method}}/seed{{seed}}/config.json",
        f"{RESULTS}/finetuned/{{encoder}}/glue/{{task}}/{{method}}/seed{{seed}}/model.safetensors",
        f"{RESULTS}/finetuned/{{encoder}}/glue/{{task}}/{{method}}/seed{{seed}}/training.json",
    log:
        f"{RESULTS}/logs/finetuned/{{encoder}}/glue/{{task}}/{{method}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/finetune_glue/{{encoder}}/{{task}}/{{method}}/seed{{seed}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 2
    resources:
        mem_mb=12000,
        runtime=720,
        gpu=GPU,
    params:
        device=config["device"],
        recipe=GLUE["finetuning"],
        checkpoints=f"{RESULTS}/checkpoints/{{encoder}}/glue/{{task}}/{{method}}/seed{{seed}}",
        layers=lambda wildcards: LAYERS.get(wildcards.method, ""),
    script:
        "../scripts/finetune_glue.py"


rule finetune_masked_lm:
    input:
        code=code("finetune_masked_lm"),
        encoder=encoder_files,
        text=perplexity_training_text,
    output:
        f"{RESULTS}/finetuned/{{encoder}}/masked-lm/config.json",
        f"{RESULTS}/finetuned/{{encoder}}/masked-lm/model.safetensors",
    log:
        f"{RESULTS}/logs/finetuned/{{encoder}}/masked-lm.log",
    benchmark:
        f"{RESULTS}/benchmarks/finetune_masked_lm/{{encoder}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 2
    resources:
        mem_mb=12000,
        runtime=240,
        gpu=GPU,
    params:
        device=config["device"],
        max_length=DENSRAY["perplexity"]["max_length"],
    script:
        "../scripts/finetune_masked_lm.py"


rule biographies:
    input:
        code=code("biographies"),
        files=[corpus_file(name) for name in BIOGRAPHY_FILES],
        labour=INTERNAL["labour"] or project_file("config/labour_statistics.csv"),
        lexicon=GENDER_LEXICON,
    output:
        biographies=f"{RESULTS}/occupation/files/biographies.parquet",
        professions=f"{RESULTS}/occupation/files/professions.csv",
        sources=f"{RESULTS}/occupation/files/sources.csv",
    log:
        f"{RESULTS}/logs/occupation/biographies.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        data=INTERNAL["data"],
        names=BIOGRAPHY_FILES,
        scrubbing=INTERNAL["scrubbing"],
        splits=SPLITS if SMALL_ARE_DROPPED else None,
    script:
        "../scripts/biographies.py"


rule biographies_planted:
    input:
        code=code("biographies_planted"),
        world=PLANTED_WORLD,
        lexicon=GENDER_LEXICON,
    output:
        biographies=f"{RESULTS}/occupation/planted/biographies.parquet",
        professions=f"{RESULTS}/occupation/planted/professions.csv",
    log:
        f"{RESULTS}/logs/occupation/biographies_planted.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        planted=INTERNAL["planted"],
        scrubbing=INTERNAL["scrubbing"],
    script:
        "../scripts/biographies_planted.py"


rule splits:
    input:
        code=code("splits"),
        biographies=f"{BIOGRAPHIES}/biographies.parquet",
        professions=f"{BIOGRAPHIES}/professions.csv",
    output:
        f"{BIOGRAPHIES}/splits.csv",
    log:
        f"{RESULTS}/logs/occupation/splits.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=20,
    params:
        splits=SPLITS,
        advice=(
            "give more biographies, or have it dropped (internal.data.small: drop)"
            if BIOGRAPHY_FILES
            else "raise internal.planted.biographies"
        ),
    script:
        "../scripts/splits.py"


# One thread: there are many of these, and they run beside each other. The splits are only waited for: where a seed is
# added, the encoders of the others stay.
rule finetune_occupation:
    input:
        code=code("finetune_occupation"),
        encoder=encoder_files,
        biographies=f"{BIOGRAPHIES}/biographies.parquet",
        splits=ancient(f"{BIOGRAPHIES}/splits.csv"),
    output:
        f"{RESULTS}/finetuned/{{encoder}}/occupation/{{strategy}}/seed{{seed}}/config.json",
        f"{RESULTS}/finetuned/{{encoder}}/occupation/{{strategy}}/seed{{seed}}/model.safetensors",
        f"{RESULTS}/finetuned/{{encoder}}/occupation/{{strategy}}/seed{{seed}}/head.safetensors",
        f"{RESULTS}/finetuned/{{encoder}}/occupation/{{strategy}}/seed{{seed}}/training.json",
    log:
        f"{RESULTS}/logs/finetuned/{{encoder}}/occupation/{{strategy}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/finetune_occupation/{{encoder}}/{{strategy}}/seed{{seed}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=12000,
        runtime=720,
        gpu=GPU,
    params:
        device=config["device"],
        recipe=INTERNAL["finetuning"],
        oversampling=INTERNAL["oversampling"],
        checkpoints=f"{RESULTS}/checkpoints/{{encoder}}/occupation/{{strategy}}/seed{{seed}}",
    script:
        "../scripts/finetune_occupation.py"
