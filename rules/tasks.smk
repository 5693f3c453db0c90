# Fine-tuning: a rule per kind of task, one encoder per strategy and seed. A strategy "with-<method>" has that method
# active in every forward pass; it is fitted to the encoder that training starts from.


# Rules finetune_nli, finetune_glue, finetune_occupation, finetune_classification and finetune_coreference.
for KIND in TASKS:

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
            mem_mb=memory_of(f"finetune_{KIND}", 12000),
            runtime=minutes_of(f"finetune_{KIND}", 720),
            gpu=GPUS,
        params:
            code=code_of(f"finetune_{KIND}", "finetune"),
            own=user_files_of(f"finetune_{KIND}"),
            training=param_of(f"finetune_{KIND}", "training"),
            device=DEVICE,
            deterministic=config["deterministic"],
        script:
            "../scripts/finetune.py"
