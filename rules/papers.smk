# The tables and figures of each paper of the run: one job a paper, each of them a target. `update` keeps what an earlier
# run made where the job fails.
PAPER_TARGETS = {}
KINDS = ("tables", "figures", "pages")


def printed_by(paper):
    """The file of the numbers that a paper prints, if it prints any."""
    return [file for file in package_folder(f"papers/{paper}") if file.endswith("/printed.csv")]


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


for NAME in config["papers"]:
    TEXT = load_paper(NAME)
    PAPER_TARGETS[NAME] = [f"{RESULTS}/{TEXT.files(kind, name)[0]}" for kind, name in targets_of(TEXT)]

    rule:
        name:
            f"paper_{NAME}"
        input:
            **FIND.paper_files(NAME),
            printed=local(printed_by(NAME)),
            text=local(package_file(f"papers/{NAME}/paper.yaml")),
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
            code=code("paper", f"{module_of(PAPERS[NAME])}.targets"),
            paper=NAME,
            options=FIND.paper_options(NAME),
            places=FIND.paper_items(NAME),
            captions=TEXT.captions("figures"),
        script:
            "../scripts/paper.py"
