"""What each job of the plan takes: nothing that no rule makes and the catalogue does not have."""

import json
import re
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import pytest

from biasflow.asking.paths import CORPORA
from biasflow.base.code import module_file
from biasflow.base.errors import BiasflowError
from biasflow.corpora.catalogue import read_catalogue
from biasflow.encoders.families import HEADS
from biasflow.encoders.recipes import RECIPES
from biasflow.plan.cells import plan
from biasflow.plan.configuration import resolve
from biasflow.plan.datasets import BIOGRAPHIES, text_file
from biasflow.plan.encoders import Encoders
from biasflow.plan.explained import training_files
from biasflow.plan.external import files_read
from biasflow.plan.facts import gather
from biasflow.plan.inputs import Inputs
from biasflow.plan.items import items_of
from biasflow.plan.jobs import ReadingJob
from biasflow.plan.readings import reading_output, reading_path
from biasflow.plan.setup import Setup
from biasflow.plan.tasks import kind_of
from biasflow.registry import PAPERS, READOUTS, TASKS, TRAINING, module_of
from tests.unit.plan.configs import ROOT, RUNS, SCHEMA, changed, folder_of, of_file, setup_of
from tests.unit.plan.test_cells import ALL

CATALOGUE = read_catalogue()
# What rules/data.smk makes for any run.
DATA = [
    r"texts/(wikitext-2(-test)?(\.sentences)?|wikitext-2-whole-sentences(-test)?|{pretrain}(\.held-out)?)\.txt",
    r"texts/chinese-wikipedia\.txt",
    r"texts/(wikitext-2|wikitext-2-whole-sentences|{pretrain})\.swapped\.txt",
    r"stimuli/(planted|planted-seen|stereoset-authors|stereoset-authors-test|stereoset-swapped)\.csv",
    r"stereoset-changes\.csv",
    r"contexts/{encoder}/(ceat\.parquet|ceat_counts\.csv)",
]
SMALL = [*RUNS, "everything"]


def found(name: str, folder: Path) -> Inputs:
    """The inputs of a run whose local encoders lie in `folder`."""
    config = ALL if name == "everything" else of_file(name)
    for encoder, about in config["encoders"].items():
        if about["source"] == "local":
            config = changed((f"encoders.{encoder}.path", folder_of(folder / encoder, *HEADS)), config=config)
    config = resolve(config, SCHEMA)
    return inputs_of(Setup(config, gather(config)))


def inputs_of(setup: Setup) -> Inputs:
    return Inputs(setup, plan(setup), CATALOGUE)


@pytest.fixture(params=SMALL)
def find(request, tmp_path) -> Inputs:
    return found(request.param, tmp_path)


def made(find: Inputs) -> set[str]:
    """The outputs of all rules of dear work and of scoring, as far as the plan has jobs for them, and tasks' data."""
    paths, tables = find.paths, ("scores", "reasons", "plan", "names", "files", "matrix")
    files = {f"{paths.root}/{name}.csv" for name in tables}
    for name, encoder in find.setup.config["encoders"].items():
        if encoder["source"] != "local":
            files.add(paths.encoder(name))
    files |= {path(*key) for key in find.plan.trained for path in (paths.model, paths.training)}
    files |= {path(*key) for key in find.plan.fits for path in (paths.methods, paths.about_methods)}
    files |= {reading_output(paths, key) for key in find.plan.readings}
    for task in (find.setup.task(name) for name in find.setup.config["tasks"]):
        files |= {task.file(name) for step in task.kind.steps for name in step.outputs.values()}
    return files | {paths.scores(*key) for key in find.plan.scored}


def is_there(path: str, find: Inputs, known: set[str]) -> bool:
    """Whether some rule makes the file, the catalogue has it, or it is the project's or the user's own."""
    if path in known or path.removeprefix(f"{CORPORA}/") in CATALOGUE.files or (ROOT / path).is_file():
        return True
    encoders = find.setup.config["encoders"]
    names = {
        "encoder": "|".join(map(re.escape, encoders)),
        "pretrain": "|".join(re.escape(name) for name in encoders if find.setup.encoders[name].planted),
    }
    for pattern in DATA:
        for name, value in names.items():
            pattern = pattern.replace(f"{{{name}}}", f"({value or '(?!)'})")
        if re.fullmatch(f"{re.escape(find.paths.data(''))}{pattern}", path):
            return True
    return False


def flat(inputs) -> list[str]:
    """All files of named inputs, some of which are lists."""
    if isinstance(inputs, str):
        return [inputs]
    return list(chain.from_iterable(map(flat, inputs.values() if isinstance(inputs, dict) else inputs)))


def jobs(find: Inputs):
    """(what it is, its inputs) of every job of the plan."""
    for (encoder, training), model in find.plan.trained.items():
        task, strategy, seed = model.task, model.strategy, model.seed
        wildcards = SimpleNamespace(encoder=encoder, task=task, strategy=strategy, seed=seed)
        yield ("finetune", encoder, training), training_files(find, model)
        for path in find.trainings.tokens(wildcards):
            data = find.setup.task(task).files(kind_of(find.setup.config["tasks"][task]["kind"]).trained_on)
            yield ("tokenise", encoder, path), {"encoder": find.encoders.files(encoder), **data}
    for name, about in find.setup.config["tasks"].items():
        for step in kind_of(about["kind"]).steps:
            if find.setup.task(name).file(next(iter(step.outputs.values()))) in find.setup.facts.absent:
                continue
            files = find.setup.task(name).files(step.made_from)
            yield ("prepare", name, step.rule), {**find.step_sources(step)(SimpleNamespace(task=name)), **files}
    for job in find.plan.fits:
        yield ("fit", *job), find.fits.model_and_data(job)
    for job in dict.fromkeys(key.job for key in find.plan.readings):
        yield ("read", *job), find.readings.model_and_data(job.readout)(job)
    for job in find.plan.scored:
        yield ("score", *job), find.scores.readouts_and_data(job)
    for paper in find.setup.config["papers"]:
        yield ("items", paper), find.paper_files(paper)


def readings_of(find: Inputs) -> dict[ReadingJob, list]:
    """A job of a readout (its parts are the wildcards of its rule) -> what it reads, one dataset after the other."""
    found: dict[ReadingJob, list] = {}
    for key, reading in find.plan.readings.items():
        found.setdefault(key.job, []).append(reading)
    return found


def test_every_input_is_some_rules_output_or_in_the_catalogue(find):
    known, count = made(find), 0
    for job, inputs in jobs(find):
        files = flat(inputs)
        assert files or job[0] == "items", job
        for path in files:
            assert is_there(path, find, known), (job, path)
            count += 1
    assert count


def test_a_job_reads_every_dataset_of_its_readout_under_its_methods(find):
    for job, readings in readings_of(find).items():
        params = find.readings.params(job.readout)(job)
        assert [(each["dataset"], each["methods"]) for each in params] == [
            (reading.dataset.read_as, list(reading.methods)) for reading in readings
        ]
        folder = reading_output(find.paths, readings[0].key)
        assert [f"{folder}/{each['file']}" for each in params] == [
            reading_path(find.paths, each.key) for each in readings
        ]


def test_the_parameters_of_jobs_are_plain_values(find):
    """They go into provenance and decide whether a job is run again."""
    for (encoder, _), model in find.plan.trained.items():
        wildcards = SimpleNamespace(encoder=encoder, task=model.task, strategy=model.strategy, seed=model.seed)
        params, task = find.trainings.params(wildcards), find.setup.task(model.task)
        assert json.loads(json.dumps(params)) == params
        assert (params["fit"] is None) == (model.carried is None)
        tokens = {"tokens"} & set(params["roles"])
        assert set(task.kind.trained_on) | tokens == set(params["roles"])
        assert set(task.kind.trained_on) <= set(training_files(find, model))
        assert bool(tokens) == bool(find.trainings.tokens(wildcards))
    for job in find.plan.fits:
        params = find.fits.params(job)
        assert json.loads(json.dumps(params)) == params
        assert {*params["roles"], "model"} <= set(find.fits.model_and_data(job))


def paths_in(value: object) -> list[str]:
    """The strings in a parameter of a job that are paths of results or of external files."""
    if isinstance(value, str):
        return [value] * value.startswith("results/")
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [path for part in parts for path in paths_in(part)]


def test_a_reading_is_told_its_files_by_role_and_position(find):
    """No path travels in a parameter: Snakemake may put the files of a job wherever its storage is."""
    for job, readings in readings_of(find).items():
        params, inputs = (of(job.readout)(job) for of in (find.readings.params, find.readings.model_and_data))
        spares, own = find.readings.spares(job.readout)(job), find.paths.readout(*job)
        assert json.loads(json.dumps(params)) == params and not paths_in(params)
        made: set[str] = set()
        for each, reading in zip(params, readings, strict=True):
            for role, files in reading.dataset.files.items():
                assert [inputs[role][i] for i in each["data"][role]] == list(files)
            for role, files in reading.dataset.spares.items():
                assert [spares[i] for i in each["spares"][role]] == list(files)
            for role, (number, file) in each["made_from"].items():
                folder = own if number is None else inputs["readouts"][number]
                assert f"{folder}/{file}" == reading_path(find.paths, reading.made_from[role])
                assert number is not None or file in made  # by the same job, before
            assert not {"model", "methods", "readouts", "spares"} & (set(each["data"]) | set(each["made_from"]))
            made.add(each["file"])


def test_a_score_is_told_its_files_by_role_and_position(find):
    for job, scores in find.plan.scored.items():
        params, inputs = find.scores.params(job), find.scores.readouts_and_data(job)
        assert json.loads(json.dumps(params)) == params and not paths_in(params)
        for each, score in zip(params, scores, strict=True):
            path = Path(inputs["readouts"][each["readout"]], each["file"])
            assert str(path) == reading_path(find.paths, score.reading)
            for role, files in score.dataset.scored_with.items():
                assert [inputs[role][i] for i in each["files"][role]] == list(files)


def test_real_texts_are_tokenised_once_and_planted_ones_where_they_are_read(find):
    """A training and the readings of the same text and encoder share a file; its age starts none of them."""
    paths = set()
    for (encoder, _), model in find.plan.trained.items():
        wildcards = SimpleNamespace(encoder=encoder, task=model.task, strategy=model.strategy, seed=model.seed)
        task, options = find.setup.task(model.task), find.trainings.params(wildcards)["options"]
        text = options.get("adaptation", {}).get("text", "raw")
        real = task.kind.tokenised is not None and task.about["data"] != "planted"
        own = [task.file(f"tokens/{encoder}/{text}.safetensors")] if real else []
        assert find.trainings.tokens(wildcards) == own
        assert not set(own) & set(flat(training_files(find, model)))
        paths |= set(own)
    for job, readings in readings_of(find).items():
        spares = find.readings.spares(job.readout)(job)
        assert not set(spares) & set(flat(find.readings.model_and_data(job.readout)(job)))
        of_texts = [reading for reading in readings if reading.readout == "first_token"]
        for reading in of_texts:
            task = find.setup.task(reading.dataset.name.rpartition("-")[0])
            own = task.file(f"tokens/{job.encoder}/{reading.dataset.options['text']}.safetensors")
            assert (own in spares) == (task.about["data"] != "planted")
        paths -= set(spares)
        assert of_texts or spares == []
    assert not paths  # what is trained on is read, too


def test_modules_that_jobs_import_by_name_are_there(find):
    modules = set()
    for (encoder, _), model in find.plan.trained.items():
        wildcards = SimpleNamespace(encoder=encoder, task=model.task, strategy=model.strategy, seed=model.seed)
        own = find.trainings.modules(wildcards)
        assert module_of(TASKS[find.setup.config["tasks"][model.task]["kind"]]) in own
        modules |= set(own)
    for job in find.plan.fits:
        modules |= set(find.fits.modules(job))
    for job, readings in readings_of(find).items():
        own = find.readings.modules(job.readout)(job)
        given = {module for reading in readings for module in reading.dataset.modules}
        assert {module_of(READOUTS[reading.readout]) for reading in readings} == set(own) - given
        modules |= set(own)
    for job in find.plan.scored:
        modules |= set(find.scores.modules(job))
    assert all(module_file(name, ROOT).is_file() for name in modules)


@pytest.mark.parametrize("name", RUNS)
def test_adding_a_block_changes_nothing_that_the_others_take(name, tmp_path):
    before = found(name, tmp_path)
    encoder, *_ = before.setup.config["encoders"]
    tasks = {kind: task for task, about in before.setup.config["tasks"].items() for kind in [about["kind"]]}
    more = {"encoders": [encoder], "methods": ["none", "leace"], "metrics": ["strength", "weat", "accuracy"]}
    more |= {"task": tasks["nli"], "seeds": [7], "strategies": ["with-leace"]} if "nli" in tasks else {}
    config = resolve(changed(("ask.added", more), config=before.setup.config), SCHEMA)
    after = inputs_of(Setup(config, before.setup.facts))
    later = dict(jobs(after))
    for job, inputs in jobs(before):
        if job[0] != "items":
            assert later[job] == inputs
    for job in readings_of(before):
        assert after.readings.params(job.readout)(job) == before.readings.params(job.readout)(job)
    for job in before.plan.fits:
        assert after.fits.params(job) == before.fits.params(job)


def test_what_is_fitted_before_training_takes_the_encoder_before_training(tmp_path):
    find = found("everything", tmp_path)
    config = resolve(changed(("ask.more", {
        "encoders": ["own"], "task": "nli", "methods": ["hard-pretrained"], "metrics": ["accuracy"],
    }), config=find.setup.config), SCHEMA)  # fmt: skip
    find = inputs_of(Setup(config, find.setup.facts))
    inputs = find.fits.model_and_data(SimpleNamespace(encoder="own", training="nli/plain/seed0", group="more"))
    assert inputs["origin"] == find.encoders.files("own") != inputs["model"]
    of_nli = SimpleNamespace(encoder="own", training="nli/plain/seed0", group="of-nli")
    assert "origin" not in find.fits.model_and_data(of_nli)


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
    find = inputs_of(setup_of(config))
    fits = [SimpleNamespace(encoder=name, training="pretrained", group="words") for name in ("own", "real", "more")]
    assert [find.fits.params(job)["contexts"]["n"] for job in fits] == [400, 600, 600]
    (shares,) = (reading for reading in find.plan.readings.values() if reading.readout == "gender_shares")
    assert shares.dataset.options["n"] == 600


# External files


def files_of(*changes) -> list[str]:
    own = {"encoders": {"own": {"source": "pretrain", "corpus": "wikitext-2"}}, "run": "r"}
    config = resolve(changed(*changes, config=own), SCHEMA)
    setup = Setup(config, gather(config))
    return files_read(setup, CATALOGUE, plan(setup))


def asked(*metrics: str, **keys):
    return ("ask.block", {"encoders": ["own"], "metrics": list(metrics), **keys})


def test_planted_bias_is_read_from_biographies_and_shares_and_changes_no_other_training():
    more = {"source": "continued", "from": "own", "recipe": "planted", "dose": -0.5}
    config = resolve(changed(("encoders.more", more), ("encoders.own_text", more | {"text": "mine.txt"})), SCHEMA)
    encoders = Encoders(setup_of(config))
    assert encoders.continued_from("more")["text"] == "results/corpora/bias-in-bios-dev"
    assert encoders.continued_from("more")["labour"].endswith("data/labour_statistics.csv")
    assert encoders.continued_from("own_text")["text"] == "mine.txt"
    assert encoders.continuing("more")["dose"] == -0.5
    assert set(BIOGRAPHIES) < set(CATALOGUE.files)
    plain = resolve(changed(("encoders.more", {"source": "continued", "from": "own"})), SCHEMA)
    assert not {"dose", "examples", "labour"} & set(plain["encoders"]["more"])


@pytest.mark.parametrize("recipe", sorted(set(RECIPES) - {"planted"}))
def test_a_recipe_reads_the_text_and_the_swapped_one_if_it_trains_on_that(recipe):
    more = {"source": "continued", "from": "own", "recipe": recipe}
    changes = [(f"encoders.{name}", more | about) for name, about in (("here", {}), ("there", {"text": "wikitext-2"}))]
    config = resolve(changed(*changes), SCHEMA)
    encoders = Encoders(setup_of(config))
    for name, text in (("here", "own"), ("there", "wikitext-2")):
        expected = {"text": f"results/test/data/texts/{text}.txt"}
        if recipe == "cda":
            expected["swapped"] = f"results/test/data/texts/{text}.swapped.txt"
        assert encoders.continuing_texts(name) == expected


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
    files = Encoders(setup_of(config)).context_files("own", CATALOGUE)
    assert files == [f"{CORPORA}/{name}" for name in order] and len(order) == 41
    with pytest.raises(BiasflowError, match=r"metrics\.ceat\.shards.*42"):
        resolve(changed(text, ("metrics.ceat.shards", 42)), SCHEMA)


@pytest.mark.parametrize("name", ["small", "paper"])
def test_files_of_ones_own_are_read_where_no_other_run_has_its(name, tmp_path):
    """Whatever a job takes of the shared folder lies elsewhere if the configuration names a path for it."""
    find = found(name, tmp_path)
    read = files_read(find.setup, CATALOGUE, find.plan)
    config = {**find.setup.config, "files": {file: f"mine/{file}" for file in read}}
    other = inputs_of(Setup(config, find.setup.facts))
    assert files_read(other.setup, CATALOGUE, other.plan) == read
    theirs, ours = ({path for _, inputs in jobs(each) for path in flat(inputs)} for each in (find, other))
    shared = {path for path in theirs if path.startswith(CORPORA)}
    assert len(shared) > 10 and not shared & ours
    assert {path.rpartition(".")[0] for path in ours if path.startswith(CORPORA)} == shared


@pytest.mark.parametrize(
    ("text", "held_out", "running", "file"),
    [
        (None, True, True, "wikitext-2-test.txt"),  # as released, for perplexity
        ("wikitext-2", True, False, "wikitext-2-test.sentences.txt"),
        ("wikitext-2", False, True, "wikitext-2.txt"),
        ("wikitext-2", False, False, "wikitext-2.sentences.txt"),
        ("wikitext-2-whole-sentences", True, True, "wikitext-2-whole-sentences-test.txt"),
        ("wikitext-2-whole-sentences", False, False, "wikitext-2-whole-sentences.txt"),
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


def test_a_local_encoder_that_is_not_there_ends_the_download_of_files():
    with pytest.raises(BiasflowError, match=r"encoders\.own\.path"):
        files_of(("encoders.own", {"source": "local", "path": "nowhere"}), asked("weat"))


def test_papers_and_the_ledger_are_told_where_their_items_are(find):
    """By role, key and position, as readings are (`test_a_reading_is_told_its_files_by_role_and_position`)."""
    papers = list(find.setup.config["papers"])
    ledger = find.ledger_files(papers)
    for paper in papers:
        items = items_of(find.setup, find.plan, paper)
        assert not {"scores", "reasons", "plan", "names", "files", "printed", "text"} & set(items)
        of_paper = (find.paper_files(paper), find.paper_items(paper))
        for inputs, places in (of_paper, (ledger, find.ledger_params(papers)[paper][1])):
            assert {role: set(of) for role, of in places.items()} == {role: set(of) for role, of in items.items()}
            for role, of in places.items():
                assert {key: (inputs[role][number], file) for key, (number, file) in of.items()} == items[role]


def test_every_paper_has_items_of_its_own_blocks(tmp_path):
    find = found("config", tmp_path)
    roles = {paper: set(find.paper_files(paper)) for paper in PAPERS if paper in find.setup.config["papers"]}
    assert {"stimuli", "next_sentence", "explained_variance", "sentence_pairs", TRAINING} <= roles["dawkins2024"]
    assert "token_scores" in roles["liang2020"] and "token_scores" not in roles["orgad2022"]
    assert {"professions", "top_words", "gender_accuracy", "scrubbed_examples", "ceat_counts", "ceat_words"} <= roles[
        "orgad2022"
    ]
    assert {"professions", "ceat_counts"}.isdisjoint(roles["dawkins2024"])
