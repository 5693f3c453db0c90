# Fine-tuning: a rule per kind of task, one encoder per strategy and seed. A strategy "with-<method>" has that method
# active in every forward pass; it is fitted to the encoder that training starts from.


def encoder_files(wildcards):
    """The folder that a rule makes, or the files of a local encoder."""
    return FIND.encoders.files(wildcards.encoder)


for KIND, TASK in TASKS.items():
    # The files of the task's data, by role.
    TRAINED_ON = {role: PATHS.data(f"{{task}}/{file}") for role, file in kind_of(KIND).trained_on.items()}

    # The tokens of a task's texts, for all trainings and readings that take them. They spare these work and change nothing
    # in their results: whoever reads such a file checks what it was made of, and does not run again because it is newer.
    if kind_of(KIND).tokenised:

        rule:
            name:
                f"tokenise_{KIND}"
            input:
                **TRAINED_ON,
                encoder=lambda wildcards: here(encoder_files(wildcards)),
            output:
                f"{RESULTS}/data/{{task}}/tokens/{{encoder}}/{{text}}.safetensors",
            log:
                f"{RESULTS}/logs/data/{{task}}-tokens-{{encoder}}-{{text}}.log",
            benchmark:
                f"{RESULTS}/benchmarks/tokenise_{KIND}/{{encoder}}/{{task}}/{{text}}.tsv"
            wildcard_constraints:
                task=of_kind(KIND),
                text=r"[^/]+",
            conda:
                "../envs/torch.yaml"
            threads: 1
            resources:
                mem_mb=memory(8000),
                runtime=60,
            params:
                code=code("tokenise", module_of(kind_of(KIND).tokenised)),
                own=own(encoder=encoder_files),
                tokenise=FIND.trainings.tokenising,
            script:
                "../scripts/tokenise.py"

    rule:
        name:
            f"finetune_{KIND}"
        input:
            named(FIND.trainings.method_files),
            **TRAINED_ON,
            encoder=lambda wildcards: here(encoder_files(wildcards)),
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
            own=own(FIND.trainings.method_files, encoder=encoder_files),
            training=FIND.trainings.params,
            device=DEVICE,
            deterministic=config["deterministic"],
        script:
            "../scripts/finetune.py"
