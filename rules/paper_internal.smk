# Paper C's tables and figures, made of the run's scores, the table of professions, and the words that tell gender.
INTERNAL_TABLES, INTERNAL_FIGURES = [], []
CEAT_NOT_RUN = {} if CEAT["tests"] else {"ceat": "internal.ceat.tests names no test"}
if PROBED:
    INTERNAL_NAMES = ["table1", "table2", "table3", "table4", "table5", "table6", "correlations"]
    INTERNAL_TABLES = expand(
        f"{RESULTS}/tables/internal_{{name}}.csv", name=[*INTERNAL_NAMES, "table9", "table10", "ceat", "data"]
    )
    INTERNAL_FIGURES = expand(f"{RESULTS}/figures/internal_{{name}}.svg", name=["figure3", "figure5", "figure7"])


for NAME in ["table1", "table2", "table3", "table4", "table5", "table6", "correlations"]:

    rule:
        name:
            f"internal_{NAME}"
        input:
            code=code("internal_table"),
            scores=f"{RESULTS}/scores.csv",
            published=project_file("config/published/orgad2022.csv"),
        output:
            **table(f"internal_{NAME}", PAPER_C),
        log:
            f"{RESULTS}/logs/tables/internal_{NAME}.log",
        conda:
            "../envs/light.yaml"
        threads: 1
        resources:
            mem_mb=2000,
            runtime=20,
        params:
            table=NAME,
            encoders=INTERNAL["encoders"],
            not_run=PROBED_NOT_RUN,
            measures_not_run=CEAT_NOT_RUN,
        script:
            "../scripts/internal_table.py"


for NAME, PART in {"table9": "all", "table10": INTERNAL["top_words"]["profession"]}.items():

    rule:
        name:
            f"internal_{NAME}"
        input:
            code=code("internal_words"),
            words=f"{RESULTS}/occupation/top_words.csv",
            printed=project_file("config/published/orgad2022_words.csv"),
        output:
            **table(f"internal_{NAME}", PAPER_C),
        log:
            f"{RESULTS}/logs/tables/internal_{NAME}.log",
        conda:
            "../envs/light.yaml"
        threads: 1
        resources:
            mem_mb=2000,
            runtime=10,
        params:
            table=NAME,
            part=PART,
        script:
            "../scripts/internal_words.py"


rule internal_ceat:
    input:
        code=code("internal_ceat"),
        scores=f"{RESULTS}/scores.csv",
        published=project_file("config/published/orgad2022.csv"),
        words=project_file("config/ceat_words.csv"),
        world=PLANTED_WORLD,
        counts=expand(f"{RESULTS}/contexts/{{encoder}}/ceat_counts.csv", encoder=PROBED if CEAT["tests"] else []),
    output:
        **table("internal_ceat", PAPER_C),
    log:
        f"{RESULTS}/logs/tables/internal_ceat.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        encoders=PROBED,
        not_run=PROBED_NOT_RUN,
        measures_not_run=CEAT_NOT_RUN,
    script:
        "../scripts/internal_ceat.py"


rule internal_data:
    input:
        code=code("internal_data"),
        professions=f"{BIOGRAPHIES}/professions.csv",
        sources=f"{BIOGRAPHIES}/sources.csv" if BIOGRAPHY_FILES else [],
    output:
        **table("internal_data", PAPER_C),
    log:
        f"{RESULTS}/logs/tables/internal_data.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    script:
        "../scripts/internal_data.py"


for NAME in ["figure3", "figure5", "figure7"]:

    rule:
        name:
            f"internal_{NAME}"
        input:
            code=code("internal_figure"),
            scores=f"{RESULTS}/scores.csv",
        output:
            **figure(f"internal_{NAME}", PAPER_C),
        log:
            f"{RESULTS}/logs/tables/internal_{NAME}.log",
        conda:
            "../envs/light.yaml"
        threads: 1
        resources:
            mem_mb=2000,
            runtime=20,
        params:
            figure=NAME,
        script:
            "../scripts/internal_figure.py"
