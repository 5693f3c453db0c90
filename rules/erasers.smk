# Gender subspaces at every place of an encoder.


rule subspaces:
    input:
        code=code("subspaces"),
        encoder=encoder_files,
        sentence_pairs=PROJECTIVE["sentence_pairs"] or project_file("config/sentence_pairs.yaml"),
    output:
        subspaces=f"{RESULTS}/erasers/{{encoder}}/subspaces.safetensors",
        variance=f"{RESULTS}/erasers/{{encoder}}/explained_variance.csv",
        pairs=f"{RESULTS}/erasers/{{encoder}}/sentence_pairs.csv",
    log:
        f"{RESULTS}/logs/erasers/{{encoder}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/subspaces/{{encoder}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 2
    resources:
        mem_mb=6000,
        runtime=30,
        gpu=GPU,
    params:
        device=config["device"],
        head=lambda wildcards: "next_sentence" if ENCODERS[wildcards.encoder]["next_sentence"] else "none",
        eraser=PROJECTIVE["eraser"],
        options=PROJECTIVE["eraser_options"],
        sequential=PROJECTIVE["sequential"],
        batch_size=PROJECTIVE["batch_size"],
    script:
        "../scripts/subspaces.py"
