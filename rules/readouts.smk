# What is read from a model under methods: one rule per readout, and one for those of a narrow encoder that are read
# together, all of one shape. A job reads all datasets of a block. Rules read_next_sentence, read_masked_words, read_losses,
# read_likelihoods, read_pair_tokens, read_fillings, read_vectors, read_sentence_vectors, read_document_similarities,
# read_people_similarities, read_token_scores,
# read_associations, read_gender_shares, read_predictions, heads_nli, read_first_token, probe_texts, read_mlp_probes,
# read_families, read_word_families, heads_texts, heads_documents, read_professions and read_together.

for NAME, READOUT in JOBS_OF_READOUTS.items():

    rule:
        name:
            rule_of(NAME)
        input:
            unpack(inputs_of(rule_of(NAME))),
        output:
            directory(f"{RESULTS}/readouts/{{encoder}}/{{training}}/{{block}}/{NAME}"),
        log:
            f"{RESULTS}/logs/readouts/{{encoder}}/{{training}}/{{block}}/{NAME}.log",
        benchmark:
            f"{RESULTS}/benchmarks/{NAME}/{{encoder}}/{{training}}/{{block}}.tsv"
        wildcard_constraints:
            encoder=one_of({job.wildcards[0]: None for job in JOBS if job.rule == rule_of(NAME)}),
        conda:
            "../envs/torch.yaml"
        threads: threads_for
        resources:
            mem_mb=memory_of(rule_of(NAME), READOUT.memory),
            runtime=minutes_of(rule_of(NAME), READOUT.runtime),
            gpu=GPUS,
        params:
            code=code_of(rule_of(NAME), "read"),
            own=user_files_of(rule_of(NAME)),
            readout=param_of(rule_of(NAME), "readout"),
            world=config["world"],
            device=DEVICE,
            deterministic=config["deterministic"],
        script:
            "../scripts/read.py"
