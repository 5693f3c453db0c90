"""The plan: which jobs a configuration comes to, what is read by whom, of how large a sample, why a cell is empty."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.base.sample import limit_of
from biasflow.corpora.catalogue import read_catalogue
from biasflow.encoders import places
from biasflow.matrix import NOT_RUN
from biasflow.methods.fitted import Active
from biasflow.methods.grid import PLACES, all_settings, edits_of, name_of_setting
from biasflow.plan.cells import Plan, plan
from biasflow.plan.configuration import resolve
from biasflow.plan.datasets import DATASETS
from biasflow.plan.facts import gather
from biasflow.plan.methods import control_of, is_matched, is_permuted, methods_of_erasers, unseen_setting, with_variants
from biasflow.plan.setup import Setup, kind_of
from biasflow.readouts.states import reaching
from biasflow.registry import FIRST_TOKEN, METRICS, SENTENCE, TASKS, TRAINING, WORDS, rule_of
from tests.unit.plan.configs import EVERYTHING, RUNS, SCHEMA, asking, changed, facts_of, of_file, plan_of, planned

KEY = re.compile(r"\b(encoders|methods|metrics|tasks|ask|papers)\.[\w-]+|\bmirror\b")


def jobs(found: Plan) -> dict[str, int]:
    """How many jobs of each rule of dear work, and of scoring, there are."""
    kinds = Counter(f"finetune_{model.task}" for model in found.trained.values())
    readings = Counter(rule_of(job.readout) for job in {key.job for key in found.readings})
    return dict(kinds + readings) | {"fit_methods": len(found.fits), "score": len(found.scored)}


def reasons(found: Plan) -> dict[tuple[str, str, str], str]:
    """(encoder, method, metric) -> why it is not run."""
    return {
        (cell.model.encoder, cell.method, cell.metric): cell.reason for cell in found.cells if cell.status == NOT_RUN
    }


def test_a_fit_to_words_that_is_measured_on_the_first_token_is_noted_and_one_to_unbalanced_texts():
    methods = {
        "task-leace": [leace := {"eraser": "leace", "places": "last.cls", "fitted_to": "task"}],
        "balanced": [leace | {"balanced": True}],
        "centred": [leace | {"class_centred": True}],
        "pairs": [{"eraser": "pca", "places": "last"}],
    }
    asked = {"encoders": ["real"], "task": "bios", "strategies": ["plain", "with-leace"]}
    asked |= {"methods": ["none", "leace", *methods], "metrics": ["fairness", "weat"]}
    cells = planned(asking(asked, ("methods", methods))).cells
    noted = {(cell.model.strategy, cell.method, cell.metric): cell.note for cell in cells if cell.note}
    assert "balanced: true" in noted.pop(("plain", "task-leace", "fairness"))
    assert noted.keys() == {("plain", "leace", "fairness"), ("with-leace", "leace", "fairness")}


@pytest.mark.parametrize("name", ["config", "small", "matrix", "matrix_real", "mine", "minilm"])
def test_what_is_measured_inside_an_encoder_under_methods_has_a_random_control(name):
    methods: dict[str, set[str]] = {}
    for cell in plan_of(name).cells:
        if cell.model.training == "pretrained":
            methods.setdefault(cell.model.encoder, set()).add(cell.method)
    under_methods = {encoder: names for encoder, names in methods.items() if len(names) > 1}
    assert under_methods and all(any(map(control_of, names)) for names in under_methods.values())


@pytest.mark.parametrize("name", [*RUNS, EVERYTHING])
def test_what_is_planned_is_used(name):
    found = plan_of(name)
    scores = [score for own in found.scored.values() for score in own]
    scored = {score.reading for score in scores}
    for score in scores:
        assert score.reading.readout == TRAINING or set(score.methods) <= set(found.readings[score.reading].methods)
    made_from = {key for reading in found.readings.values() for key in reading.made_from.values()}
    items = {item for block in found.blocks for item, _ in block.items}
    for key, reading in found.readings.items():
        assert reading.methods and len(set(reading.methods)) == len(reading.methods)
        assert key in scored | made_from or reading.readout in items, key
        assert all({*reading.methods} <= {*found.readings[place].methods} for place in reading.made_from.values()), key
    assert made_from | {key for key in scored if key.readout != TRAINING} <= set(found.readings)
    for place, methods in found.fits.items():
        wanted = {name for reading in found.readings.values() if reading.fit == place for name in reading.methods}
        assert set(methods) == wanted - {"none"} and methods
    for cell in found.cells:
        assert (cell.status == NOT_RUN) == bool(cell.reason)


@pytest.mark.parametrize("first", ["liang2020", "dawkins2024"])
def test_what_a_paper_prints_item_by_item_is_read_under_all_its_methods_whoever_reads_first(first):
    papers = of_file("config")["papers"]
    ordered = {name: papers[name] for name in sorted(papers, key=lambda name: name != first)}
    found = planned({**of_file("config"), "papers": ordered})
    for block in found.blocks:
        for readout, _ in block.items:
            own = [each for each in found.readings.values() if (each.block.name, each.readout) == (block.name, readout)]
            assert own and all(set(each.methods) == set(block.methods) for each in own)


@pytest.mark.parametrize("name", ["matrix_real", "paper", EVERYTHING])
def test_every_reason_names_a_key_of_the_configuration(name):
    keys = of_file(name)
    facts = replace(facts_of(keys), missing={"real": "encoders.real.path: there is nothing"})
    for found in (plan_of(name), planned(keys, heads=[]), plan(Setup(keys, facts))):
        for cell in found.cells:
            if cell.status == NOT_RUN:
                assert KEY.search(cell.reason), cell
                for part, name in re.findall(r"\b(encoders|methods|metrics|tasks|ask|papers)\.([\w-]+)", cell.reason):
                    assert name in keys[part], cell


OF_SEARCH = ("retrieval", "retrieval_questions", "people_search")
REAL_ONLY = ("seat", "intersentence", "disco", "trait_ratings", "flips", *OF_SEARCH)


def test_everything_that_can_be_asked_is_measured_or_has_a_reason():
    found = plan_of(EVERYTHING)
    for encoder in ("own", "real"):
        for metric in METRICS:
            cells = [cell for cell in found.cells if (cell.model.encoder, cell.metric) == (encoder, metric)]
            assert any(cell.status == "run" for cell in cells) or (encoder, metric) in [
                *(("own", metric) for metric in REAL_ONLY),  # none for an encoder of the embedded corpus
                *(("real", metric) for metric in OF_SEARCH),  # it is no sentence encoder
                ("real", "log_odds"),  # there are no such occupations for any other
                *((encoder, "given_rankings") for encoder in ("own", "real")),  # of lists that somebody gives
            ]


def test_a_cell_in_two_blocks_is_read_by_the_first():
    block = {"encoders": ["own"], "methods": ["none", "leace"], "metrics": ["occtmp", "weat"]}
    more = block | {"methods": ["none", "hard", "leace"], "metrics": ["weat", "strength"]}
    found = planned(changed(("ask", {"first": block, "second": more})))
    read = {(r.block.name, r.readout): r.methods for r in found.readings.values()}
    assert read == {
        ("first", "masked_words"): ("none", "leace"),
        ("first", "vectors"): ("none", "leace"),
        ("second", "vectors"): ("hard",),
        ("second", "next_sentence"): ("none", "hard", "leace"),
    }
    asked = [(cell.model, cell.method, cell.metric) for cell in found.cells]
    assert len(asked) == len(set(asked)) == 4 + 1 + 3


def test_metrics_that_share_a_readout_are_scored_under_their_own_methods(monkeypatch):
    monkeypatch.setitem(METRICS, "occtmp-again", METRICS["occtmp"])
    block = {"encoders": ["own"], "methods": ["none"], "metrics": ["occtmp"]}
    more = block | {"methods": ["none", "leace"], "metrics": ["occtmp", "occtmp-again"]}
    found = planned(changed(("ask", {"first": block, "second": more})))
    (reading,) = (reading for reading in found.readings.values() if reading.block.name == "second")
    assert sorted(reading.methods) == ["leace", "none"]
    assert {score.metric: score.methods for score in found.scored["own", "pretrained", "second"]} == {
        "occtmp": ("leace",), "occtmp-again": ("none", "leace"),
    }  # fmt: skip


def test_a_model_that_was_trained_with_a_method_is_read_with_it_alone():
    block = {"encoders": ["own"], "task": "nli", "strategies": ["plain", "with-leace"], "methods": ["none", "hard"]}
    found = planned(asking(block | {"metrics": ["accuracy"]}))
    read = {reading.model.strategy: reading.methods for reading in found.readings.values()}
    assert read == {"plain": ("none", "hard"), "with-leace": ("leace",)}
    assert found.fits == {("own", "nli/plain/seed0", "block"): ("hard",)}
    assert set(found.trained) == {("own", "nli/plain/seed0"), ("own", "nli/with-leace/seed0")}


def test_a_narrow_encoder_is_read_in_one_job_but_for_what_is_dear_and_a_wide_one_readout_by_readout():
    block = {"encoders": ["real"], "metrics": ["strength", "occtmp", "weat", "perplexity"]}
    dear, cheap = {"read_losses"}, {"read_next_sentence", "read_masked_words", "read_vectors"}
    rest = {"fit_methods": 0, "score": 1}
    assert jobs(planned(asking(block), hidden_size=256)) == dict.fromkeys({*dear, "read_together"}, 1) | rest
    assert jobs(planned(asking(block), hidden_size=320)) == dict.fromkeys(dear | cheap, 1) | rest
    continued = asking(block | {"encoders": ["more"]}, ("encoders.more", {"source": "continued", "from": "real"}))
    assert "read_together" in jobs(planned(continued, hidden_size=256))


# Why a cell is empty


def test_an_encoder_without_the_head_has_a_reason_and_the_other_cells_run():
    block = {"encoders": ["own", "real"], "methods": ["none", "leace"], "metrics": ["strength", "occtmp", "weat"]}
    found = planned(asking(block), heads=["masked_lm"])
    assert reasons(found) == {
        ("real", method, "strength"): "encoders.real has no next-sentence head: the weights lack it"
        for method in ("none", "leace")
    }
    assert {(reading.model.encoder, reading.readout) for reading in found.readings.values()} == {
        *(("own", readout) for readout in ("next_sentence", "masked_words", "vectors")),
        *(("real", readout) for readout in ("masked_words", "vectors")),
    }
    bare = planned(asking(block), heads=[])
    assert reasons(bare)["real", "none", "occtmp"] == "encoders.real has no masked-LM head: the weights lack it"


def test_a_layer_that_an_encoder_lacks_has_a_reason():
    config = asking(
        {"encoders": ["own", "real"], "methods": ["none", "deep"], "metrics": ["weat"]},
        ("methods.deep", [{"eraser": "leace", "places": "layer[5]"}]),
    )
    found = planned(config, num_hidden_layers=6)
    assert reasons(found) == {("own", "deep", "weat"): "methods.deep: encoders.own has 4 layers and no place layer[5]"}
    assert found.fits == {("real", "pretrained", "block"): ("deep",)}


def test_a_metric_of_another_kind_of_model_has_a_reason():
    block = {"encoders": ["own"], "task": "bios", "trainings": ["finetuned", "pretrained"], "metrics": list(METRICS)}
    found = planned(asking(block))
    by_model = {(cell.metric, cell.model.task): cell for cell in found.cells}
    assert by_model["strength", "bios"].reason.startswith("ask.block.metrics: strength is for pretrained encoders")
    assert by_model["nli_fairness", "-"].reason.startswith("ask.block.metrics: nli_fairness")
    assert by_model["compression", "-"].status == by_model["fairness", "bios"].status == "run"
    without_task = planned(asking({"encoders": ["own"], "metrics": ["compression", "flips"]})).cells
    assert {cell.metric: cell.reason for cell in without_task} == {
        "compression": "ask.block.task: compression needs a task of kind occupation or classification or coreference; "
        "define one under tasks, such as {occupation: {kind: occupation}}, and name it here",
        "flips": "ask.block.task: flips needs a task of kind classification; define one under tasks, such as "
        "{classification: {kind: classification}}, and name it here",
    }


@pytest.mark.parametrize(
    ("metric", "task", "unreached"),
    [
        ("ceat", None, {"cls", "dawkins2024"}),
        ("perplexity", None, {"cls", "dawkins2024"}),
        ("fairness", "bios", {"dawkins2024"}),
    ],
)
def test_a_method_that_acts_after_what_a_metric_sees_has_a_reason(metric, task, unreached):
    methods = {
        "cls": [{"eraser": "hard", "places": "last.cls", "fitted_to": "pairs"}],
        "inside": [{"eraser": "leace", "places": "layer[3].attention.value"}],
    }
    block = {"encoders": ["own"], "task": task, "methods": [*methods, "dawkins2024"], "metrics": [metric]}
    found = reasons(planned(asking(block, ("methods", methods))))
    assert {method for _, method, _ in found} == unreached
    for (_, method, _), reason in found.items():
        assert reason.startswith(f"methods.{method}: ") and "acts at " in reason and metric in reason


def test_a_method_that_is_fitted_to_a_task_needs_one():
    method = ("methods.own-task", [{"eraser": "leace", "places": "last.cls", "fitted_to": "task"}])
    block = {"encoders": ["own"], "methods": ["none", "own-task"], "metrics": ["strength"]}
    found = planned(asking(block, method))
    assert reasons(found) == {("own", "own-task", "strength"): (
        "ask.block.task: methods.own-task is fitted to a task of kind occupation or classification"
    )}  # fmt: skip
    found = planned(asking(block | {"methods": ["splince", "splince-random0"]}))
    assert {(method, reason) for (_, method, _), reason in reasons(found).items()} == {
        (name, f"ask.block.task: methods.{name} is fitted to a task of kind occupation or classification")
        for name in ("splince", "splince-random0")
    }
    found = planned(asking({"encoders": ["own"], "task": "bios", "methods": ["splince"], "metrics": ["compression"]}))
    assert reasons(found) == {} and set(found.fits.values()) == {("splince",)}
    found = planned(asking(block | {"task": "bios", "metrics": ["compression"]}, method))
    assert reasons(found) == {} and set(found.fits.values()) == {("own-task",)}


FILES = {"train": ["{folder}/train/**/*_gold_conll"], "validation": ["{folder}/dev.conll"], "test": ["mine.conll"]}
COREFERENCE = {"encoders": ["own"], "task": "coref", "trainings": ["finetuned", "pretrained"], "methods": ["none"]}
COREFERENCE |= {"metrics": ["coreference", "winobias", "compression", "ceat", "training"]}


def test_documents_that_are_not_at_hand_leave_reasons_and_stop_nothing_else():
    config = resolve(asking(COREFERENCE, ("tasks.coref.data", FILES), ("tasks.coref.pairs", "planted")), SCHEMA)
    facts = replace(gather({**config, "encoders": {}}), described=facts_of(config).described)
    found = plan(Setup(config, facts))
    trained = {cell.metric: cell.reason for cell in found.cells if cell.model.task == "coref"}
    assert set(trained) == set(COREFERENCE["metrics"])
    assert {reason.partition(":")[0] for reason in trained.values()} == {"tasks.coref.data.folder"}
    # The pairs are there, and so are CEAT's words.
    assert {(r.model.training, r.readout) for r in found.readings.values()} == {
        ("pretrained", each) for each in ("associations", "probes", "professions")
    }
    assert found.trained == {}


def test_documents_of_a_folder(tmp_path):
    (tmp_path / "train/a/b").mkdir(parents=True)
    names = ["train/a/b/2.v4_gold_conll", "train/a/1.v4_gold_conll", "dev.conll"]
    for name in [*names, "train/a/1.v4_auto_conll"]:
        (tmp_path / name).touch()
    data = ("tasks.coref.data", FILES | {"folder": str(tmp_path)})
    config = resolve(asking(COREFERENCE, data), SCHEMA)
    assert gather({**config, "encoders": {}}).absent == {}
    task = Setup(config).task("coref")
    sources = task.kind.steps[0].sources(task, read_catalogue())
    assert sources == {
        "train": sorted(str(tmp_path / name) for name in names[:2]),
        "validation": [str(tmp_path / "dev.conll")],
        "test": ["mine.conll"],
    }
    (tmp_path / names[0]).unlink()
    (tmp_path / names[1]).unlink()
    with pytest.raises(BiasflowError, match=r"'tasks\.coref\.data\.train': there is no file \{folder\}/train"):
        gather({**config, "encoders": {}})


INSIDE = {"encoders": ["real"], "methods": ["none", "leace"], "metrics": ["gest", "weat", "ceat", "perplexity"]}
BIOS = {"encoders": ["real"], "task": "bios", "metrics": ["fairness", "training", "weat"]}


def datasets(found) -> dict[str, str]:
    """Metric -> the name of its dataset in scores.csv; one that is limited and one that is not must not share it."""
    names = {score.metric: score.dataset.label for scores in found.scored.values() for score in scores}
    assert {cell.dataset for cell in found.cells} >= set(names.values())
    return names


def inputs_and_params(config) -> dict[tuple, tuple]:
    """The key of every reading -> what its job is told, and of every step of tasks' data -> its options."""
    resolved = resolve(config, SCHEMA)
    found = planned(config)
    read = {
        (key.job, key.readout): (key.file, sorted(reading.dataset.options.items(), key=str))
        for key, reading in found.readings.items()
    }
    tasks = [Setup(resolved).task(name, found.blocks) for name in resolved["tasks"]]
    steps = {(task.name, step.rule): step.options(task) for task in tasks for step in kind_of(task.about["kind"]).steps}
    return read | steps


def changes(one, other) -> set:
    one, other = inputs_and_params(one), inputs_and_params(other)
    return {key[-1] for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


def test_a_limited_dataset_is_called_so_in_files_and_scores():
    full, limited = planned(asking(INSIDE)), planned(asking(INSIDE | {"limit": 100}))
    assert datasets(full)["gest"] == "gest" and datasets(limited)["gest"] == "gest-limit100"
    assert datasets(limited)["perplexity"] == "wikitext-2-limit100"
    assert datasets(limited)["ceat"].endswith("-limit100") and not limit_of(datasets(limited)["weat"])
    of_gest = {key for key, reading in limited.readings.items() if reading.dataset.name == "gest"}
    assert of_gest and not of_gest & set(full.readings)


def test_scores_under_a_method_that_is_fitted_to_a_limited_task_are_called_so():
    method = ("methods.own-task", [{"eraser": "leace", "places": "last.cls", "fitted_to": "task"}])
    about = {"encoders": ["real"], "task": "bios", "trainings": ["pretrained"], "metrics": ["weat"]}
    for methods, limit in ((["none"], ""), (["none", "own-task"], "500")):
        found = planned(asking(about | {"methods": methods}, ("tasks.bios.limit", 500), method))
        assert limit_of(datasets(found)["weat"]) == limit


def test_a_limit_changes_the_jobs_of_what_it_is_of_alone():
    assert changes(asking(INSIDE), asking(INSIDE | {"limit": 100})) == {"likelihoods", "associations", "losses"}
    read = {"heads", "vectors"}  # of models that are trained on other biographies
    assert changes(asking(BIOS), asking(BIOS, ("tasks.bios.limit", 500))) == {"biographies", *read}
    assert changes(asking(BIOS), asking(BIOS | {"limit": 100})) == set()  # nothing that the block reads is sampled


def test_the_limit_of_a_run_is_that_of_tasks_and_blocks_that_have_none():
    config = asking(BIOS | {"limit": 60}, ("limit", 200), ("tasks.nli.limit", 300))
    resolved = resolve(config, SCHEMA)
    assert {name: task.get("limit") for name, task in resolved["tasks"].items()} == {
        "nli": 300, "cola": 200, "bios": 200, "coref": None,
    }  # fmt: skip
    assert resolved["ask"]["block"]["limit"] == 60
    assert resolve(asking(BIOS), SCHEMA)["tasks"]["bios"]["limit"] is None


DEPTH = 4
NAMES = ["all", "each", "last", "last.cls", "pooled", "layer[3]", "layer[-1].cls", "layer[3].cls", "layer[2].cls"]
NAMES += ["layer[0]", "layer[3].attention.query", "layer[-2].attention.value"]


def changes_nothing(edited: list[str], *, words: bool) -> bool:
    """Whether a readout refuses a method with edits at these places."""
    try:
        reaching(Active("mine", edits=tuple((place, None) for place in edited)), DEPTH, words=words)
    except BiasflowError:
        return True
    return False


def with_places(*names: str) -> list[dict]:
    return [{"eraser": "hard", "places": name, "fitted_to": "pairs"} for name in names]


@pytest.mark.parametrize("second", [None, "pooled", "last.cls"])
@pytest.mark.parametrize("first", NAMES)
def test_what_a_metric_does_not_see_is_what_its_readout_refuses(first, second):
    method = with_places(*[first] + ([second] if second else []))
    edited = [place for step in method for place in places.resolve(step["places"], DEPTH)]
    for sees, words in ((WORDS, True), (FIRST_TOKEN, False)):
        assert (unseen_setting(method, sees, DEPTH) is not None) == changes_nothing(edited, words=words)
    assert unseen_setting(method, SENTENCE, DEPTH) is None


@pytest.mark.parametrize("setting", all_settings()[1:], ids=name_of_setting)
def test_every_setting_of_the_grid_is_seen_where_its_edits_are(setting):
    class Anything:
        sequential = False

        def at(self, name, setting):
            return None

    edited = [place for place, _ in edits_of(setting, Anything())]
    assert edited == [PLACES[name] for name in setting.subspaces]
    method = {"grid": "dawkins2024", "settings": [name_of_setting(setting)]}
    for sees, words in ((WORDS, True), (FIRST_TOKEN, False)):
        unseen = unseen_setting(method, sees, DEPTH)
        assert (unseen is not None) == changes_nothing(edited, words=words)
        assert unseen is None or unseen[0] == name_of_setting(setting)


def test_controls_are_known_by_their_names():
    methods = with_variants(methods_of_erasers())
    of = {name: base for name in methods if (base := control_of(name)) is not None}
    assert of.pop("random") == ""
    assert set(of.values()) <= set(methods_of_erasers()) and "leace-pretrained" not in of
    assert set(of) == {name for name, (step, *_) in methods.items() if step.get("control") is not None}
    assert of["leace-random-matched1"] == of["leace-random1"] == "leace"
    matched = {name for name, (step, *_) in methods.items() if step.get("matched")}
    assert {name for name in methods if is_matched(name)} == matched and "leace-random-matched4" in matched
    of_tasks = {name for name in of if is_permuted(name)}
    names = {f"splince{place}-permuted{draw}" for draw in ("", *range(5)) for place in ("", "-sentence")}
    assert of_tasks == names and not of_tasks & matched


def test_the_datasets_of_every_metric_are_listed_by_a_function():
    listed = {*DATASETS, *(name for kind in TASKS for name in kind_of(kind).datasets)}
    assert {name: entry.datasets for name, entry in METRICS.items() if entry.datasets not in listed} == {}
