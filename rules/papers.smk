# The tables and figures of each paper of the run: one job a paper, each of them a target. `update` keeps what an earlier
# run made where the job fails.
from biasflow.papers.paper import KINDS, role

PAPER_TARGETS = {}


def targets_of(text):
    """(kind, name) of a paper's targets; no figure without anything to draw."""
    return [(kind, name) for kind in KINDS for name in text.targets(kind) if name not in NOT_DRAWN[text.name]]


def outputs_of(text):
    """The files of these targets, by their roles; what can be looked at goes into the report."""
    found = {}
    for kind, name in targets_of(text):
        about = {"category": text.title, "labels": shown_in_report(name, text.captions(kind)[name])}
        if kind == "figures":
            about["caption"] = "report/figures.rst"
        paths = [update(f"{RESULTS}/{file}") for file in text.files(kind, name)]
        shown = {path: report(path, **about) for path in paths if path.endswith((".html", ".svg"))}
        found[role(kind, name)] = [shown.get(path, path) for path in paths]
    return found


for NAME, TEXT in PAPER_TEXTS.items():
    PAPER_TARGETS[NAME] = [f"{RESULTS}/{TEXT.files(kind, name)[0]}" for kind, name in targets_of(TEXT)]

    rule:
        name:
            f"paper_{NAME}"
        input:
            unpack(inputs_of(f"paper_{NAME}")),
        output:
            **outputs_of(TEXT),
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
            item_files=param_of(f"paper_{NAME}", "item_files"),
            captions=TEXT.captions("figures"),
        script:
            "../scripts/paper.py"
