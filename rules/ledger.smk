# Every number that papers print, beside ours: of those whose encoders are known, and of those that were printed from
# published scores of single items which this run reads.
from biasflow.papers.paper import load_tables

LEDGER_TEXT = load_tables(Path(package_file("papers/ledger.yaml")))
if any(job.rule == "paper_ledger" for job in JOBS):
    PAPER_TARGETS["ledger"] = [f"{RESULTS}/tables/{name}.csv" for name in LEDGER_TEXT]

    rule paper_ledger:
        input:
            unpack(inputs_of("paper_ledger")),
        output:
            **{
                name: [
                    f"{RESULTS}/tables/{name}.csv",
                    f"{RESULTS}/tables/{name}.tex",
                    report(
                        f"{RESULTS}/tables/{name}.html",
                        category="Ledger",
                        labels=shown_in_report(name, about.caption),
                    ),
                ]
                for name, about in LEDGER_TEXT.items()
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
            code=code_of("paper_ledger", "ledger"),
            papers=param_of("paper_ledger", "papers"),
            item_files=param_of("paper_ledger", "item_files"),
        script:
            "../scripts/ledger.py"
