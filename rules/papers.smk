# The tables and figures of each paper of the run: one job a paper, each of them a target. What is made of printed values
# alone (the audit) is a job of its own. `update` keeps what an earlier run made where the job fails.
PAPER_TARGETS = {}
KINDS = ("tables", "figures", "pages")


def targets_of(text, audit):
    """(kind, name) of a paper's targets: those of its audit, or all but them; no figure without anything to draw."""
    names = [(kind, name) for kind in KINDS for name in text.targets(kind) if name not in NOT_DRAWN[text.name]]
    return [(kind, name) for kind, name in names if (name.removeprefix(f"{text.name}_") in text.audit) == audit]


def outputs_of(text, audit):
    """The files of these targets, by their roles; what can be looked at goes into the report."""
    found = {}
    for kind, name in targets_of(text, audit):
        about = {"category": text.title, "labels": shown_in_report(name, text.captions(kind)[name])}
        if kind == "figures":
            about["caption"] = "report/figures.rst"
        paths = [update(f"{RESULTS}/{file}") for file in text.files(kind, name)]
        shown = {path: report(path, **about) for path in paths if path.endswith((".html", ".svg"))}
        found[role(kind, name)] = [shown.get(path, path) for path in paths]
    return found


for NAME in config["papers"]:
    TEXT = load_paper(NAME)
    PAPER_TARGETS[NAME] = [
        f"{RESULTS}/{TEXT.files(kind, name)[0]}" for audit in (False, True) for kind, name in targets_of(TEXT, audit)
    ]
    for AUDIT in [False, True] if TEXT.audit else [False]:

        rule:
            name:
                f"paper_{NAME}_audit" if AUDIT else f"paper_{NAME}"
            input:
                **({} if AUDIT else FIND.paper_files(NAME)),
                printed=local(package_folder(f"papers/{NAME}/published")),
                text=local(package_file(f"papers/{NAME}/paper.yaml")),
            output:
                **outputs_of(TEXT, AUDIT),
            log:
                f"{RESULTS}/logs/papers/{NAME}{'-audit' if AUDIT else ''}.log",
            conda:
                "../envs/light.yaml"
            threads: 1
            resources:
                mem_mb=memory(2000),
                runtime=20,
            params:
                code=code("paper", f"{module_of(PAPERS[NAME])}.{'audit' if AUDIT else 'targets'}"),
                paper=NAME,
                options=FIND.paper_options(NAME),
                places={} if AUDIT else FIND.paper_items(NAME),
                captions=TEXT.captions("figures"),
                audit=AUDIT,
            script:
                "../scripts/paper.py"
