# Intrinsic bias: next-sentence probabilities under all interventions, and the scores made of them.


rule next_sentence:
    input:
        code=code("next_sentence"),
        encoder=encoder_files,
        stimuli=f"{RESULTS}/stimuli/{{stimuli}}.csv",
        subspaces=f"{RESULTS}/erasers/{{encoder}}/subspaces.safetensors",
    output:
        probabilities=f"{RESULTS}/intrinsic/{{encoder}}/{{stimuli}}.parquet",
        edits=f"{RESULTS}/intrinsic/{{encoder}}/{{stimuli}}.edits.csv",
    log:
        f"{RESULTS}/logs/intrinsic/{{encoder}}/{{stimuli}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/next_sentence/{{encoder}}/{{stimuli}}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 2
    resources:
        mem_mb=6000,
        runtime=60,
        gpu=GPU,
    params:
        device=config["device"],
        batch_size=PROJECTIVE["batch_size"],
    script:
        "../scripts/next_sentence.py"


rule stereoset_scores:
    input:
        code=code("stereoset_scores"),
        probabilities=f"{RESULTS}/intrinsic/{{encoder}}/{{stimuli}}.parquet",
    output:
        f"{RESULTS}/scores/{{encoder}}/{{stimuli}}.csv",
    log:
        f"{RESULTS}/logs/scores/{{encoder}}/{{stimuli}}.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        tops=PROJECTIVE["tops"],
        seed=lambda wildcards: ENCODERS[wildcards.encoder].get("seed", ""),
    script:
        "../scripts/stereoset_scores.py"


rule occupation_log_odds:
    input:
        code=code("occupation_log_odds"),
        encoder=encoder_files,
        world=PLANTED_WORLD,
    output:
        occupations=f"{RESULTS}/intrinsic/{{encoder}}/occupation_log_odds.csv",
        scores=f"{RESULTS}/scores/{{encoder}}/occupation_log_odds.csv",
    log:
        f"{RESULTS}/logs/intrinsic/{{encoder}}/occupation_log_odds.log",
    conda:
        "../envs/torch.yaml"
    threads: 2
    resources:
        mem_mb=4000,
        runtime=30,
        gpu=GPU,
    params:
        device=config["device"],
        seed=lambda wildcards: ENCODERS[wildcards.encoder].get("seed", ""),
    script:
        "../scripts/occupation_log_odds.py"
