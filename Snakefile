# biasflow: gender bias inside and outside BERT-family encoders. Rules are in rules/, by theme, in the order of the data.
from snakemake.utils import min_version

min_version("9.20")

if not workflow.overwrite_configfiles:  # a --configfile replaces the default run; it is not merged into it

    configfile: "config/config.yaml"


include: "rules/common.smk"
include: "rules/corpora.smk"
include: "rules/encoders.smk"
include: "rules/stimuli.smk"
include: "rules/erasers.smk"
include: "rules/intrinsic.smk"
include: "rules/finetuning.smk"
include: "rules/probing.smk"
include: "rules/extrinsic.smk"
include: "rules/paper_densray.smk"
include: "rules/paper_internal.smk"
include: "rules/paper.smk"


rule all:
    default_target: True
    input:
        TABLES + FIGURES + CALIBRATION,


for NAME, TARGETS in {
    "tables": TABLES,
    "figures": FIGURES,
    "projective_tables": PROJECTIVE_TABLES,
    "densray_tables": DENSRAY_TABLES,
    "internal_tables": INTERNAL_TABLES,
    "planted": CALIBRATION,
}.items():

    rule:
        name:
            NAME
        input:
            TARGETS,


onstart:
    check_results_folder()


onerror:
    print(f"biasflow: a rule failed; its log is named above and lies in {RESULTS}/logs/. Finished results are kept.")
