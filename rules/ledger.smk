# Every number that papers print, beside ours: of those whose encoders are known.
LEDGER_OF = [name for name in config["papers"] if load_paper(name).encoders]
LEDGER = ["ledger", "ledger_summary", "released_errors"]
LEDGER_TEXT = load_tables(Path(package_file("papers/ledger.yaml")))
if LEDGER_OF:
    PAPER_TARGETS["ledger"] = [f"{RESULTS}/tables/{name}.csv" for name in LEDGER]

    rule paper_ledger:
        input:
            **FIND.ledger_files(LEDGER_OF),
            printed=local([file for name in LEDGER_OF for file in package_folder(f"papers/{name}/published")]),
            text=local([package_file(f"papers/{name}/paper.yaml") for name in LEDGER_OF]),
        output:
            **{
                name: [
                    f"{RESULTS}/tables/{name}.csv",
                    f"{RESULTS}/tables/{name}.tex",
                    report(
                        f"{RESULTS}/tables/{name}.html",
                        category="Ledger",
                        labels=shown_in_report(name, LEDGER_TEXT[name].caption),
                    ),
                ]
                for name in LEDGER
            },
        log:
            f"{RESULTS}/logs/papers/ledger.log",
        conda:
            "../envs/light.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=20,
        params:
            code=code("ledger", *(f"{module_of(PAPERS[name])}.ledger" for name in LEDGER_OF)),
            papers=FIND.ledger_params(LEDGER_OF),
        script:
            "../scripts/ledger.py"
