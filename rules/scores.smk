# Scores: cheap, one job per model and block; then the one table, the plan and the names beside it, and the matrix, with
# a table for readers of pretrained encoders and one of each task, and the one page that links to all of the run.
from biasflow.plan.compiled import PICTURES, page_tables
from biasflow.results.page import shown_in_report


rule score:
    input:
        unpack(inputs_of("score")),
    output:
        scores=f"{RESULTS}/scores/{{encoder}}/{{training}}/{{block}}.csv",
        reasons=f"{RESULTS}/scores/{{encoder}}/{{training}}/{{block}}.reasons.csv",
        resamples=f"{RESULTS}/scores/{{encoder}}/{{training}}/{{block}}.resamples.parquet",
    log:
        f"{RESULTS}/logs/scores/{{encoder}}/{{training}}/{{block}}.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=30,
    params:
        code=code_of("score", "score"),
        model=param_of("score", "model"),
        own=user_files_of("score"),
        jobs=param_of("score", "jobs"),
    script:
        "../scripts/score.py"


rule scores:
    input:
        unpack(inputs_of("scores")),
    output:
        scores=f"{RESULTS}/scores.csv",
        reasons=f"{RESULTS}/reasons.csv",
    log:
        f"{RESULTS}/logs/scores.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=10,
    params:
        code=code("scores"),
    script:
        "../scripts/scores.py"


rule plan:
    output:
        plan=f"{RESULTS}/plan.csv",
        names=f"{RESULTS}/names.csv",
    log:
        f"{RESULTS}/logs/plan.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=10,
    params:
        code=code_of("plan", "planned"),
        digest=param_of("plan", "digest"),
    script:
        "../scripts/planned.py"


rule describe:
    input:
        unpack(inputs_of("describe")),
    output:
        encoders=f"{RESULTS}/encoders.csv",
        trainings=f"{RESULTS}/trainings.csv",
    log:
        f"{RESULTS}/logs/describe.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=30,
    params:
        code=code("describe"),
        own=user_files_of("describe"),
        encoders=param_of("describe", "encoders"),
        models=param_of("describe", "models"),
    script:
        "../scripts/describe.py"


rule matrix:
    input:
        unpack(inputs_of("matrix")),
    output:
        **{
            f"{name}_table": [
                f"{RESULTS}/tables/{name}.csv",
                f"{RESULTS}/tables/{name}.tex",
                report(
                    f"{RESULTS}/tables/{name}.html",
                    category="Matrix",
                    labels=shown_in_report(name, shows),
                ),
            ]
            for name, shows in page_tables(PLAN).items()
        },
        matrix=f"{RESULTS}/matrix.csv",
        page=report(f"{RESULTS}/index.html", category="Overview"),
        pictures=[f"{RESULTS}/{picture}" for picture in PICTURES],
        summary=f"{RESULTS}/summary.txt",
    log:
        f"{RESULTS}/logs/matrix.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=10,
    params:
        code=code("matrix"),
        tables=param_of("matrix", "tables"),
        calibrated=param_of("matrix", "calibrated"),
        papers=param_of("matrix", "papers"),
        decided=param_of("matrix", "decided"),
    script:
        "../scripts/matrix.py"


TABLES = [
    *(f"{RESULTS}/{name}.csv" for name in ("scores", "plan", "names", "files", "encoders", "trainings", "matrix")),
    f"{RESULTS}/index.html",
]
