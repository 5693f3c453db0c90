# What encoders are trained and measured on: external files, texts, stimuli, and the data of tasks.
from dataclasses import asdict

from biasflow.corpora.stereoset import AUTHORS_STIMULI
from biasflow.plan import datasets
from biasflow.plan.external import files_read
from biasflow.plan.setup import kind_of
from biasflow.stimuli.densray_sets import PRONOUNS

corpus = PATHS.corpus  # an external file by its name in the catalogue
CEAT = config["metrics"]["ceat"]
NAMES_OF_FILES = {Path(corpus(name)).name: name for name in CATALOGUE.files}  # of the folder of external files
OWN_TRIPLES = {name: about["file"] for name, about in config["metrics"]["strength"]["own"].items()}
TRIPLES = OWN_TRIPLES | {datasets.SWAPPED: corpus("stereoset-dev")}  # stimuli -> what they are made from
FILES_READ = files_read(SETUP, CATALOGUE, JOBS.needed)


# The code is no input here: what a file must be is checked against its sha256, and an edit must not fetch it again.
# Nor is the mirror a parameter: a verified file stays good when the mirror is gone. A file that another run has fetched
# meanwhile stays where it is (`update`): its jobs read it.
rule download:
    input:
        own=lambda wildcards: on_this_machine(config["files"].get(NAMES_OF_FILES[wildcards.file], [])),
    output:
        update(f"{CORPORA}/{{file}}"),
    log:
        f"{CORPORA}/logs/{{file}}.log",
    wildcard_constraints:
        file=one_of(NAMES_OF_FILES),
    localrule: True
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=130,  # a little more than the deadline of a download
        downloads=1,
    params:
        entries=lambda wildcards: [asdict(CATALOGUE.entry(NAMES_OF_FILES[wildcards.file]))],
    script:
        "../scripts/download.py"


rule files:
    input:
        [corpus(name) for name in FILES_READ],
    output:
        f"{RESULTS}/files.csv",
    log:
        f"{RESULTS}/logs/files.log",
    localrule: True
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=20,
    params:
        code=code("files"),
    script:
        "../scripts/files.py"


rule wikitext:
    input:
        articles=lambda wildcards: corpus(f"wikitext-2-{'test' if wildcards.part else 'train'}"),
        words=corpus("google-analogies"),
    output:
        running=f"{RESULTS}/data/texts/wikitext-2{{part}}.txt",
        sentences=f"{RESULTS}/data/texts/wikitext-2{{part}}.sentences.txt",
        whole_sentences=f"{RESULTS}/data/texts/wikitext-2-whole-sentences{{part}}.txt",
        about=f"{RESULTS}/data/texts/wikitext-2{{part}}.about.csv",
    log:
        f"{RESULTS}/logs/data/wikitext-2{{part}}.log",
    wildcard_constraints:
        part="|-test",
    localrule: True
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code("wikitext"),
    script:
        "../scripts/wikitext.py"


rule chinese_wikipedia:
    input:
        articles=[corpus(name) for name in datasets.CHINESE_ARTICLES],
    output:
        f"{RESULTS}/data/texts/{datasets.CHINESE_TEXT}.txt",
    log:
        f"{RESULTS}/logs/data/{datasets.CHINESE_TEXT}.log",
    localrule: True
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code("chinese_wikipedia"),
        pronouns=PRONOUNS["chinese"],
    script:
        "../scripts/chinese_wikipedia.py"


# Held-out text is of the same world, but no encoder was trained on it: another seed.
rule planted_text:
    output:
        f"{RESULTS}/data/texts/{{encoder}}{{part}}.txt",
    log:
        f"{RESULTS}/logs/data/{{encoder}}{{part}}.log",
    wildcard_constraints:
        encoder=one_of(name for name, encoder in SETUP.encoders.items() if encoder.planted),
        part=r"|\.held-out",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=10,
    params:
        code=code("planted_text"),
        encoder=param_of("planted_text", "encoder"),
    script:
        "../scripts/planted_text.py"


# Line by line: a running text's lines are its paragraphs.
rule swapped_text:
    input:
        text=f"{RESULTS}/data/texts/{{text}}.txt",
    output:
        f"{RESULTS}/data/texts/{{text}}.swapped.txt",
    log:
        f"{RESULTS}/logs/data/{{text}}.swapped.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=20,
    params:
        code=code("swapped_text"),
    script:
        "../scripts/swapped_text.py"


rule stimuli_planted:
    output:
        f"{RESULTS}/data/stimuli/planted{{seen}}.csv",
    log:
        f"{RESULTS}/logs/data/stimuli-planted{{seen}}.log",
    wildcard_constraints:
        seen="|-seen",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=10,
    params:
        code=code("stimuli_planted"),
        world=config["world"],
        triples=config["metrics"]["strength"]["triples"],
        seen=lambda wildcards: bool(wildcards.seen),
        seed=config["metrics"]["strength"]["seed"],
    script:
        "../scripts/stimuli_planted.py"


rule stimuli_authors:
    input:
        authors=lambda wildcards: corpus(AUTHORS_STIMULI[wildcards.stimuli]),
    output:
        f"{RESULTS}/data/stimuli/{{stimuli}}.csv",
    log:
        f"{RESULTS}/logs/data/stimuli-{{stimuli}}.log",
    wildcard_constraints:
        stimuli=one_of(AUTHORS_STIMULI),
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=10,
    params:
        code=code("stimuli_authors"),
    script:
        "../scripts/stimuli_authors.py"


rule stimuli_swapped:
    input:
        triples=lambda wildcards: on_this_machine(TRIPLES[wildcards.stimuli]),
    output:
        f"{RESULTS}/data/stimuli/{{stimuli}}.csv",
    log:
        f"{RESULTS}/logs/data/stimuli-{{stimuli}}.log",
    wildcard_constraints:
        stimuli=one_of(TRIPLES),
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=10,
    params:
        code=code("stimuli_swapped"),
        own=lambda wildcards: RUN.user_files.digests({"triples": TRIPLES[wildcards.stimuli]}),
        is_own=lambda wildcards: wildcards.stimuli in OWN_TRIPLES,
    script:
        "../scripts/stimuli_swapped.py"


rule stereoset_changes:
    input:
        stereoset=corpus("stereoset-dev"),
        authors=corpus("gender-swapped-dev"),
    output:
        f"{RESULTS}/data/stereoset-changes.csv",
    log:
        f"{RESULTS}/logs/data/stereoset-changes.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=10,
    params:
        code=code("stereoset_changes"),
    script:
        "../scripts/stereoset_changes.py"


rule ceat_contexts:
    input:
        unpack(inputs_of("ceat_contexts")),
    output:
        contexts=f"{RESULTS}/data/contexts/{{encoder}}/{{words}}.parquet",
        counts=f"{RESULTS}/data/contexts/{{encoder}}/{{words}}_counts.csv",
    log:
        f"{RESULTS}/logs/data/contexts-{{encoder}}-{{words}}.log",
    wildcard_constraints:
        words=one_of([datasets.CEAT, *CEAT["own"]]),
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(8000),
        runtime=240,
    params:
        **{key: CEAT[key] for key in ("per_word", "seed")},
        code=code("ceat_contexts"),
        own=user_files_of("ceat_contexts"),
        world=config["world"],
        tests=param_of("ceat_contexts", "tests"),
        text=param_of("ceat_contexts", "text"),
    script:
        "../scripts/ceat_contexts.py"


# The data of tasks: every kind of task lists its steps, each a rule of one shape. Rules nli_data, occupation_pairs,
# glue_data, biographies, splits, top_words, labelled_texts, labelled_splits, labelled_parts, coreference_documents and
# coreference_pairs.
for KIND in TASKS:
    for STEP in kind_of(KIND).steps:

        rule:
            name:
                STEP.rule
            input:
                unpack(inputs_of(STEP.rule)),
            output:
                **{role: PATHS.data(f"{{task}}/{file}") for role, file in STEP.outputs.items()},
            log:
                f"{RESULTS}/logs/data/{{task}}-{STEP.rule}.log",
            wildcard_constraints:
                task=one_of(job.wildcards[0] for job in JOBS if job.rule == STEP.rule),
            priority: STEP.priority
            conda:
                "../envs/light.yaml"
            threads: 1
            resources:
                mem_mb=memory_of(STEP.rule, STEP.memory),
                runtime=minutes_of(STEP.rule, STEP.runtime),
            params:
                code=code_of(STEP.rule, "prepare"),
                own=user_files_of(STEP.rule),
                prepare=param_of(STEP.rule, "prepare"),
            script:
                "../scripts/prepare.py"
