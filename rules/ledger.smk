# Every number that papers print, beside ours: of those whose encoders are known, and of those that were printed from
# published scores of single items which this run reads.
LEDGER_OF = [name for name in config["papers"] if load_paper(name).encoders]
ITEMS_GIVEN = FIND.item_files()
LEDGER = ["ledger", "ledger_summary", "released_errors"]
LEDGER_TEXT = load_tables(Path(package_file("papers/ledger.yaml")))
if LEDGER_OF or ITEMS_GIVEN:
    PAPER_TARGETS["ledger"] = [f"{RESULTS}/tables/{name}.csv" for name in LEDGER]

    rule paper_ledger:
        input:
            **FIND.ledger_files(LEDGER_OF),
            printed=local([file for name in LEDGER_OF for file in printed_by(name)]),
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
            whole=f"{RESULTS}/ledger.csv",
        log:
            f"{RESULTS}/logs/papers/ledger.log",
        conda:
            "../envs/light.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=20,
        params:
            code=code("ledger", *(f"{module_of(PAPERS[name])}.targets" for name in LEDGER_OF)),
            papers=FIND.ledger_params(LEDGER_OF),
            item_files=ITEMS_GIVEN,
        script:
            "../scripts/ledger.py"
