# Fine-tuning: a rule per kind of task, one encoder per strategy and seed. A strategy "with-<method>" has that method
# active in every forward pass; it is fitted to the encoder that training starts from.


# The tokens of a task's texts, for all trainings and readings that take them. They spare these work and change nothing
# in their results: whoever reads such a file checks what it was made of, and does not run again because it is newer.
rule tokenise:
    input:
        named(FIND.trainings.tokenised_files),
    output:
        f"{RESULTS}/data/{{task}}/tokens/{{encoder}}/{{text}}.safetensors",
    log:
        f"{RESULTS}/logs/data/{{task}}-tokens-{{encoder}}-{{text}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/tokenise/{{encoder}}/{{task}}/{{text}}.tsv"
    wildcard_constraints:
        text=r"[^/]+",
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(8000),
        runtime=60,
    params:
        code=lambda wildcards: code("tokenise", FIND.trainings.tokenising(wildcards)["module"]),
        own=own(FIND.trainings.tokenised_files),
        tokenise=FIND.trainings.tokenising,
    script:
        "../scripts/tokenise.py"


for KIND, TASK in TASKS.items():

    rule:
        name:
            f"finetune_{KIND}"
        input:
            named(FIND.trainings.inputs),
            tokens=lambda wildcards: ancient(FIND.trainings.tokens(wildcards)),
        output:
            model=directory(f"{RESULTS}/models/{{encoder}}/{{task}}/{{strategy}}/seed{{seed}}"),
            training=f"{RESULTS}/models/{{encoder}}/{{task}}/{{strategy}}/seed{{seed}}.training.json",
        log:
            f"{RESULTS}/logs/models/{{encoder}}/{{task}}/{{strategy}}/seed{{seed}}.log",
        benchmark:
            f"{RESULTS}/benchmarks/finetune_{KIND}/{{encoder}}/{{task}}/{{strategy}}/seed{{seed}}.tsv"
        wildcard_constraints:
            task=of_kind(KIND),
        conda:
            "../envs/torch.yaml"
        threads: threads_for
        resources:
            mem_mb=memory(12000),
            runtime=720,
            gpu=GPUS,
        params:
            code=lambda wildcards: code("finetune", *FIND.trainings.modules(wildcards)),
            own=own(FIND.trainings.inputs),
            training=FIND.trainings.params,
            device=DEVICE,
            deterministic=config["deterministic"],
        script:
            "../scripts/finetune.py"
