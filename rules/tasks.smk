# Fine-tuning: a rule per kind of task, one encoder per strategy and seed. A strategy "with-<method>" has that method
# active in every forward pass; it is fitted to the encoder that training starts from.


# Rules tokenise_occupation, finetune_nli, finetune_glue, finetune_occupation and finetune_coreference.
for KIND in TASKS:
    # The tokens of a task's texts, computed once for all trainings and readings that take them. They change no result:
    # whoever reads such a file checks what it was made of, and does not run again because it is newer.
    if kind_of(KIND).tokenised:

        rule:
            name:
                f"tokenise_{KIND}"
            input:
                unpack(inputs_of(f"tokenise_{KIND}")),
            output:
                f"{RESULTS}/data/{{task}}/tokens/{{encoder}}/{{text}}.safetensors",
            log:
                f"{RESULTS}/logs/data/{{task}}-tokens-{{encoder}}-{{text}}.log",
            benchmark:
                f"{RESULTS}/benchmarks/tokenise_{KIND}/{{encoder}}/{{task}}/{{text}}.tsv"
            wildcard_constraints:
                task=having("tasks", "kind", KIND),
                text=r"[^/]+",
            conda:
                "../envs/torch.yaml"
            threads: 1
            resources:
                mem_mb=memory(8000),
                runtime=60,
            params:
                code=code_of(f"tokenise_{KIND}", "tokenise"),
                own=user_files_of(f"tokenise_{KIND}"),
                tokenise=param_of(f"tokenise_{KIND}", "tokenise"),
            script:
                "../scripts/tokenise.py"

    rule:
        name:
            f"finetune_{KIND}"
        input:
            unpack(inputs_of(f"finetune_{KIND}")),
        output:
            model=directory(f"{RESULTS}/models/{{encoder}}/{{task}}/{{strategy}}/seed{{seed}}"),
            training=f"{RESULTS}/models/{{encoder}}/{{task}}/{{strategy}}/seed{{seed}}.training.json",
        log:
            f"{RESULTS}/logs/models/{{encoder}}/{{task}}/{{strategy}}/seed{{seed}}.log",
        benchmark:
            f"{RESULTS}/benchmarks/finetune_{KIND}/{{encoder}}/{{task}}/{{strategy}}/seed{{seed}}.tsv"
        wildcard_constraints:
            task=having("tasks", "kind", KIND),
        conda:
            "../envs/torch.yaml"
        threads: threads_for
        resources:
            mem_mb=memory(12000),
            runtime=720,
            gpu=GPUS,
        params:
            code=code_of(f"finetune_{KIND}", "finetune"),
            own=user_files_of(f"finetune_{KIND}"),
            training=param_of(f"finetune_{KIND}", "training"),
            device=DEVICE,
            deterministic=config["deterministic"],
        script:
            "../scripts/finetune.py"
