# biasflow: gender bias inside and outside BERT-family encoders. Rules are in rules/, by theme, in the order of the data.
from snakemake.utils import min_version

min_version("9.20")

if not workflow.overwrite_configfiles:  # a --configfile replaces the default run; it is not merged into it

    configfile: "config/config.yaml"


report: "rules/report/workflow.rst"


container: "biasflow.sif"  # of envs/biasflow.def, with --sdm apptainer alone


HERE = workflow.current_basedir  # of a module: not workflow.basedir
ROOT_RULES = "rules/root.smk"
if hasattr(HERE, "repo_path"):  # Snakemake joins no path to the top of a local repository
    ROOT_RULES = f"git+file:{HERE.repo_path}/{HERE.path}/{ROOT_RULES}@{HERE.ref}"


include: ROOT_RULES


for THEME in "common data encoders tasks methods readouts external given scores papers ledger".split():

    include: f"{ROOT}/rules/{THEME}.smk"


rule all:
    default_target: True
    input:
        TABLES + JOBS.checks + [target for targets in PAPER_TARGETS.values() for target in targets],


for NAME, TARGETS in {"tables": TABLES, **PAPER_TARGETS, **BY_NAME}.items():  # BY_NAME: orgad2022_table2

    rule:
        name:
            NAME
        input:
            TARGETS,


if workflow.is_main_process:  # also a dry run
    RUN.last.targets = dict.fromkeys(("all", "tables", *PAPER_TARGETS, *BY_NAME), "") | NOT_DRAWN
    RUN.last.judging = lambda: RUN.follow_content(workflow)
    RUN.last.judged = lambda: RUN.compare(workflow.dag)  # when the graph is built: is something finished replaced?


onstart:
    RUN.begin(workflow)


onsuccess:
    RUN.end(workflow)


onerror:
    RUN.last.message = failures(RUN.last.failed, since=RUN.since)
