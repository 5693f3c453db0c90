"""What each job of the plan takes: nothing that no rule makes and the catalogue does not have."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from biasflow.base.code import module_file
from biasflow.base.errors import BiasflowError
from biasflow.base.paths import CORPORA, package_file
from biasflow.corpora.labour import read_labour
from biasflow.encoders.families import HEADS
from biasflow.encoders.places import SENTENCE
from biasflow.encoders.recipes import PLANTING, RECIPES
from biasflow.matrix import RANDOM, RUN
from biasflow.plan.cells import Plan, plan
from biasflow.plan.compiled import compiled
from biasflow.plan.configuration import resolve
from biasflow.plan.datasets import BIOGRAPHIES, text_file
from biasflow.plan.encoders import encoder_files
from biasflow.plan.external import files_read
from biasflow.plan.facts import gather
from biasflow.plan.items import items_of
from biasflow.plan.jobs import Job, Jobs
from biasflow.plan.setup import Facts, Setup
from biasflow.results.scores import NA
from biasflow.training import FITTING
from tests.unit.conftest import with_modules
from tests.unit.plan.configs import (
    CATALOGUE,
    CLASSIFIER,
    EVERYTHING,
    ROOT,
    RUNS,
    SCHEMA,
    asking,
    changed,
    digest_of,
    folder_of,
    jobs_of,
    of_file,
    setup_of,
)

# What rules/data.smk makes for any run.
DATA = [
    r"texts/(wikitext-2(-test)?(\.sentences)?|wikitext-2-whole-sentences(-test)?|{pretrain}(\.held-out)?)\.txt",
    r"texts/chinese-wikipedia\.txt",
    r"texts/(wikitext-2|wikitext-2-whole-sentences|{pretrain})\.swapped\.txt",
    r"stimuli/(planted|planted-seen|stereoset-authors|stereoset-authors-test|stereoset-swapped)\.csv",
    r"stereoset-changes\.csv",
]


class Run(NamedTuple):
    """A planned run of the project, or one that asks for everything."""

    setup: Setup
    plan: Plan
    jobs: Jobs

    def of(self, *rules: str) -> list[Job]:
        """The jobs of rules, by the beginning of their names."""
        return [job for job in self.jobs if job.rule.startswith(rules)]


def run_of(setup: Setup) -> Run:
    planned = plan(setup)
    return Run(setup, planned, compiled(setup, planned, CATALOGUE))


def found(name: str, folder: Path) -> Run:
    """A run whose local encoders lie in `folder`."""
    config = of_file(name)
    for encoder, about in config["encoders"].items():
        if about["source"] == "local":
            path = folder_of(folder / encoder, *HEADS, weights=CLASSIFIER)
            if config.get("metrics", {}).get("seat", {}).get("pooling") == SENTENCE:
                with_modules(folder / encoder, "Pooling", pooling_mode="mean")
            config = changed((f"encoders.{encoder}.path", path), config=config)
    config = resolve(config, SCHEMA)
    return run_of(Setup(config, gather(config)))


@pytest.fixture(scope="module", params=[*RUNS, EVERYTHING])
def run(request, tmp_path_factory) -> Run:
    return found(request.param, tmp_path_factory.mktemp("encoders"))


def is_there(path: str, run: Run) -> bool:
    """Whether some rule makes the file, the catalogue has it, or it is the project's or the user's own."""
    if run.jobs.output_of(path) or path.removeprefix(f"{CORPORA}/") in CATALOGUE.files or (ROOT / path).is_file():
        return True
    names = "|".join(re.escape(name) for name, encoder in run.setup.encoders.items() if encoder.planted) or "(?!)"
    patterns = [pattern.replace("{pretrain}", f"({names})") for pattern in DATA]
    within = re.escape(run.setup.paths.data(""))
    is_data = any(re.fullmatch(within + pattern, path) for pattern in patterns)
    return is_data or path == f"{run.setup.paths.root}/files.csv"


def test_every_input_is_some_rules_output_or_in_the_catalogue(run):
    absent = set(run.setup.facts.absent)
    wanted = [job for job in run.jobs if not absent & {*job.outputs}]
    assert wanted
    for job in wanted:
        for path in job.files:
            assert is_there(path, run), (job.rule, path)


def test_the_page_and_the_tables_of_papers_wait_for_every_readout_and_score(run):
    rules = ("read_", "probe", "heads", "external_", "score", "finetune", "fit_methods", "paper_", "describe", "plan")
    assert set(run.of(*rules)) <= set(run.jobs.needed)


def paths_in(value: object) -> list[str]:
    """The strings in a parameter of a job that are paths of results or of external files."""
    if isinstance(value, str):
        return [value] * value.startswith("results/")
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [path for part in parts for path in paths_in(part)]


def test_the_parameters_of_jobs_are_plain_values_without_paths(run):
    """They go into provenance and decide whether a job is run again; Snakemake may put files where its storage is."""
    jobs = run.of("finetune", "fit_methods", "read_", "probe", "heads", "external_", "score")
    assert len(jobs) >= 2
    for job in jobs:
        assert json.loads(json.dumps(job.params)) == job.params and not paths_in(job.params)


def test_a_training_or_fit_is_told_its_files_by_role(run):
    trained = {cell.model.strategy for cell in run.plan.cells if cell.status == RUN} - {NA, RANDOM}
    assert bool(trained) == bool(run.of("finetune"))
    for job in run.of("finetune"):
        training, task = job.params["training"], run.setup.task(job.wildcards[1])
        is_fitted = job.wildcards[2].startswith("with-")
        assert is_fitted == (training["fit"] is not None) == (FITTING in job.modules)
        assert set(task.kind.trained_on) == set(training["roles"]) <= set(job.inputs)
        assert task.module in job.modules
    for job in run.of("fit_methods"):
        assert {*job.params["fit"]["roles"], "model"} <= set(job.inputs)


def test_a_fit_is_told_the_draw_of_each_control():
    controls = {f"leace-random{matched}{draw}": draw for matched in ("", "-matched") for draw in (0, 3)}
    config = resolve(asking({"encoders": ["own"], "methods": ["leace", *controls], "metrics": ["weat"]}), SCHEMA)
    fit = jobs_of(setup_of(config)).of("fit_methods", ["own", "pretrained", "block"]).params["fit"]
    told = {name: [(step["control"], step.get("matched", False)) for step in fit["methods"][name]] for name in controls}
    assert told == {name: [(draw, "matched" in name)] for name, draw in controls.items()}


@pytest.mark.parametrize(
    "change",
    [
        ("encoders.own.corpus", "wikitext-2"),
        ("tasks.nli.limit", 90),
        ("methods.mine", [{"eraser": "leace"}]),
        ("ask.block.metrics", ["weat", "seat"]),
        ("papers.dawkins2024.encoders", ["own"]),
        ("metrics.weat.tests", ["C6"]),
    ],
)
def test_the_plan_is_written_again_for_whatever_it_shows(change):
    block = {"encoders": ["own"], "metrics": ["weat"], "task": "nli"}
    one, other = (resolve(asking(block, *changes), SCHEMA) for changes in ((), (change,)))
    jobs = [jobs_of(setup_of(config)).of("plan", []) for config in (one, other)]
    assert jobs[0].params["digest"] != jobs[1].params["digest"]


def test_the_plan_is_written_again_where_files_say_something_else():
    config = resolve(asking({"encoders": ["own"], "metrics": ["weat"]}), SCHEMA)
    facts = (Facts(), Facts(missing={"real": "there is no folder somewhere"}), Facts(absent={"a.csv": "not there"}))
    setups = [Setup(config, one) for one in facts]
    assert len({jobs_of(setup).of("plan", []).params["digest"] for setup in setups}) == len(facts)


def test_a_reading_is_made_of_files_that_its_job_is_given_or_has_made_before(run):
    for job in run.of("read_", "probe", "heads"):
        made = set()
        assert job.params["readout"]
        for each in job.params["readout"]:
            assert all(
                f"{each['inputs']}/{role}" in job.inputs or file in made for role, file in each["made_from"].items()
            )
            made.add(each["file"])
        assert len(made) == len(job.params["readout"]) == len({each["inputs"] for each in job.params["readout"]})


@pytest.mark.parametrize(("hidden", "together"), [(128, "first_token/"), (512, "")])
def test_a_narrow_encoder_is_read_by_one_job_and_a_broad_one_by_one_for_each_readout(hidden, together):
    block = {"encoders": ["own"], "task": "bios", "methods": ["none", "leace"], "metrics": ["fairness"]}
    jobs = jobs_of(setup_of(resolve(asking(block, ("encoders.own.hidden", hidden)), SCHEMA)))
    results, of = "results/test", ["own", "bios/plain/seed0", "block"]
    folder, bios = f"{results}/readouts/{'/'.join(of)}", [f"{results}/data/bios/texts.parquet"]
    heads = jobs.of("read_together" if together else "heads_texts", of)
    within, file = ("heads/bios-raw", "heads/bios-raw.parquet") if together else ("bios-raw", "bios-raw.parquet")
    given = {} if together else {"bios-raw/vectors": f"{folder}/first_token"}
    given |= {"first_token/bios-raw/texts": bios} if together else {}
    assert heads.inputs == given | {
        "model": [f"{results}/models/own/bios/plain/seed0"],
        "methods": f"{results}/methods/{'/'.join(of)}.safetensors",
        f"{within}/texts": bios,
    }
    reading = heads.params["readout"][-1]
    assert (reading["module"], reading["dataset"]) == ("biasflow.readouts.heads", "bios-raw")
    assert (reading["inputs"], reading["file"], reading["methods"]) == (within, file, ["none", "leace"])
    assert reading["made_from"] == {"vectors": f"{together}bios-raw.safetensors"}
    score = jobs.of("score", of)
    read = "together" if together else "heads"
    assert score.inputs[read] == f"{folder}/{read}"
    assert score.inputs["fairness/bios-raw/professions"] == [f"{results}/data/bios/professions.csv"]
    (job,) = score.params["jobs"]
    assert (job["metric"], job["readout"], job["file"]) == ("fairness", read, file)
    assert (job["inputs"], job["options"]) == ("fairness/bios-raw", {})


def test_modules_that_jobs_import_by_name_are_there(run):
    assert all(module_file(name, ROOT).is_file() for job in run.jobs for name in job.modules)


def test_a_job_that_nobody_asks_for_is_one_line(tmp_path):
    with pytest.raises(BiasflowError, match=r"no job .* score for nobody, pretrained, inside"):
        found("config", tmp_path).jobs.of("score", ["nobody", "pretrained", "inside"])


def test_adding_a_block_changes_nothing_that_the_others_take(run):
    before = run
    encoder, *_ = before.setup.config["encoders"]
    tasks = {kind: task for task, about in before.setup.config["tasks"].items() for kind in [about["kind"]]}
    more = {"encoders": [encoder], "methods": ["none", "leace"], "metrics": ["strength", "weat", "accuracy"]}
    more |= {"task": tasks["nli"], "seeds": [7], "strategies": ["with-leace"]} if "nli" in tasks else {}
    config = resolve(changed(("ask.added", more), config=before.setup.config), SCHEMA)
    after = run_of(Setup(config, before.setup.facts))
    tables = ("scores", "describe", "plan", "matrix", "paper_")
    for job in before.jobs:
        if not job.rule.startswith(tables):
            assert digest_of(after.jobs.of(job.rule, job.wildcards)) == digest_of(job)


def test_what_is_fitted_before_training_takes_the_encoder_before_training(tmp_path):
    before = found(EVERYTHING, tmp_path)
    config = resolve(changed(("ask.more", {
        "encoders": ["own"], "task": "nli", "methods": ["hard-pretrained"], "metrics": ["accuracy"],
    }), config=before.setup.config), SCHEMA)  # fmt: skip
    run = run_of(Setup(config, before.setup.facts))
    inputs = run.jobs.of("fit_methods", ["own", "nli/plain/seed0", "more"]).inputs
    assert inputs["origin"] == encoder_files(run.setup, "own") != inputs["model"]
    assert "origin" not in run.jobs.of("fit_methods", ["own", "nli/plain/seed0", "of-nli"]).inputs


def test_an_encoder_has_its_own_number_of_occurrences_and_one_that_starts_from_it_has_them_too():
    words = {"methods": ["densray"], "metrics": ["weat"]}
    config = resolve(
        changed(
            ("encoders.more", {"source": "continued", "from": "real"}),
            ("fitting", {"n": 400, "own": {"real": {"n": 600}}}),
            ("ask.words", {"encoders": ["own", "real", "more"], **words}),
            ("ask.shares", {"encoders": ["real"], "metrics": ["gender_share"]}),
        ),
        SCHEMA,
    )
    run = run_of(setup_of(config))
    fits = [run.jobs.of("fit_methods", [name, "pretrained", "words"]) for name in ("own", "real", "more")]
    assert [job.params["fit"]["contexts"]["n"] for job in fits] == [400, 600, 600]
    (shares,) = (reading for reading in run.plan.readings.values() if reading.readout == "gender_shares")
    assert shares.dataset.options["n"] == 600


# External files


def files_of(*changes) -> list[str]:
    own = {"encoders": {"own": {"source": "pretrain", "corpus": "wikitext-2"}}, "run": "r"}
    config = resolve(changed(*changes, config=own), SCHEMA)
    setup = Setup(config, gather(config))
    return files_read(setup, CATALOGUE, jobs_of(setup).needed)


def asked(*metrics: str, **keys):
    return ("ask.block", {"encoders": ["own"], "metrics": list(metrics), **keys})


def test_planted_bias_is_read_from_biographies_and_shares_and_changes_no_other_training():
    more = {"source": "continued", "from": "own", "recipe": "planted", "dose": -0.5}
    config = resolve(changed(("encoders.more", more), ("encoders.own_text", more | {"text": "mine.txt"})), SCHEMA)
    more, own_text = (jobs_of(setup_of(config)).of("continue_encoder", [name]) for name in ("more", "own_text"))
    assert more.inputs["text"] == "results/corpora/bias-in-bios-dev"
    assert more.inputs["labour"].endswith("data/labour_statistics.csv")
    assert own_text.inputs["text"] == "mine.txt"
    assert more.params["encoder"]["dose"] == -0.5
    assert set(BIOGRAPHIES) < set(CATALOGUE.files)
    plain = resolve(changed(("encoders.more", {"source": "continued", "from": "own"})), SCHEMA)
    assert not {"dose", "examples", "labour"} & set(plain["encoders"]["more"])


@pytest.mark.parametrize(
    ("examples", "texts", "message"),
    [
        (30, 0, r"examples': 30 texts of each of 22 occupations are fewer than the 1000 .* write 46 or more"),
        (60, 10, r"examples': .*mine\.csv: 220 units of 22 occupations .*raise `examples` \(at most 60 .*nurse 10"),
        (60, 60, None),
    ],
)
@pytest.mark.parametrize("by_paper", [False, True])
def test_too_few_examples_to_plant_bias_in_are_known_before_the_first_job(tmp_path, examples, texts, message, by_paper):
    occupations = read_labour(package_file("data/labour_statistics.csv")).dropna().index
    rows = [
        {"text": f"He is a {name} of town {k}.", "profession": name, "gender": "M"}
        for name in occupations
        for k in range(texts)
    ]
    text = str(tmp_path / "mine.csv")
    if texts:
        pd.DataFrame(rows).to_csv(text, index=False)
    keys = {"text": text, "examples": examples}
    more = {"source": "continued", "from": "own", "recipe": "planted", "dose": 0.5}
    change = ("papers.calibrated", {"encoder": "own", **keys}) if by_paper else ("encoders.more", more | keys)
    config = resolve(changed(change), SCHEMA)
    config["encoders"] = {name: about for name, about in config["encoders"].items() if about["source"] != "local"}
    if message is None:
        gather(config)
        return
    with pytest.raises(BiasflowError, match=f"(?i)'{'papers.calibrated' if by_paper else 'encoders.more'}.{message}"):
        gather(config)


@pytest.mark.parametrize("recipe", sorted(set(RECIPES) - set(PLANTING)))
def test_a_recipe_reads_the_text_and_the_swapped_one_if_it_trains_on_that(recipe):
    more = {"source": "continued", "from": "own", "recipe": recipe}
    changes = [(f"encoders.{name}", more | about) for name, about in (("here", {}), ("there", {"text": "wikitext-2"}))]
    config = resolve(changed(*changes), SCHEMA)
    jobs = jobs_of(setup_of(config))
    for name, text in (("here", "own"), ("there", "wikitext-2")):
        expected = {"encoder": ["results/test/encoders/own"], "text": f"results/test/data/texts/{text}.txt"}
        if recipe == "cda":
            expected["swapped"] = f"results/test/data/texts/{text}.swapped.txt"
        assert jobs.of("continue_encoder", [name]).inputs == expected


def test_the_external_files_of_stimuli():
    both = ("metrics.strength.stimuli", ["stereoset-authors", "stereoset-swapped"])
    corpus = {"google-analogies", "wikitext-2-train"}  # and the words that are counted in it
    assert set(files_of(asked("strength"), both)) == {"gender-swapped-dev", "stereoset-dev"} | corpus
    own = ("encoders.own.corpus", "mine.txt")
    assert files_of(asked("strength"), own) == ["gender-swapped-dev"]
    assert set(files_of(asked("strength", methods=["none", "leace"]), own)) == {"gender-swapped-dev"} | corpus
    for run in ("my-test", "wikitext-2-test"):  # a run's name says nothing of what it reads
        assert set(files_of(asked("strength"), ("run", run))) == {"gender-swapped-dev"} | corpus
        assert files_of(asked("strength"), own, ("run", run)) == ["gender-swapped-dev"]
    test = ("metrics.strength.stimuli", ["stereoset-authors-test"])
    assert files_of(asked("strength"), own, test) == ["gender-swapped-test"]


def test_the_external_files_of_texts():
    more = ("encoders.more", {"source": "continued", "from": "own"})
    block = ("ask.block", {"encoders": ["more"], "metrics": ["perplexity"]})
    words = "google-analogies"
    own = ("encoders.own.corpus", "mine.txt")
    assert files_of(own, more, block) == [words, "wikitext-2-test", "wikitext-2-train"]
    local = ("encoders.own", {"source": "hub", "id": "a/b", "revision": "0" * 40})
    assert files_of(local, asked("perplexity")) == [words, "wikitext-2-test"]
    assert files_of(local, asked("ceat")) == [words, "wikitext-2-train"]
    assert files_of(local, asked("ceat"), ("metrics.ceat.text", "mine.jsonl")) == []


def test_contexts_are_looked_for_in_as_many_files_as_are_asked_for():
    local = ("encoders.own", {"source": "hub", "id": "a/b", "revision": "0" * 40})
    text, order = ("metrics.ceat.text", "english-wikipedia"), CATALOGUE.shards["english-wikipedia"]
    assert files_of(local, asked("ceat"), text) == sorted(order[:8])
    assert files_of(local, asked("ceat"), text, ("metrics.ceat.shards", 3)) == sorted(order[:3])
    config = resolve(changed(text, ("metrics.ceat.shards", 41)), SCHEMA)
    files = jobs_of(setup_of(config)).of("ceat_contexts", ["own", "ceat"]).inputs["text"]
    assert files == [f"{CORPORA}/{name}" for name in order] and len(order) == 41
    with pytest.raises(BiasflowError, match=r"metrics\.ceat\.shards.*42"):
        resolve(changed(text, ("metrics.ceat.shards", 42)), SCHEMA)


@pytest.mark.parametrize("name", ["small", "paper"])
def test_files_of_ones_own_are_read_where_no_other_run_has_its(name, tmp_path):
    """Whatever a job takes of the shared folder lies elsewhere if the configuration names a path for it."""
    run = found(name, tmp_path)
    read = files_read(run.setup, CATALOGUE, run.jobs.needed)
    config = {**run.setup.config, "files": {file: f"mine/{file}" for file in read}}
    other = run_of(Setup(config, run.setup.facts))
    assert files_read(other.setup, CATALOGUE, other.jobs.needed) == read
    theirs, ours = ({path for job in each.jobs.needed for path in job.files} for each in (run, other))
    shared = {path for path in theirs if path.startswith(CORPORA)}
    assert len(shared) > 10 and not shared & ours
    assert {path.rpartition(".")[0] for path in ours if path.startswith(CORPORA)} == shared


@pytest.mark.parametrize(
    ("text", "held_out", "running", "file"),
    [
        (None, True, True, "wikitext-2-test.txt"),  # as released, for perplexity
        ("wikitext-2", True, False, "wikitext-2-test.sentences.txt"),
        ("wikitext-2", False, False, "wikitext-2.sentences.txt"),
        ("wikitext-2-whole-sentences", True, True, "wikitext-2-whole-sentences-test.txt"),
        ("planted", True, True, "own.held-out.txt"),
    ],
)
def test_a_text_is_read_as_released_or_by_sentence(text, held_out, running, file):
    setup = setup_of(resolve(changed(), SCHEMA))
    encoder = setup.encoders["own" if text == "planted" else "real"]
    path = text_file(setup.paths, encoder, text, held_out=held_out, running=running)
    assert path == f"results/test/data/texts/{file}"


MINE = {"train": ["snli-train", "multinli-train"], "test": ["mine.csv"]}


@pytest.mark.parametrize(
    ("data", "named", "occupations"),
    [
        (MINE, {}, "dev2020"),  # what is not named fits the data
        (MINE, {"occupations": "planted"}, "planted"),
        ("planted", {}, "planted"),
        ("planted", {"occupations": "dev2020"}, "dev2020"),
    ],
)
def test_the_external_files_of_nli(data, named, occupations):
    nli = {"kind": "nli", "data": data, **named}
    nli |= {"selection": "few", "selections": {"few": {"masculine": ["man"], "feminine": ["woman"]}}}
    files = set(files_of(asked("nli_fairness", task="nli"), ("tasks.nli", nli)))
    assert files & {"snli-train", "multinli-train", "snli-validation"} == set(MINE["train"] if data == MINE else ())
    of_dev = {"dev2020-occupations", "dev2020-rulers"}
    assert files & of_dev == (of_dev if occupations == "dev2020" else set())


def test_the_external_files_of_liang2020():
    tasks = {task: {"kind": "glue", "data": task} for task in ("cola", "mnli", "planted-nli")}
    files = files_of(
        ("papers.liang2020", {"encoders": ["own"], "tasks": list(tasks)}),
        ("tasks", tasks),
        ("metrics", {"weat": {"tests": ["C6", "planted"]}, "seat": {"tests": ["sent-weat8b"]}}),
    )
    lists = {"google-analogies", "professions", "weat6", "sent-weat8b", "gender-swapped-dev"}
    texts = {"wikitext-2-train", "wikitext-2-test"}
    cola = {"glue-cola-train", "glue-cola-train-rest", "glue-cola-validation"}
    mnli = {"glue-mnli-train", "glue-mnli-validation-matched"}
    assert set(files) == lists | texts | cola | mnli


def test_papers_and_the_ledger_are_told_where_their_items_are(run):
    """By role and key, as readings are."""
    ledger = next(iter(run.of("paper_ledger")), None)
    for paper in run.setup.config["papers"]:
        items, job = items_of(run.setup, run.plan, paper), run.jobs.of(f"paper_{paper}")
        told = [(job.inputs, job.params["item_files"])]
        if ledger and paper in ledger.params["papers"]:
            told.append((ledger.inputs, ledger.params["papers"][paper][1]))
        for inputs, files in told:
            assert {role: {*of_role} for role, of_role in files.items()} == {role: {*of} for role, of in items.items()}
            for role, of_role in files.items():
                assert {key: (inputs[f"{paper}/{role}/{key}"], file) for key, file in of_role.items()} == items[role]
