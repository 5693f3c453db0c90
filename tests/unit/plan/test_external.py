"""Encoders of source external: what their files stand for is planned, all else has a reason or is refused by name."""

import hashlib
from importlib import import_module
from types import SimpleNamespace

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.catalogue import Entry
from biasflow.plan.configuration import resolve
from biasflow.plan.datasets import _is_published
from biasflow.plan.external import check_files, files_read
from biasflow.plan.facts import gather
from biasflow.plan.jobs import Job
from biasflow.plan.readings import LISTINGS
from biasflow.plan.setup import Setup
from tests.unit.plan.configs import CATALOGUE, SCHEMA, asking, jobs_of, planned, setup_of
from tests.unit.plan.test_cells import reasons

FILES = ["theirs/pro.conll", "theirs/anti.conll"]
THEIRS = ("encoders.theirs", {"source": "external", "clusters": FILES})
MORE = {"source": "continued", "from": "theirs"}
COREF = ("tasks.coref", {"kind": "coreference", "pairs": "winobias"})
BLOCK = {"encoders": ["theirs"], "task": "coref", "trainings": ["pretrained"], "metrics": ["winobias", "coreference"]}


def of(block: dict, *changes) -> dict:
    return asking(BLOCK | block, THEIRS, COREF, *changes)


def test_one_part_of_winobias_is_measured_alone_and_its_scores_say_so():
    config = resolve(of({"metrics": ["winobias"]}, ("tasks.coref", COREF[1] | {"parts": ["dev"]})), SCHEMA)
    task = Setup(config).task("coref")
    files = task.kind.steps[1].sources(task, CATALOGUE)
    assert {side: [path.split("winobias-")[1] for path in paths] for side, paths in files.items()} == {
        side: [f"dev-type{number}-{side}" for number in (1, 2)] for side in ("pro", "anti")
    }
    assert task.kind.steps[1].options(task)["files"] == [{"part": "dev", "type": f"type{n}"} for n in (1, 2)]
    assert {cell.dataset for cell in planned(config).cells} == {"coref-winobias-dev"}


def external_jobs(setup: Setup) -> list[Job]:
    return [job for job in jobs_of(setup) if job.rule.startswith("external_")]


def test_what_a_job_takes():
    config = resolve(of({}), SCHEMA)
    (job,) = external_jobs(setup_of(config))
    ((dataset,),) = job.params["readouts"]
    inputs = {role.removeprefix(f"{dataset['inputs']}/"): files for role, files in job.inputs.items()}
    assert inputs["given"] == FILES
    assert dataset["file"].endswith(".parquet") and {"given", "test", "pro", "anti"} <= set(inputs)
    assert dataset["options"] == {} and "methods" not in dataset
    assert dataset["module"] in job.modules
    assert dataset["module"] == "biasflow.readouts.predicted_clusters"


def test_ranked_lists_are_read_before_the_first_job_and_scored_with_what_is_known_of_documents(tmp_path):
    runs, genders = tmp_path / "run.trec", tmp_path / "genders.csv"
    runs.write_text("q1 Q0 d1 1 9 x\nq1 Q0 d2 2 8 x\n")
    genders.write_text("document,gender\nd1,F\nd2,M\n")
    theirs = {"source": "external", "rankings": {"runs": str(runs), "genders": str(genders)}}
    block = {"encoders": ["theirs"], "trainings": ["pretrained"], "metrics": ["given_rankings", "people_search"]}
    config = resolve(asking(block, ("encoders.theirs", theirs)), SCHEMA)
    check_files(config, SCHEMA, CATALOGUE)
    (job,) = external_jobs(setup_of(config))
    ((dataset,),) = job.params["readouts"]
    inputs = {role.removeprefix(f"{dataset['inputs']}/"): files for role, files in job.inputs.items()}
    assert inputs == {"given": [str(runs)], "genders": [str(genders)]} and dataset["options"] == {}
    cells = {cell.metric: cell for cell in planned(config).cells}
    assert cells["given_rankings"].status == "run" and "gives no people_similarities" in cells["people_search"].reason
    genders.write_text("document,gender\nd1,F\n")
    with pytest.raises(BiasflowError, match=r"encoders\.theirs\.rankings.*no document of the lists has gender M"):
        check_files(config, SCHEMA, CATALOGUE)
    own = asking({"encoders": ["real"], "metrics": ["given_rankings"]})
    assert "has no dataset for encoders.real" in planned(own).cells[0].reason


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("encoders.more.from", [("encoders.more", MORE)]),
        ("encoders.more.from", [("encoders.before", MORE | {"from": "more"}), ("encoders.more", MORE)]),
        ("papers.liang2020.encoders", [("papers.liang2020", {"encoders": ["theirs"], "finetuned_perplexity": True})]),
        ("papers.dawkins2024.nli_encoders", [
            ("papers.dawkins2024", {"encoders": ["own"], "task": "nli", "nli_encoders": ["theirs"]})
        ]),
        ("papers.orgad2022.encoders", [("papers.orgad2022", {"encoders": ["theirs"], "task": "bios"})]),
        ("metrics.occtmp.chinese.0", [("metrics.occtmp.chinese", ["theirs"])]),
        ("fitting.own.theirs", [("fitting.own", {"theirs": {"n": 4}})]),
    ],
)  # fmt: skip
def test_what_needs_weights_refuses_it_by_name(key, changes):
    with pytest.raises(BiasflowError, match=rf"'{key}': 'theirs' is not one of the encoders with weights"):
        resolve(of({}, *changes), SCHEMA)


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        ({"source": "external"}, "encoders.theirs"),
        ({"source": "external", "clusters": FILES[:1] * 2}, "encoders.theirs.clusters"),
        ({"source": "external", "likelihoods": {"gist": FILES}}, "encoders.theirs.likelihoods"),
        ({"source": "external", "likelihoods": {"gest": {"column": "a"}}}, "encoders.theirs.likelihoods.gest"),
        ({"source": "external", "clusters": FILES, "files": {"crow-pairs": "a.csv"}}, "encoders.theirs.files"),
    ],
)
def test_wrong_files_are_one_line(encoder, message):
    with pytest.raises(BiasflowError, match=message):
        resolve(of({}, ("encoders.theirs", encoder)), SCHEMA)


def test_a_file_that_is_not_there_is_named_with_its_key():
    config = resolve(of({}), SCHEMA)
    with pytest.raises(BiasflowError, match=r"'encoders\.theirs\.clusters': .*no file theirs/pro\.conll"):
        gather(config | {"encoders": {"theirs": config["encoders"]["theirs"]}})


SCORES = {"source": "external", "likelihoods": {"gest": ["a.txt", "b.txt"], "crows_pairs": "c.csv"}}
WORDS = {"masked_words": {"bec_pro": {"file": "d.csv", "column": "Pre_Assoc"}}}


def of_items(*changes) -> dict:
    metrics = ["gest", "crows_pairs", "bec_pro", "intrasentence"]
    block = {"encoders": ["theirs"], "metrics": metrics, "methods": ["none"]}
    return asking(block, ("encoders.theirs", SCORES | WORDS), *changes)


def test_scores_of_items_are_read_by_metric():
    config = resolve(of_items(), SCHEMA)
    likelihoods, words = external_jobs(setup_of(config))
    assert (likelihoods.rule, words.rule) == ("external_likelihoods_block", "external_masked_words_block")
    by_metric = {each["options"]["metric"]: each for each in likelihoods.params["readouts"][0]}
    given = [likelihoods.inputs[f"{each['inputs']}/given"] for each in by_metric.values()]
    assert given == [["a.txt", "b.txt"], ["c.csv"]]
    assert by_metric["gest"]["options"]["columns"] == ["", ""]
    assert likelihoods.modules == [
        "biasflow.corpora.crows_pairs", "biasflow.corpora.gest", "biasflow.readouts.external_items"
    ]  # fmt: skip
    ((of_words,),) = words.params["readouts"]
    assert of_words["options"]["columns"] == ["Pre_Assoc"]
    reason = {metric: why for (_, _, metric), why in reasons(planned(config)).items()}
    assert reason == {"intrasentence": "encoders.theirs is external and gives no masked_words for intrasentence"}


LABELS = ("stereotype", "anti-stereotype", "unrelated")
# Metric -> readout, options, a file of its data, and what somebody gives: items and scores.
LISTED = {
    "occtmp": (
        "masked_words",
        {"sets": ["professions"]},
        '[["taxi_driver"]]',
        "sentence,word,score\n[MASK] is a taxi driver .,he,-1\n[MASK] is a taxi driver .,she,-2\n",
    ),
    "strength": (
        "next_sentence",
        {"stimuli": ["planted"]},
        "triple,label,context,next_sentence,swapped_context,swapped_next_sentence\n"
        + "".join(f"t1,{label},He.,he {label},She.,she {label}\n" for label in LABELS),
        "context,next_sentence,score\n"
        + "".join(
            f"{context},{word} {label},0.5\n" for context, word in (("He.", "he"), ("She.", "she")) for label in LABELS
        ),
    ),
}


def test_every_module_that_lists_items_is_planned_here():
    assert set(LISTED) == set(LISTINGS)


@pytest.mark.parametrize("metric", LISTED)
def test_the_job_of_given_scores_lists_the_items_that_they_are_of(metric, tmp_path):
    readout, options, data, scores = LISTED[metric]
    theirs = ("encoders.theirs", {"source": "external", readout: {metric: "given.csv"}})
    block = {"encoders": ["theirs"], "metrics": [metric], "methods": ["none"]}
    (job,) = external_jobs(setup_of(resolve(asking(block, theirs, (f"metrics.{metric}", options)), SCHEMA)))
    ((about,),) = job.params["readouts"]
    assert about["options"]["items"] in job.modules
    (role,) = {name.removeprefix(f"{about['inputs']}/") for name in job.inputs} - {"given"}
    given, file = tmp_path / "given.csv", tmp_path / "data"
    given.write_text(scores)
    file.write_text(data)
    facts = import_module(about["module"]).read([given], {role: [file]}, tmp_path / "out.parquet", **about["options"])
    assert facts["items"] == facts["scores"] == scores.count("\n") - 1


def test_files_of_the_catalogue_are_downloaded(tmp_path):
    (tmp_path / "own.txt").write_text("0.5\n")
    changes = ("encoders.theirs.likelihoods.gest", ["gest-scores-albert-base-v2-template-0", str(tmp_path / "own.txt")])
    config = of_items(changes, ("encoders.theirs.likelihoods.crows_pairs", "crows-pairs-scores-bert-crows-score"))
    config["encoders"] = {
        "theirs": config["encoders"]["theirs"] | {"masked_words": {"bec_pro": str(tmp_path / "own.txt")}}
    }
    config = resolve(config, SCHEMA)
    files = ["results/corpora/gest-scores-albert-base-v2-template-0", str(tmp_path / "own.txt")]
    assert config["encoders"]["theirs"]["likelihoods"]["gest"] == files
    gather(config)  # looks at one's own file alone
    read = files_read(setup_of(config), CATALOGUE, jobs_of(setup_of(config)).needed)
    assert {"gest", "crows-pairs", files[0].removeprefix("results/corpora/")} <= set(read)


@pytest.mark.parametrize(
    ("file", "path", "name"),
    [
        ("crows-pairs-french", "results/corpora/crows-pairs-french", "crows-pairs-gender-french"),
        ("data/Pairs of mine.csv", "data/Pairs of mine.csv", "crows-pairs-gender-Pairs-of-mine"),
    ],
)
def test_items_of_another_version_are_those_that_were_scored_and_named(file, path, name):
    config = resolve(of_items(("encoders.theirs.files", {"crows-pairs": file})), SCHEMA)
    datasets = {reading.dataset.label: reading.dataset.files for reading in planned(config).readings.values()}
    assert datasets[name] == {"pairs": (path,)} and datasets["gest"] == {"sentences": ("results/corpora/gest",)}


OWN = {  # metric, options, the file that is replaced -> the name of the dataset
    "crows-pairs": ("crows_pairs", {"bias_types": ["gender"]}, "crows-pairs-gender"),
    "sent-weat6": ("seat", {"tests": ["sent-weat6"]}, "sent-weat6"),
    "gender-swapped-dev": ("strength", {"stimuli": ["stereoset-authors"]}, "stereoset-authors"),
    "wikitext-2-test": ("perplexity", {}, "wikitext-2"),
}


@pytest.mark.parametrize("file", OWN)
def test_items_of_the_users_in_place_of_a_published_file_are_named_after_their_file(file, tmp_path, monkeypatch):
    metric, options, name = OWN[file]
    mine = tmp_path / "My items.csv"
    mine.write_text("mine")
    changes = [(f"metrics.{metric}.{key}", value) for key, value in options.items()]
    block = {"encoders": ["small"], "metrics": [metric], "methods": ["none"]}
    encoder = ("encoders", {"small": {"source": "local", "path": "small"}})

    def datasets(**files: str) -> set[str]:
        config = asking(block, encoder, *changes, ("files", files))
        return {reading.dataset.label for reading in planned(config).readings.values()}

    plain = datasets()
    assert any(label.startswith(name) for label in plain)
    assert datasets(**{file: str(mine)}) == {f"{label}-My-items" for label in plain}
    assert datasets(**{"crows-pairs-french": str(mine)}) == plain
    published = Entry(file, "", "", "", True, bytes=4, sha256=hashlib.sha256(b"mine").hexdigest())
    monkeypatch.setattr("biasflow.plan.datasets.read_catalogue", lambda: SimpleNamespace(entry=lambda name: published))
    _is_published.cache_clear()
    assert datasets(**{file: str(mine)}) == plain
    _is_published.cache_clear()


PAIR = "first,second,log_p_first,log_p_second"


@pytest.mark.parametrize(
    ("readout", "metric", "rows", "why"),
    [
        ("likelihoods", "crows_pairs", [f"{PAIR},masking", "a,b,-1,-2,none"], "line 2: column masking: 'none' is none"),
        ("likelihoods", "crows_pairs", [f"{PAIR},masking", "a,b,-1,-2,"], "line 2: column masking: '' is none of"),
        ("likelihoods", "crows_pairs", [PAIR, "a,b,1,-2"], "line 2: column log_p_first: '1' is above 0"),
        ("likelihoods", "gest", ["first,second,score,masking", "a,b,1,nothing"], "line 1: the column masking is for"),
        ("masked_words", "occtmp", ["sentence,word,score", "a,he,0.3"], "line 2: column score: '0.3' is above 0"),
        ("next_sentence", "strength", ["context,next_sentence,score", "a,b,-2"], "line 2: column score: '-2.0' is no"),
        ("next_sentence", "intersentence", ["id,score", "a,x", "b,"], "line 2: column score: 'x' is no finite"),
    ],
)
def test_a_wrong_row_of_scores_is_named_before_the_first_job(readout, metric, rows, why, tmp_path):
    (tmp_path / "given.csv").write_text("\n".join(rows))
    theirs = ("encoders", {"theirs": {"source": "external", readout: {metric: str(tmp_path / "given.csv")}}})
    with pytest.raises(BiasflowError, match=rf"encoders\.theirs\.{readout}\.{metric}': .*given\.csv: {why}"):
        gather(resolve(asking({"encoders": ["theirs"], "metrics": [metric]}, theirs), SCHEMA))


def test_vectors_of_words_and_sentences_are_read_by_test(tmp_path):
    for name in ("words.txt", "sentences.npz"):
        (tmp_path / name).write_text("he 1 2")
    files = {metric: str(tmp_path / name) for metric, name in (("weat", "words.txt"), ("seat", "sentences.npz"))}
    theirs = ("encoders.theirs", {"source": "external", "vectors": files})
    metrics = {"metrics.weat.tests": ["C6"], "metrics.seat.tests": ["sent-weat6"]}
    config = resolve(
        asking({"encoders": ["theirs"], "metrics": ["weat", "seat", "ceat"]}, theirs, *metrics.items()), SCHEMA
    )
    assert {cell.metric for cell in planned(config).cells if not cell.reason} == {"weat", "seat"}
    (job,) = external_jobs(setup_of(config))
    params = {one["dataset"]: one for one in job.params["readouts"][0]}
    for dataset, metric in (("C6", "weat"), ("sent-weat6", "seat")):
        assert params[dataset]["module"] == "biasflow.readouts.external_vectors"
        assert params[dataset]["options"] == {"dataset": dataset, "templates": None}
        assert job.inputs[f"{params[dataset]['inputs']}/given"] == [files[metric]]
