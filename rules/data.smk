# What encoders are trained and measured on: external files, texts, stimuli, and the data of tasks.


localrules:
    download,
    wikitext,


# The code is no input here: what a file must be is checked against its sha256, and an edit must not fetch it again.
# Nor is the mirror a parameter: a verified file stays good when the mirror is gone.
rule download:
    input:
        own=lambda wildcards: config["files"].get(wildcards.file, []),
    output:
        f"{CORPORA}/{{file}}",
    log:
        f"{CORPORA}/logs/{{file}}.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=60,
        downloads=1,
    params:
        entry=lambda wildcards: asdict(CATALOGUE.entry(wildcards.file)),
        lock=f"{CORPORA}/lock.json",
    script:
        "../scripts/download.py"


rule wikitext:
    input:
        code=code("wikitext"),
        articles=lambda wildcards: f"{CORPORA}/wikitext-2-{'test' if wildcards.part else 'train'}",
    output:
        f"{RESULTS}/data/texts/wikitext-2{{part}}.txt",
    log:
        f"{RESULTS}/logs/data/wikitext-2{{part}}.log",
    wildcard_constraints:
        part="|-test",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    script:
        "../scripts/wikitext.py"


# Held-out text is of the same world, but no encoder was trained on it: another seed.
rule planted_text:
    input:
        code=code("planted_text"),
        world=PLANTED_WORLD,
    output:
        f"{RESULTS}/data/texts/{{encoder}}{{part}}.txt",
    log:
        f"{RESULTS}/logs/data/{{encoder}}{{part}}.log",
    wildcard_constraints:
        encoder=of_source("pretrain"),
        part=r"|\.held-out",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        encoder=lambda wildcards: FIND.planted_corpus(wildcards.encoder, held_out=bool(wildcards.part)),
    script:
        "../scripts/planted_text.py"


rule stimuli_planted:
    input:
        code=code("stimuli_planted"),
        world=PLANTED_WORLD,
    output:
        f"{RESULTS}/data/stimuli/planted.csv",
    log:
        f"{RESULTS}/logs/data/stimuli-planted.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        triples=config["metrics"]["strength"]["triples"],
        seed=config["metrics"]["strength"]["seed"],
    script:
        "../scripts/stimuli_planted.py"


rule stimuli_authors:
    input:
        code=code("stimuli_authors"),
        authors=lambda wildcards: f"{CORPORA}/{AUTHORS_STIMULI[wildcards.stimuli]}",
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
        mem_mb=1000,
        runtime=10,
    script:
        "../scripts/stimuli_authors.py"


rule stimuli_swapped:
    input:
        code=code("stimuli_swapped"),
        stereoset=f"{CORPORA}/stereoset-dev",
        lexicon=GENDER_LEXICON,
    output:
        f"{RESULTS}/data/stimuli/stereoset-swapped.csv",
    log:
        f"{RESULTS}/logs/data/stimuli-stereoset-swapped.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    script:
        "../scripts/stimuli_swapped.py"


rule stereoset_changes:
    input:
        code=code("stereoset_changes"),
        stereoset=f"{CORPORA}/stereoset-dev",
        authors=f"{CORPORA}/gender-swapped-dev",
    output:
        f"{RESULTS}/data/stereoset-changes.csv",
    log:
        f"{RESULTS}/logs/data/stereoset-changes.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    script:
        "../scripts/stereoset_changes.py"


rule ceat_contexts:
    input:
        code=code("ceat_contexts"),
        encoder=lambda wildcards: FIND.encoder_files(wildcards.encoder),
        text=lambda wildcards: text_file(config, wildcards.encoder, config["metrics"]["ceat"]["text"]),
        words=project_file("config/ceat_words.csv"),
        world=PLANTED_WORLD,
    output:
        contexts=f"{RESULTS}/data/contexts/{{encoder}}/ceat.parquet",
        counts=f"{RESULTS}/data/contexts/{{encoder}}/ceat_counts.csv",
    log:
        f"{RESULTS}/logs/data/contexts-{{encoder}}.log",
    conda:
        "../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        **{key: config["metrics"]["ceat"][key] for key in ("per_word", "seed")},
        tests=lambda wildcards: ceat_tests(config, wildcards.encoder),
    script:
        "../scripts/ceat_contexts.py"


rule nli_data:
    input:
        unpack(lambda wildcards: FIND.nli_files(wildcards.task)),
        code=code("nli_data"),
        world=PLANTED_WORLD,
    output:
        **{part: f"{RESULTS}/data/{{task}}/{part}.csv" for part in ("train", "validation", "test")},
        sources=f"{RESULTS}/data/{{task}}/sources.csv",
    log:
        f"{RESULTS}/logs/data/{{task}}.log",
    wildcard_constraints:
        task=of_kind("nli"),
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=6000,
        runtime=30,
    params:
        task=lambda wildcards: {key: config["tasks"][wildcards.task][key] for key in ("data", "planted")},
        seed=0,  # of what is held out for validation: the same whatever fine-tunings there are
    script:
        "../scripts/nli_data.py"


rule occupation_pairs:
    input:
        code=code("occupation_pairs"),
        words=lambda wildcards: FIND.occupation_words(wildcards.task) or PLANTED_WORLD,
    output:
        f"{RESULTS}/data/{{task}}/occupation_pairs.json",
    log:
        f"{RESULTS}/logs/data/{{task}}-occupation_pairs.log",
    wildcard_constraints:
        task=of_kind("nli"),
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        words=lambda wildcards: config["tasks"][wildcards.task]["occupations"],
        selection=lambda wildcards: FIND.pair_selection(wildcards.task),
    script:
        "../scripts/occupation_pairs.py"


rule glue_data:
    input:
        unpack(lambda wildcards: FIND.glue_files(wildcards.task)),
        code=code("glue_data"),
        world=PLANTED_WORLD,
    output:
        train=f"{RESULTS}/data/{{task}}/train.csv",
        validation=f"{RESULTS}/data/{{task}}/validation.csv",
    log:
        f"{RESULTS}/logs/data/{{task}}.log",
    wildcard_constraints:
        task=of_kind("glue"),
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        task=lambda wildcards: {key: config["tasks"][wildcards.task][key] for key in ("data", "planted")},
    script:
        "../scripts/glue_data.py"


rule biographies:
    input:
        code=code("biographies"),
        files=lambda wildcards: FIND.biography_files(wildcards.task),
        labour=lambda wildcards: config["tasks"][wildcards.task]["labour"]
        or project_file("config/labour_statistics.csv"),
        lexicon=GENDER_LEXICON,
        world=PLANTED_WORLD,
    output:
        biographies=f"{RESULTS}/data/{{task}}/biographies.parquet",
        professions=f"{RESULTS}/data/{{task}}/professions.csv",
        sources=f"{RESULTS}/data/{{task}}/sources.csv",
    log:
        f"{RESULTS}/logs/data/{{task}}.log",
    wildcard_constraints:
        task=of_kind("occupation"),
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        task=lambda wildcards: {key: config["tasks"][wildcards.task][key] for key in ("data", "planted", "scrubbing")},
        splits=lambda wildcards: FIND.splits(wildcards.task) if FIND.small_are_dropped(wildcards.task) else None,
    script:
        "../scripts/biographies.py"


rule splits:
    input:
        code=code("splits"),
        biographies=f"{RESULTS}/data/{{task}}/biographies.parquet",
        professions=f"{RESULTS}/data/{{task}}/professions.csv",
    output:
        f"{RESULTS}/data/{{task}}/splits.csv",
    log:
        f"{RESULTS}/logs/data/{{task}}-splits.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=20,
    params:
        splits=lambda wildcards: FIND.splits(wildcards.task),
        advice=lambda wildcards: FIND.advice_on_splits(wildcards.task),
    script:
        "../scripts/splits.py"


rule top_words:
    input:
        code=code("top_words"),
        biographies=f"{RESULTS}/data/{{task}}/biographies.parquet",
    output:
        f"{RESULTS}/data/{{task}}/top_words.csv",
    log:
        f"{RESULTS}/logs/data/{{task}}-top_words.log",
    wildcard_constraints:
        task=of_kind("occupation"),
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=120,
    params:
        options=lambda wildcards: config["tasks"][wildcards.task]["top_words"],
    script:
        "../scripts/top_words.py"
