# The scores of a run in one table, and the papers' tables and figures made of them.
TABLE_NAMES = ["table1", "table3", "table4", "table5", "table7", "rank_agreement", "statements", "subspaces", "audit"]
FIGURE_NAMES = ["strength_distance"]
if {"stereoset-authors", "stereoset-swapped"} <= set(PROJECTIVE["stimuli"]):
    TABLE_NAMES.append("table2")
if "stereoset-authors" in PROJECTIVE["stimuli"]:
    TABLE_NAMES.append("swap_agreement")
if NLI["encoders"]:
    TABLE_NAMES += ["table6", "correlations", "nli_intervals", "finetuning"]
    FIGURE_NAMES.append("strength_fairness")

PROJECTIVE_TABLES = expand(f"{RESULTS}/tables/projective_{{name}}.csv", name=TABLE_NAMES)
TABLES = PROJECTIVE_TABLES + DENSRAY_TABLES + INTERNAL_TABLES
FIGURES = expand(f"{RESULTS}/figures/projective_{{name}}.svg", name=FIGURE_NAMES)
FIGURES += DENSRAY_FIGURES + DENSRAY_PAGES + INTERNAL_FIGURES
CALIBRATION = []
if CALIBRATED:
    CALIBRATION = [f"{RESULTS}/tables/planted_calibration.csv", f"{RESULTS}/figures/planted_calibration.svg"]
PUBLISHED = "config/published/dawkins2024"


rule scores:
    input:
        code=code("scores"),
        scores=per_encoder_and_stimuli("scores/{encoder}/{stimuli}.csv")
        + per_finetuning("scores/{encoder}/nli/{training}/seed{seed}.csv")
        + DENSRAY_SCORES
        + INTERNAL_SCORES
        + expand(f"{RESULTS}/scores/{{encoder}}/occupation_log_odds.csv", encoder=CALIBRATED),
    output:
        f"{RESULTS}/scores.csv",
    log:
        f"{RESULTS}/logs/scores.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    script:
        "../scripts/scores.py"


rule projective_table1:
    input:
        code=code("projective_examples"),
        stimuli=expand(f"{RESULTS}/stimuli/{{stimuli}}.csv", stimuli=PROJECTIVE["stimuli"]),
        probabilities=per_encoder_and_stimuli("intrinsic/{encoder}/{stimuli}.parquet"),
        published=project_file(f"{PUBLISHED}_tables1_3_4.csv"),
    output:
        **table("projective_table1", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_table1.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        number=1,
        encoders=SCORED,
        stimuli=PROJECTIVE["stimuli"],
    script:
        "../scripts/projective_examples.py"


rule projective_table3:
    input:
        code=code("projective_examples"),
        stimuli=expand(f"{RESULTS}/stimuli/{{stimuli}}.csv", stimuli=PROJECTIVE["stimuli"]),
        probabilities=per_encoder_and_stimuli("intrinsic/{encoder}/{stimuli}.parquet"),
        published=project_file(f"{PUBLISHED}_tables1_3_4.csv"),
    output:
        **table("projective_table3", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_table3.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        number=3,
        encoders=SCORED,
        stimuli=PROJECTIVE["stimuli"],
    script:
        "../scripts/projective_examples.py"


rule projective_table4:
    input:
        code=code("projective_examples"),
        stimuli=expand(f"{RESULTS}/stimuli/{{stimuli}}.csv", stimuli=PROJECTIVE["stimuli"]),
        probabilities=per_encoder_and_stimuli("intrinsic/{encoder}/{stimuli}.parquet"),
        published=project_file(f"{PUBLISHED}_tables1_3_4.csv"),
    output:
        **table("projective_table4", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_table4.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        number=4,
        encoders=SCORED,
        stimuli=PROJECTIVE["stimuli"],
    script:
        "../scripts/projective_examples.py"


rule projective_table2:
    input:
        code=code("projective_table2"),
        changes=f"{RESULTS}/stimuli/stereoset-changes.csv",
        original=expand(f"{RESULTS}/intrinsic/{{encoder}}/stereoset-swapped.parquet", encoder=SCORED),
        authors=expand(f"{RESULTS}/intrinsic/{{encoder}}/stereoset-authors.parquet", encoder=SCORED),
    output:
        **table("projective_table2", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_table2.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        encoders=SCORED,
    script:
        "../scripts/projective_table2.py"


rule projective_table5:
    input:
        code=code("projective_table5"),
        scores=f"{RESULTS}/scores.csv",
        published=project_file(f"{PUBLISHED}_table7.csv"),
        best=project_file(f"{PUBLISHED}_table5.csv"),
    output:
        **table("projective_table5", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_table5.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        not_run=NOT_SCORED,
        nli_not_run=NLI_NOT_RUN,
        viability=VIABILITY,
    script:
        "../scripts/projective_table5.py"


rule projective_table7:
    input:
        code=code("projective_table7"),
        scores=f"{RESULTS}/scores.csv",
        published=project_file(f"{PUBLISHED}_table7.csv"),
    output:
        **table("projective_table7", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_table7.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        not_run=NOT_SCORED,
        nli_not_run=NLI_NOT_RUN,
        viability=VIABILITY,
    script:
        "../scripts/projective_table7.py"


rule projective_rank_agreement:
    input:
        code=code("projective_rank_agreement"),
        scores=f"{RESULTS}/scores.csv",
    output:
        **table("projective_rank_agreement", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_rank_agreement.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    script:
        "../scripts/projective_rank_agreement.py"


rule projective_statements:
    input:
        code=code("projective_statements"),
        scores=f"{RESULTS}/scores.csv",
        published=project_file(f"{PUBLISHED}_table7.csv"),
    output:
        **table("projective_statements", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_statements.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        viability=VIABILITY,
    script:
        "../scripts/projective_statements.py"


rule projective_subspaces:
    input:
        code=code("projective_subspaces"),
        variance=expand(f"{RESULTS}/erasers/{{encoder}}/explained_variance.csv", encoder=FITTED),
        pairs=expand(f"{RESULTS}/erasers/{{encoder}}/sentence_pairs.csv", encoder=FITTED),
    output:
        **table("projective_subspaces", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_subspaces.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        encoders=FITTED,
        not_run={name: NOT_RUN[name] for name in PROJECTIVE["encoders"] if name in NOT_RUN},
    script:
        "../scripts/projective_subspaces.py"


rule projective_swap_agreement:
    input:
        code=code("projective_swap_agreement"),
        stimuli=f"{RESULTS}/stimuli/stereoset-authors.csv",
        lexicon=GENDER_LEXICON,
    output:
        **table("projective_swap_agreement", PAPER_B),
        disagreements=f"{RESULTS}/tables/projective_swap_disagreements.csv",
    log:
        f"{RESULTS}/logs/tables/projective_swap_agreement.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    script:
        "../scripts/projective_swap_agreement.py"


rule projective_strength_distance:
    input:
        code=code("projective_strength_distance"),
        scores=f"{RESULTS}/scores.csv",
        published=project_file(f"{PUBLISHED}_table7.csv"),
    output:
        **figure("projective_strength_distance", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_strength_distance.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    script:
        "../scripts/projective_strength_distance.py"


rule projective_table6:
    input:
        code=code("projective_table6"),
        scores=f"{RESULTS}/scores.csv",
        published=[project_file(f"{PUBLISHED}_{name}.csv") for name in ("table6", "table7")],
    output:
        **table("projective_table6", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_table6.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        nli_not_run=NLI_NOT_RUN,
    script:
        "../scripts/projective_table6.py"


rule projective_correlations:
    input:
        code=code("projective_correlations"),
        scores=f"{RESULTS}/scores.csv",
        published=[project_file(f"{PUBLISHED}_{name}.csv") for name in ("table7", "text")],
    output:
        **table("projective_correlations", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_correlations.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        viability=VIABILITY,
    script:
        "../scripts/projective_correlations.py"


rule projective_nli_intervals:
    input:
        code=code("projective_nli_intervals"),
        scores=f"{RESULTS}/scores.csv",
        published=project_file(f"{PUBLISHED}_table7.csv"),
    output:
        **table("projective_nli_intervals", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_nli_intervals.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        viability=VIABILITY,
    script:
        "../scripts/projective_nli_intervals.py"


rule projective_audit:
    input:
        code=code("projective_audit"),
        published=[
            project_file(f"{PUBLISHED}_{name}.csv") for name in ("table5", "table6", "table7", "text", "tables1_3_4")
        ],
    output:
        **table("projective_audit", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_audit.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    script:
        "../scripts/projective_audit.py"


rule projective_strength_fairness:
    input:
        code=code("projective_strength_fairness"),
        scores=f"{RESULTS}/scores.csv",
        published=project_file(f"{PUBLISHED}_table7.csv"),
    output:
        **figure("projective_strength_fairness", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_strength_fairness.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        viability=VIABILITY,
    script:
        "../scripts/projective_strength_fairness.py"


rule projective_finetuning:
    input:
        code=code("projective_finetuning"),
        sources=f"{NLI_DATA}/sources.csv",
        pairs=f"{RESULTS}/nli/occupation_pairs.json",
        training=per_finetuning("finetuned/{encoder}/nli/{training}/seed{seed}/training.json"),
    output:
        **table("projective_finetuning", PAPER_B),
    log:
        f"{RESULTS}/logs/tables/projective_finetuning.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        finetunings=per_finetuning("{encoder}/{training}/{seed}"),
        selection=NLI["selection"],
        not_run=NLI_NOT_RUN,
    script:
        "../scripts/projective_finetuning.py"


rule planted_calibration:
    input:
        code=code("planted_calibration"),
        scores=f"{RESULTS}/scores.csv",
    output:
        **table("planted_calibration", "Planted bias"),
        **figure("planted_calibration", "Planted bias"),
    log:
        f"{RESULTS}/logs/tables/planted_calibration.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        encoders={
            name: {key: encoder[key] for key in ("bias", "seed")}
            for name, encoder in calibration_encoders(config).items()
        },
    script:
        "../scripts/planted_calibration.py"
