# The tables and figures of each paper of the run: one job a paper, each of them a target. `update` keeps what an earlier
# run made where the job fails.
from biasflow.plan.compiled import texts_of

PAPER_TARGETS, BY_NAME, NOT_DRAWN = {}, {}, {}


def outputs_of(text, target):
    """The files of a target; what can be looked at goes into the report."""
    about = {"category": text.title, "labels": shown_in_report(target.name, target.caption)}
    if target.kind == "figures":
        about["caption"] = "report/figures.rst"
    paths = [update(f"{RESULTS}/{file}") for file in target.files]
    return [report(path, **about) if path.endswith((".html", ".svg")) else path for path in paths]


for NAME, TEXT in texts_of(config).items():
    MADE = JOBS.of(f"paper_{NAME}").outputs
    TARGETS = [target for target in TEXT.targets if f"{RESULTS}/{target.files[0]}" in MADE]  # no figure of nothing
    NOT_DRAWN |= TEXT.not_drawn(config["papers"][NAME], PLAN.cells)
    PAPER_TARGETS[NAME] = [f"{RESULTS}/{target.files[0]}" for target in TARGETS]
    for TARGET, FILE in zip(TARGETS, PAPER_TARGETS[NAME]):
        BY_NAME.setdefault(TARGET.name, []).append(FILE)  # a table and a figure may have the same

    rule:
        name:
            f"paper_{NAME}"
        input:
            unpack(inputs_of(f"paper_{NAME}")),
            external=[corpus(name) for name in files_read(SETUP, CATALOGUE, JOBS.upstream(*MADE[:1]))],
        output:
            **{target.role: outputs_of(TEXT, target) for target in TARGETS},
        log:
            f"{RESULTS}/logs/papers/{NAME}.log",
        conda:
            "../envs/light.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=20,
        params:
            code=code_of(f"paper_{NAME}", "paper"),
            paper=NAME,
            options=param_of(f"paper_{NAME}", "options"),
            scored=param_of(f"paper_{NAME}", "scored"),
            item_files=param_of(f"paper_{NAME}", "item_files"),
            captions={target.name: target.caption for target in TEXT.figures.values()},
        script:
            "../scripts/paper.py"
