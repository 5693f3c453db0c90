# Scores: cheap, one job per model and block; then the one table, the plan and the names beside it, and the matrix, with
# a table for readers of pretrained encoders and one of each task, and the one page that links to all of the run.
FIRST_TABLES = {
    f"matrix_{task}".removesuffix("_-"): task for task in dict.fromkeys(cell.model.task for cell in PLAN.cells)
}
OWN_TABLES = {
    name: f"Every measure under every method ({task or 'pretrained'})." for name, task in FIRST_TABLES.items()
}
OWN_TABLES |= {
    "power": "How many seeds a difference between two methods needs to be seen.",
    "agreement": "How far the measures agree on which model is more biased.",
}

# Paper -> its figures that have nothing to draw, with the reason: no rule makes them, and the page lists them.
NOT_DRAWN = {name: load_paper(name).not_drawn(config["papers"][name], PLAN.cells) for name in config["papers"]}

# The encoder whose measures this run calibrates; the page takes what followed from its own table.
CALIBRATED = [config["papers"]["calibrated"]["encoder"]] if "calibrated" in config["papers"] else []

SUMMARY = f"{RESULTS}/summary.txt"


rule score:
    input:
        named(FIND.scores.readouts_and_data),
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
        code=lambda wildcards: code("score", *FIND.scores.modules(wildcards)),
        model=FIND.scores.model,
        own=own(FIND.scores.readouts_and_data),
        jobs=FIND.scores.params,
    script:
        "../scripts/score.py"


rule scores:
    input:
        scores=[PATHS.scores(*job) for job in PLAN.scored],
        reasons=[PATHS.reasons(*job) for job in PLAN.scored],
        resamples=[PATHS.resamples(*job) for job in PLAN.scored],
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
        code=code(
            "plan",
            *(f"{module_of(PAPERS[name])}.blocks" for name in config["papers"]),
            *(plan_module(task["kind"]) for task in config["tasks"].values()),
        ),
        digest=FIND.digest(),
    script:
        "../scripts/plan.py"


rule describe:
    input:
        named(lambda wildcards: FIND.described_files()),
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
        **FIND.described_params(),
        code=code("describe"),
        own=own(lambda wildcards: FIND.described_files()),
    script:
        "../scripts/describe.py"


rule matrix:
    input:
        scores=f"{RESULTS}/scores.csv",
        reasons=f"{RESULTS}/reasons.csv",
        plan=f"{RESULTS}/plan.csv",
        files=f"{RESULTS}/files.csv",
        ledger=lambda wildcards: [f"{RESULTS}/tables/ledger_summary.csv"] if LEDGER_OF or ITEMS_GIVEN else [],
        calibration=[f"{RESULTS}/tables/calibrated_calibration.csv"] * len(CALIBRATED),
        drops=[task.file(task.kind.drops) for task in tasks_of_plan(SETUP, PLAN) if task.kind.drops],
        names=f"{RESULTS}/names.csv",
        encoders=f"{RESULTS}/encoders.csv",
        trainings=f"{RESULTS}/trainings.csv",
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
            for name, shows in OWN_TABLES.items()
        },
        matrix=f"{RESULTS}/matrix.csv",
        page=report(f"{RESULTS}/index.html", category="Overview"),
        pictures=[f"{RESULTS}/figures/page_{name}.{kind}" for name in ("bias", "methods") for kind in ("svg", "png")],
        summary=SUMMARY,
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
        tables=FIRST_TABLES,
        calibrated=CALIBRATED,
        papers=[
            {
                "title": text.title,
                "citation": text.citation,
                "files": text.links(without=NOT_DRAWN[text.name]),
                "not_drawn": NOT_DRAWN[text.name],
            }
            for text in map(load_paper, config["papers"])
        ],
    script:
        "../scripts/matrix.py"


TABLES = [
    *(f"{RESULTS}/{name}.csv" for name in ("scores", "plan", "names", "files", "encoders", "trainings", "matrix")),
    f"{RESULTS}/index.html",
]
