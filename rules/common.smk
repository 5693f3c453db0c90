# What all rules share: the checked configuration, paths, and helpers that find inputs. No rules here.
import os
import sys
from dataclasses import asdict
from pathlib import Path

ROOT = Path(workflow.basedir)
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from snakemake.exceptions import WorkflowError

from scripts.biasflow.configuration import load_schema, resolve
from scripts.biasflow.corpora.catalogue import read_catalogue
from scripts.biasflow.dependencies import code_files
from scripts.biasflow.encoders.sources import calibration_encoders, local_files, not_run, without_next_sentence
from scripts.biasflow.errors import BiasflowError
from scripts.biasflow.files import check_writable

try:
    config = resolve(config, load_schema(ROOT / "config/schema/config.schema.yaml"))
    CATALOGUE = read_catalogue()
    NOT_RUN = not_run(config)  # encoder -> why it cannot be measured
except BiasflowError as error:
    raise WorkflowError(str(error)) from None

RESULTS = f"results/{config['run']}"
CORPORA = "results/corpora"  # external files: shared by all runs
ENCODERS = config["encoders"] | calibration_encoders(config)
PROJECTIVE = config["projective"]
NOT_SCORED = {  # encoder -> why it has no next-sentence scores; the tables say so
    name: reason
    for name, reason in {**without_next_sentence(config), **NOT_RUN}.items()
    if name in PROJECTIVE["encoders"]
}
CALIBRATED = list(calibration_encoders(config))
SCORED = [name for name in PROJECTIVE["encoders"] if name not in NOT_SCORED] + CALIBRATED
FITTED = [name for name in PROJECTIVE["encoders"] if name not in NOT_RUN] + CALIBRATED
PAPER_B = "Projective debiasing (Dawkins et al. 2024)"
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


PLANTED_WORLD = project_folder("config/planted")
GENDER_LEXICON = project_folder("config/gender")


def encoder_files(wildcards):
    """The files of an encoder: those of its folder if it is local, otherwise what its own rule writes."""
    encoder = ENCODERS[wildcards.encoder]
    if encoder["source"] == "local":
        return local_files(encoder, config["mirror"])
    return [f"{RESULTS}/encoders/{wildcards.encoder}/{name}" for name in ("config.json", "model.safetensors")]


def of_source(source):
    """The encoders that come from `source`, as a wildcard constraint; one that matches nothing if there are none."""
    names = [re.escape(name) for name, encoder in ENCODERS.items() if encoder["source"] == source]
    return "|".join(names) or "(?!)"


def corpus_of(wildcards):
    """The text that an encoder is pre-trained on: its own planted corpus, a corpus of the catalogue, or the user's file."""
    corpus = ENCODERS[wildcards.encoder]["corpus"]
    if corpus == "planted":
        return f"{RESULTS}/texts/{wildcards.encoder}.txt"
    return f"{RESULTS}/texts/wikitext-2.txt" if corpus == "wikitext-2" else corpus


def per_encoder_and_stimuli(pattern):
    """Every combination of a scored encoder and a stimuli set."""
    return expand(f"{RESULTS}/{pattern}", encoder=SCORED, stimuli=PROJECTIVE["stimuli"])


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
    encoder="|".join(re.escape(name) for name in ENCODERS),
    stimuli="|".join(["planted", "stereoset-authors", "stereoset-swapped"]),
    file="|".join(re.escape(name) for name in CATALOGUE.files),
