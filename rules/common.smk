# What all rules share: the checked configuration, paths, and helpers that find inputs. No rules here.
import os
import sys
from dataclasses import asdict
from pathlib import Path

ROOT = Path(workflow.basedir)
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from snakemake.exceptions import WorkflowError

from scripts.biasflow.plan.configuration import load_schema, resolve
from scripts.biasflow.corpora.catalogue import DEV2020_FILES, glue_files, nli_files, read_catalogue
from scripts.biasflow.corpora.densray_sets import occupation_files, occupation_sets, test_files
from scripts.biasflow.plan.code import code_files
from scripts.biasflow.methods.grid import settings_in_training
from scripts.biasflow.plan.sources import (
    calibration_encoders,
    local_files,
    measures_not_run,
    not_run,
    without_next_sentence,
)
from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.files import check_writable

try:
    config = resolve(config, load_schema(ROOT / "config/schema/config.schema.yaml"))
    CATALOGUE = read_catalogue()
    NOT_RUN = not_run(config)  # encoder -> why it cannot be measured
    DURING = settings_in_training(config)  # name of a training in paths -> setting that is active in it
except BiasflowError as error:
    raise WorkflowError(str(error)) from None

RESULTS = f"results/{config['run']}"
CORPORA = "results/corpora"  # external files: shared by all runs
ENCODERS = config["encoders"] | calibration_encoders(config)
PROJECTIVE = config["projective"]
NLI = config["nli"]
DENSRAY = config["densray"]
GLUE = DENSRAY["glue"]
INTERNAL = config["internal"]
NOT_SCORED = {  # encoder -> why it has no next-sentence scores; the tables say so
    name: reason
    for name, reason in {**without_next_sentence(config), **NOT_RUN}.items()
    if name in PROJECTIVE["encoders"]
}
CALIBRATED = list(calibration_encoders(config))
SCORED = [name for name in PROJECTIVE["encoders"] if name not in NOT_SCORED] + CALIBRATED
FITTED = [name for name in PROJECTIVE["encoders"] if name not in NOT_RUN] + CALIBRATED
NLI_NOT_RUN = {name: NOT_RUN[name] for name in NLI["encoders"] if name in NOT_RUN}
VIABILITY = NLI["viability"]
FINETUNED = [name for name in NLI["encoders"] if name not in NOT_RUN]
ERASED_NOT_RUN = {name: NOT_RUN[name] for name in DENSRAY["encoders"] if name in NOT_RUN}
ERASED = [name for name in DENSRAY["encoders"] if name not in NOT_RUN]
PROBED_NOT_RUN = {name: NOT_RUN[name] for name in INTERNAL["encoders"] if name in NOT_RUN}
PROBED = [name for name in INTERNAL["encoders"] if name not in NOT_RUN]
PAPER_A = "DensRay (Liang, Dufter and Schütze 2020)"
PAPER_B = "Projective debiasing (Dawkins et al. 2024)"
PAPER_C = "Debiasing and internal representations (Orgad, Goldfarb-Tarrant and Belinkov 2022)"
GPU = 0 if config["device"] == "cpu" else 1


def code(name):
    """The script of a rule and the modules that it imports, so that an edited module runs its dependants again."""
    return [os.path.relpath(path) for path in code_files(ROOT / f"scripts/{name}.py", ROOT)]


def check_results_folder():
    """Stop before the first job if nothing can be written."""
    try:
        check_writable(RESULTS)
    except BiasflowError as error:
        raise WorkflowError(str(error)) from None


def project_file(path):
    """A file of the project (config/...), wherever Snakemake was started."""
    return os.path.relpath(ROOT / path)


def project_folder(path):
    """The files of a folder of the project."""
    return sorted(project_file(file) for file in (ROOT / path).iterdir())


def one_of(names):
    """A wildcard constraint that admits these names; one that matches nothing if there are none."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


PLANTED_WORLD = project_folder("config/planted")
GENDER_LEXICON = project_folder("config/gender")
SENTENCE_PAIRS = PROJECTIVE["sentence_pairs"] or project_file("config/sentence_pairs.yaml")
FITTING = {  # how subspaces are fitted
    "eraser": PROJECTIVE["eraser"],
    "options": PROJECTIVE["eraser_options"],
    "sequential": PROJECTIVE["sequential"],
    "batch_size": PROJECTIVE["batch_size"],
}

NLI_FILES = {} if NLI["data"] == "planted" else nli_files(NLI["data"])
NLI_DATA = f"{RESULTS}/nli/{'files' if NLI_FILES else 'planted'}"
DEV2020_LISTS = DEV2020_FILES if NLI["occupations"] == "dev2020" else {}
OCCUPATION_WORDS = [f"{CORPORA}/{file}" for file in DEV2020_LISTS.values()] or PLANTED_WORLD


def corpus_file(name):
    """A file of the catalogue, or the user's own."""
    return f"{CORPORA}/{name}" if name in CATALOGUE.files else name


def finetuned_files(wildcards):
    """The files of a fine-tuned encoder."""
    folder = f"{RESULTS}/finetuned/{wildcards.encoder}/nli/{wildcards.training}/seed{wildcards.seed}"
    return [f"{folder}/{name}" for name in ("config.json", "model.safetensors")]


def finetuned_subspaces(wildcards):
    """The subspaces of a fine-tuned encoder: fitted to it, or those that were active in its training."""
    training, seed = wildcards.training, wildcards.seed
    kind = "finetuned" if training in DURING else "erasers"
    return f"{RESULTS}/{kind}/{wildcards.encoder}/nli/{training}/seed{seed}/subspaces.safetensors"


def retrained_heads(wildcards):
    """The heads of a fine-tuned encoder, retrained for each setting, if the configuration asks for them."""
    if NLI["retrain_heads"] is None or wildcards.training in DURING:
        return []
    return f"{RESULTS}/extrinsic/{wildcards.encoder}/nli/{wildcards.training}/seed{wildcards.seed}.heads.safetensors"


def encoder_files(wildcards):
    """The files of an encoder: those of its folder if it is local, otherwise what its own rule writes."""
    encoder = ENCODERS[wildcards.encoder]
    if encoder["source"] == "local":
        return local_files(encoder, config["mirror"])
    return [f"{RESULTS}/encoders/{wildcards.encoder}/{name}" for name in ("config.json", "model.safetensors")]


def of_source(source):
    """The encoders that come from `source`, as a wildcard constraint; one that matches nothing if there are none."""
    return one_of(name for name, encoder in ENCODERS.items() if encoder["source"] == source)


def corpus_of(wildcards):
    """The text that an encoder is pre-trained on: its own planted corpus, a corpus of the catalogue, or the user's file."""
    corpus = ENCODERS[wildcards.encoder]["corpus"]
    if corpus == "planted":
        return f"{RESULTS}/texts/{wildcards.encoder}.txt"
    return f"{RESULTS}/texts/wikitext-2.txt" if corpus == "wikitext-2" else corpus


# The encoders that are probed, by their path: as pre-trained, never trained, and fine-tuned per strategy and seed.
TUNED = [f"{strategy}/seed{seed}" for strategy in INTERNAL["strategies"] for seed in INTERNAL["seeds"]]
RANDOM_SEEDS = INTERNAL["seeds"] if INTERNAL["random_encoders"] is None else INTERNAL["random_encoders"]
RANDOM = [f"random/seed{seed}" for seed in RANDOM_SEEDS]
PRETRAINED = "pretrained"
MODELS = [PRETRAINED, *RANDOM, *TUNED]
KINDS = {
    kind: [model for model in MODELS if model.split("/")[0] == kind]
    for kind in dict.fromkeys(m.split("/")[0] for m in MODELS)
}
SCRUBBED = "scrubbing" in INTERNAL["strategies"]
BIOGRAPHY_FILES = [] if INTERNAL["data"] == "planted" else INTERNAL["data"]["files"]
SMALL_ARE_DROPPED = bool(BIOGRAPHY_FILES) and INTERNAL["data"]["small"] == "drop"
SPLITS = {
    "seeds": sorted({*INTERNAL["seeds"], *INTERNAL["frozen"]["seeds"], *RANDOM_SEEDS}),
    "strategies": INTERNAL["strategies"],
}
BIOGRAPHIES = f"{RESULTS}/occupation/{'files' if BIOGRAPHY_FILES else 'planted'}"


def texts_of_model(model):
    """The test texts that a model is measured on: scrubbed ones too where scrubbing was, and for comparison with it."""
    scrubbed = model.startswith("scrubbing/") or (SCRUBBED and model == PRETRAINED)
    return ["raw", "scrubbed"] if scrubbed else ["raw"]


def model_files(wildcards):
    """The files of a probed encoder; a random one is made from those of the pretrained one."""
    if wildcards.model not in TUNED:
        return encoder_files(wildcards)
    folder = f"{RESULTS}/finetuned/{wildcards.encoder}/occupation/{wildcards.model}"
    return [f"{folder}/{name}" for name in ("config.json", "model.safetensors")]


def ceat_text(wildcards):
    """The text in which the words of the association tests are looked for."""
    text = INTERNAL["ceat"]["text"]
    if text == "planted":
        return f"{RESULTS}/texts/{wildcards.encoder}.txt"
    return f"{RESULTS}/texts/wikitext-2.txt" if text == "wikitext-2" else text


METHODS = list(DENSRAY["methods"])
LAYERS = {name: method["layers"] for name, method in DENSRAY["methods"].items()}  # where each eraser is active
GENDERED_WORDS = PLANTED_WORLD if DENSRAY["contexts"]["words"] == "planted" else [f"{CORPORA}/google-analogies"]
TEST_FILES = {name: f"{CORPORA}/{file}" for name, file in test_files(DENSRAY["association"]).items()}
MEASURES_NOT_RUN = measures_not_run(config)
STAGES = ["pretrained", "finetuned"] if DENSRAY["perplexity"]["finetune"] else ["pretrained"]


def occupations_of(wildcards):
    """Set of occupations -> its file, for the sets of an encoder that have one."""
    files = occupation_files(occupation_sets(DENSRAY, wildcards.encoder), DENSRAY["own_occupations"])
    return {name: corpus_file(file) for name, file in files.items()}


def context_text(wildcards):
    """The text in which gendered words are looked for."""
    text = DENSRAY["contexts"]["text"]
    if text == "planted":
        return f"{RESULTS}/texts/{wildcards.encoder}.txt"
    return f"{RESULTS}/texts/wikitext-2.txt" if text == "wikitext-2" else text


def perplexity_text(wildcards):
    """The text whose perplexity is measured: no encoder was trained on it."""
    planted = DENSRAY["perplexity"]["text"] == "planted"
    return f"{RESULTS}/texts/" + (f"{wildcards.encoder}.held-out.txt" if planted else "wikitext-2-test.txt")


def perplexity_training_text(wildcards):
    """The training part of that text."""
    planted = DENSRAY["perplexity"]["text"] == "planted"
    return f"{RESULTS}/texts/" + (f"{wildcards.encoder}.txt" if planted else "wikitext-2.txt")


def eraser_files(wildcards):
    """The fitted erasers of an encoder, one file per method."""
    return [f"{RESULTS}/erasers/{wildcards.encoder}/{method}.safetensors" for method in METHODS]


def eraser_of_method(wildcards):
    """The fitted eraser of the method at hand; nothing for none."""
    if wildcards.method == "none":
        return []
    return f"{RESULTS}/erasers/{wildcards.encoder}/{wildcards.method}.safetensors"


def glue_examples(part):
    """The examples of a part of a task: GLUE's, or the embedded pairs."""

    def files(wildcards):
        if wildcards.task == "planted-nli":
            return f"{RESULTS}/nli/planted/{'test' if part == 'validation' else part}.csv"
        return f"{RESULTS}/glue/{wildcards.task}/{part}.csv"

    return files


def glue_encoder(wildcards):
    """The fine-tuned encoder whose predictions are scored."""
    method = wildcards.method if wildcards.when == "in_training" else "none"
    folder = f"{RESULTS}/finetuned/{wildcards.encoder}/glue/{wildcards.task}/{method}/seed{wildcards.seed}"
    return [f"{folder}/{name}" for name in ("config.json", "model.safetensors")]


def perplexity_encoder(wildcards):
    """The encoder as it is, or after one epoch on the text's training part."""
    if wildcards.stage == "pretrained":
        return encoder_files(wildcards)
    folder = f"{RESULTS}/finetuned/{wildcards.encoder}/masked-lm"
    return [f"{folder}/{name}" for name in ("config.json", "model.safetensors")]


def per_encoder_and_stimuli(pattern):
    """Every combination of a scored encoder and a stimuli set."""
    return expand(f"{RESULTS}/{pattern}", encoder=SCORED, stimuli=PROJECTIVE["stimuli"])


def per_finetuning(pattern):
    """Every combination of a fine-tuned encoder, a training and a seed."""
    values = {"encoder": FINETUNED, "training": ["plain", *DURING], "seed": NLI["seeds"]}
    return expand(pattern if pattern.startswith("{") else f"{RESULTS}/{pattern}", **values)


def densray_scores():
    """The files of scores of paper A's measures, and of paper B's under paper A's erasers."""
    files = ["gender_shares.csv", *(["occtmp.csv"] if occupation_sets(DENSRAY) else [])]
    files += ["association.csv"] if DENSRAY["association"] else []
    files += [f"perplexity/{stage}.csv" for stage in STAGES]
    glue = expand(
        "glue/{task}/{when}/{method}/seed{seed}.csv",
        task=GLUE["tasks"],
        when=GLUE["when"],
        method=["none", *METHODS],
        seed=GLUE["seeds"],
    )
    scores = expand(f"{RESULTS}/scores/{{encoder}}/{{file}}", encoder=ERASED, file=files + glue)
    both = [name for name in ERASED if name in SCORED]
    scores += expand(
        f"{RESULTS}/scores/{{encoder}}/erasers/{{stimuli}}.csv", encoder=both, stimuli=PROJECTIVE["stimuli"]
    )
    both = [name for name in ERASED if name in FINETUNED]
    return scores + expand(
        f"{RESULTS}/scores/{{encoder}}/erasers/nli/plain/seed{{seed}}.csv", encoder=both, seed=NLI["seeds"]
    )


DENSRAY_SCORES = densray_scores()


def per_occupation_seed(pattern):
    """A file for every seed of paper C; other wildcards, in double braces, stay."""
    return expand(f"{RESULTS}/{pattern}", seed=INTERNAL["seeds"])


def internal_scores():
    """The files of scores of paper C's measures."""
    files = [f"occupation/{strategy}.csv" for strategy in [*INTERNAL["strategies"], "frozen"]]
    files += [f"compression/{kind}.csv" for kind in KINDS]
    files += [f"ceat/{model}.csv" for model in MODELS if INTERNAL["ceat"]["tests"]]
    return expand(f"{RESULTS}/scores/{{encoder}}/{{file}}", encoder=PROBED, file=files)


INTERNAL_SCORES = internal_scores()


def table(name, about):
    """The three files of a table; the HTML page goes into the report with its caption."""
    base = f"{RESULTS}/tables/{name}"
    options = {"category": "Tables", "subcategory": about, "labels": {"table": name}}
    return {
        "csv": f"{base}.csv",
        "tex": f"{base}.tex",
        "html": report(f"{base}.html", caption=f"report/{name}.rst", **options),
    }


def figure(name, about):
    """The two files of a figure; the SVG goes into the report with its caption."""
    base = f"{RESULTS}/figures/{name}"
    options = {"category": "Figures", "subcategory": about, "labels": {"figure": name}}
    return {"svg": report(f"{base}.svg", caption=f"report/{name}.rst", **options), "pdf": f"{base}.pdf"}


wildcard_constraints:
    encoder=one_of(ENCODERS),
    stimuli=one_of(["planted", "stereoset-authors", "stereoset-swapped"]),
    file=one_of(CATALOGUE.files),
    training=one_of(["plain", *DURING]),
    seed=r"\d+",
    method=one_of(["none", *METHODS]),
    task=one_of(GLUE["tasks"]),
    stage=one_of(STAGES),
    when=one_of(GLUE["when"]),
    model=one_of(MODELS),
    kind=one_of(KINDS),
    strategy=one_of(INTERNAL["strategies"]),
