# External files, verified, and the texts that encoders are pre-trained on.


localrules:
    download,
    wikitext,


rule download:
    input:
        code=code("download"),
        catalogue=project_file("config/corpora.yaml"),
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
        mirror=config["mirror"],
        lock=f"{CORPORA}/lock.json",
        files=config["files"],
        wanted=external_files(),
    script:
        "../scripts/download.py"


rule wikitext:
    input:
        code=code("wikitext"),
        articles=f"{CORPORA}/wikitext-2-train",
    output:
        f"{RESULTS}/texts/wikitext-2.txt",
    log:
        f"{RESULTS}/logs/texts/wikitext-2.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    script:
        "../scripts/wikitext.py"


rule planted_text:
    input:
        code=code("planted_text"),
        world=PLANTED_WORLD,
    output:
        f"{RESULTS}/texts/{{encoder}}.txt",
    log:
        f"{RESULTS}/logs/texts/{{encoder}}.log",
    conda:
        "../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        encoder=lambda wildcards: {key: ENCODERS[wildcards.encoder][key] for key in ("bias", "seed", "documents")},
    script:
        "../scripts/planted_text.py"
