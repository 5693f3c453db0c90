"""Mistakes that people make in a configuration: each ends before the first job, with one line that names its key."""

import re
from collections.abc import Mapping

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.catalogue import read_catalogue
from biasflow.encoders.families import HEADS
from biasflow.plan import compiled as module
from biasflow.plan.compiled import prepared
from biasflow.plan.datasets import TEXT_SOURCES
from biasflow.plan.device import check_device
from tests.unit.plan.configs import ASKING, HUB, SCHEMA, SETS, changed, folder_of

CATALOGUE = read_catalogue()
OWN = {"source": "pretrain", "corpus": "planted"}
BERT = {"model_type": "bert", "num_hidden_layers": 2, "hidden_size": 8}
BERT["max_position_embeddings"] = 64
LEACE = {"eraser": "leace", "places": "last"}
PAIRS = {"masculine": ["man"], "feminine": ["woman"]}
FRENCH = {
    "file": "occupations.txt",
    "templates": ["[MASK] est {occupation}."],
    "pronouns": ["il", "elle"],
    "encoders": ["own"],
}
PLANTED = {"bias": [0.0, 1.0], "seeds": [0], "encoder": {"corpus": "planted"}}
BASE = changed(("device", "cpu"), ("encoders.real.path", "encoder"))


def of(*changes: tuple[str, object], config: Mapping = BASE) -> dict:
    """The configuration with other values."""
    return changed(*changes, config=config)


def own(**keys) -> dict:
    return of(*((f"encoders.own.{key}", value) for key, value in keys.items()))


def local(path: str) -> dict:
    return of(("encoders.real.path", path))


def also(name, encoder: dict = OWN) -> dict:
    """With one more encoder."""
    return {**BASE, "encoders": {**BASE["encoders"], name: encoder}}


def continued(**keys) -> dict:
    return also("more", {"source": "continued", **keys})


def method(*steps: dict, **more: object) -> dict:
    return of(("methods.mine", list(steps)), *more.items())


def eraser(name: str, **options) -> dict:
    return method({"eraser": name, "options": options})


def grid(**keys) -> dict:
    return of(("methods.mine", {"grid": "dawkins2024", **keys}))


def fitting(**keys) -> dict:
    return of(("fitting", keys))


def occupations(name: str = "french", **keys) -> dict:
    return of((f"metrics.occtmp.own.{name}", {**FRENCH, **keys}))


def own_test(metric_name: str = "weat", name: str = "race", **keys) -> dict:
    """A test of the user's; those of SEAT have sentences, too."""
    return of((f"metrics.{metric_name}.own.{name}", {"file": "sets.csv", **keys}))


def own_traits(name: str = "mine", **keys) -> dict:
    lists = dict.fromkeys(("words", "traits", "templates"), "sets.csv")
    return changed((f"metrics.trait_ratings.own.{name}", lists | keys), config=BASE)


def own_pairs(file: str = "pairs.csv", **keys) -> dict:
    return fitting(words={"name": "religion", "file": file, **keys})


def task(name: str, **keys) -> dict:
    return of(*((f"tasks.{name}.{key}", value) for key, value in keys.items()))


def selection(**keys) -> dict:
    """Pairs that are asked for: others are not made."""
    asked = {"encoders": ["own"], "task": "nli", "metrics": ["nli_fairness"]}
    chosen = ("tasks.nli.selections", {"few": {**PAIRS, **keys}})
    return of(chosen, ("ask", {"pairs": asked}))


def block(*changes, **keys) -> dict:
    return of(("ask", {"block": {"encoders": ["own"], "metrics": ["weat"], **keys}}), *changes)


def bios(*changes, **keys) -> dict:
    return block(*changes, **{"task": "bios", "metrics": ["fairness"], **keys})


def paper(name: str, **keys) -> dict:
    return of((f"papers.{name}", {"encoders": ["own"], **keys}))


def planted(**keys) -> dict:
    return of(("papers.planted", {**PLANTED, **keys}))


COIN = "{python} {script} {encoder} {output}"


def given(**keys) -> dict:
    """A measure of the user's on encoders with a planted bias."""
    return of(("given", {"coin": keys}), config=planted())


def top(**keys) -> dict:
    return {**BASE, **keys}


PARTS = ("train", "validation", "test")
DEEP = ("methods.deep", [{"eraser": "leace", "places": "layer[12]"}])
DERIVED = {"source": "pretrain", "corpus": "planted", "layers": 3}
# What is wrong, and the key that the message names, or a pattern that begins with it and its quote.
MISTAKES = [
    ({**BASE, "world": "held-out"}, "world"),
    # the whole
    (of(("runn", "x")), "runn'.*'run'"),
    (of(("run", "Has Spaces")), "run"),
    (of(("run", "a" * 300)), "run': 'a{20}...' has 300 characters; give at most 100"),
    ({key: value for key, value in BASE.items() if key != "run"}, "run' is missing"),
    ({key: value for key, value in BASE.items() if key != "ask"}, "ask"),
    (of(("encoders.other", {"source": "local"})), "encoders.other.path' is missing; write path: .*folder"),
    # names
    (also("OWN"), "encoders.OWN'.* own in capitals alone"),
    (of(("methods.Leace", [{"eraser": "leace"}])), "methods.leace'.* Leace in capitals"),
    (top(run="demo\n"), "run"),
    (also("own\n"), "encoders"),
    (also("../up"), "encoders"),
    (top(ask={"inside.reasons": BASE["ask"]["inside"]}), "ask"),
    (task("texts", kind="nli"), "tasks.texts"),
    (occupations("planted"), "metrics.occtmp.own.planted"),
    (of(("encoders.planted-bias0-seed0", DERIVED), config=planted()), "encoders.planted-bias0-seed0"),
    (of(("encoders.own-mlm", DERIVED), config=paper("liang2020", finetuned_perplexity=True)), "encoders.own-mlm"),
    # seeds
    (eraser("random", seed=2**32), "methods.mine.0.options.seed"),
    (block(seeds=[0, 1]), "ask.block.seeds"),
    # methods
    (of(("methods.mine", {"eraser": "densray"})), "methods.mine': a method is a list.*{eraser: densray}"),
    (method({"eraser": "leece"}), "methods.mine.0.eraser'.*leece.*'leace'"),
    (method(LEACE | {"options": {"shrinkge": True}}), "methods.mine.0.options.*shrinkge.*'shrinkage'"),
    (method(LEACE | {"places": "pooled"}), "methods.mine.0.places'.*fitted_to: pairs"),
    (method(LEACE | {"places": "each"}, LEACE), "methods.mine.0.places'.*each"),
    (method(LEACE | {"fitted_to": "task"}), "methods.mine.0.places'.*last.cls"),
    (
        method(LEACE | {"places": "last.cls", "fitted_to": "task", "fitted_on": "pretrained"}),
        "methods.mine.0.fitted_on'.*on the model",
    ),
    (method(LEACE | {"balanced": True}), "methods.mine.0.balanced'.*fitted_to: task"),
    (method(LEACE | {"class_centred": True}), "methods.mine.0.class_centred'.*fitted_to: task"),
    (
        method({"eraser": "inlp", "places": "last.cls", "fitted_to": "task", "class_centred": True}),
        "methods.mine.0.class_centred'.*inlp.*take leace, mean_projection",
    ),
    (method({"eraser": "splince", "fitted_to": "words"}), "methods.mine.0.fitted_to'.*task"),
    (method({"eraser": "pca", "fitted_to": "words"}), "methods.mine.0.fitted_to'.*pairs"),
    (grid(eraser="pcaa"), "methods.mine.eraser'.*'pca'"),
    (grid(eraser="densray"), "methods.mine.eraser'.*densray.*order.*hard.*pca"),
    (grid(settings=["sent 7"]), "methods.mine.settings'.*sent 7"),
    # metrics and tasks
    (of(("metrics.strength.tops", [0.2])), "metrics.strength.tops"),
    (of(("metrics.ceat.text", "english-wiki")), "metrics.ceat.text'.*english-wikipedia"),
    (occupations(encoders=["own", "owm"]), "metrics.occtmp.own.french.encoders.1'.*owm.*'own'"),
    (task("bios", kind="regression"), "tasks.bios.kind"),
    (task("bios", data={"file": "x.csv"}), "tasks.bios.data.file'.*'files'"),
    (task("bios", labour="shares.csv"), "tasks.bios.labour"),
    (task("nli", selection="many"), "tasks.nli.selection'.*many.*few"),
    (eraser("pca", center="sideways"), "methods.mine.0.options.center"),
    (eraser("conceptor", aperture=float("inf")), "methods.mine.0.options.aperture"),
    (eraser("densray", weights=[0, 0]), "methods.mine.0.options.weights"),
    (grid(options={"components": 1}), "methods.mine.options.components"),
    (method(), "methods.mine"),
    (method(LEACE | {"options": None}), "methods.mine.0.options"),
    (method(LEACE | {"places": "layer[1"}), "methods.mine.0.places"),
    (method(LEACE | {"places": "layer[1].attention.output"}), "methods.mine.0.places"),
    (block(DEEP, methods=["none", "deep"]), "methods.deep"),
    (block(("methods.wide", [{"eraser": "hard", "options": {"components": 500}}]), methods=["wide"]), "methods.wide"),
    # words and templates
    (selection(masculine=["man", "boy"]), "tasks.nli.selections.few"),
    (selection(masculine=["man", "man"], feminine=["woman", "girl"]), "tasks.nli.selections.few"),
    (selection(templates=100_000), "tasks.nli.selections.few"),
    (task("bios", top_words={"profession": "nurze"}), "tasks.bios.top_words.profession"),
    (
        task("bios", data={"files": ["bias-in-bios-dev"]}, top_words={"profession": "surgon"}),
        "tasks.bios.top_words.profession",
    ),
    (task("bios", data={"files": ["bias-in-bios-dev"], "professions": ["nurze"]}), "tasks.bios.data.professions"),
    (task("bios", data={"files": ["bios.csv"], "professions": ["nurse"]}), "tasks.bios.data.professions"),
    (occupations(templates=["{occupation} il"]), "metrics.occtmp.own.french.templates.0"),
    (occupations(templates=["[MASK] est docteur."]), "metrics.occtmp.own.french.templates.0"),
    (occupations(templates=["[MASK] et [MASK] {occupation}"]), "metrics.occtmp.own.french.templates.0"),
    (occupations(pronouns=["il", "Il"]), "metrics.occtmp.own.french.pronouns"),
    (own_test(name="C6"), "metrics.weat.own.C6"),
    (own_test(name="sent-race"), "metrics.weat.own.sent-race"),
    (own_test("strength", name="stereoset-swapped"), "metrics.strength.own.stereoset-swapped"),
    (own_test("strength", name="sentences-mine"), "metrics.strength.own.sentences-mine"),
    (own_test("crows_pairs", file="nowhere.csv"), "metrics.crows_pairs.own.race.file"),
    (own_test("intrasentence"), "metrics.intrasentence.own.race.file'.*sets.csv: no column context"),
    (own_test("strength"), "metrics.strength.own.race.file'.*sets.csv: no column context"),
    (occupations("blanks-mine"), "metrics.occtmp.own.blanks-mine"),
    (own_test(encoders=["owl"]), "metrics.weat.own.race.encoders.0"),
    (own_test("ceat", templates=["{word}"]), "metrics.ceat.own.race.templates"),
    (own_test(templates=["{word} and {word}"]), "metrics.weat.own.race.templates.0"),
    (own_test("seat", templates=["This is a word."]), "metrics.seat.own.race.templates.0"),
    (own_test(file="nowhere.csv"), "metrics.weat.own.race.file"),
    (own_test(file="occupations.txt"), "metrics.weat.own.race.file"),
    (own_test(file="broken.csv"), "metrics.weat.own.race.file"),
    (own_test("ceat", file="phrases.csv"), "metrics.ceat.own.race.file"),
    (own_traits("character-positive"), "metrics.trait_ratings.own.character-positive"),
    (own_traits(traits="nowhere.csv"), "metrics.trait_ratings.own.mine.traits"),
    (own_traits(encoders=["owl"]), "metrics.trait_ratings.own.mine.encoders.0"),
    (own_traits(), "metrics.trait_ratings.own.mine"),
    (own_pairs("nowhere.csv"), "fitting.words.file"),
    (own_pairs("sets.csv"), "fitting.words.file': sets.csv: 3 columns; give two"),
    (of(("fitting.words", {"name": "religion", "file": "pairs.csv"}), config=paper("liang2020")), "fitting.words"),
    # files
    (top(files={"stereoset-dev": "nowhere.json"}), "files.stereoset-dev"),
    (top(files={"stereoset-dev": "encoder"}), "files.stereoset-dev"),
    (top(files={"stereoset_dev": "occupations.txt"}), "files.stereoset_dev"),
    (top(mirror="nowhere"), "mirror"),
    (top(mirror="encoder"), "mirror"),
    (own(corpus="nowhere.txt"), "encoders.own.corpus"),
    (own(corpus=["planted", "wikitext2"]), "encoders.own.corpus.1"),
    (own(vocabulary="nowhere.txt"), "encoders.own.vocabulary"),
    (local("nowhere"), "encoders.real.path"),
    (local("weightless"), "encoders.real.path"),
    (local("wordless"), "encoders.real.path"),
    (local("model{v2}"), "encoders.real.path"),
    (occupations(file="jobs{1}.txt"), "metrics.occtmp.own.french.file"),
    (occupations(file="\x1b[2Jjobs.txt"), "metrics.occtmp.own.french.file"),
    (occupations(file="latin-1.txt"), "metrics.occtmp.own.french.file"),
    (occupations(file="empty.txt"), "metrics.occtmp.own.french.file"),
    (own(corpus="nothing.txt"), "encoders.own.corpus"),
    (task("bios", data={"files": ["nothing.csv"]}), "tasks.bios.data.files.0"),
    (block(("metrics.perplexity.max_length", 65), metrics=["perplexity"]), "metrics.perplexity.max_length"),
    (fitting(text="wikitext"), "fitting.text"),
    (fitting(sentence_pairs="nowhere.yaml"), "fitting.sentence_pairs"),
    (fitting(sentence_pairs="occupations.txt"), "fitting.sentence_pairs"),
    (task("bios", data={"files": ["bias-in-bios-dve"]}), "tasks.bios.data.files.0"),
    (task("bios", data={"files": ["bios*.csv"]}), "tasks.bios.data.files.0"),
    (task("bios", data={"files": ["bias-in-bios-dev"]}, labour="nowhere.csv"), "tasks.bios.labour"),
    (task("nli", data={"train": ["snli-trian"], "test": ["snli-test"]}), "tasks.nli.data.train.0"),
    (task("cola", data="colla"), "tasks.cola.data"),
    (task("coref", data={part: ["nowhere.conll"] for part in PARTS}), "tasks.coref.data.train.0"),
    (task("coref", data={"folder": "nowhere"} | {part: ["{folder}/x"] for part in PARTS}), "tasks.coref.data.folder"),
    # encoders
    (own(source="disk"), "encoders.own.source"),
    (own(hidden=1_000_000_000), "encoders.own.hidden'.*parameters"),
    (also("own", {"source": "hub", "id": "x"}), "encoders.own.revision"),
    (also("own", {"source": "continued", "from": "own"}), "encoders.own.from'.*own -> own"),
    *((also(text), f"encoders.{text}'.*text") for text in TEXT_SOURCES),
    (also("hub", {"source": "hub", "id": "bert base", "revision": "0" * 40}), "encoders.hub.id"),
    (also("hub", {"source": "hub", "id": "bert", "revision": "0" * 40 + "\n"}), "encoders.hub.revision"),
    (continued(**{"from": "real", "text": "planted"}), "encoders.more.text"),
    (
        of(("encoders.real.path", "headless"), config=continued(**{"from": "real", "recipe": "cda"})),
        "encoders.more.from",
    ),
    (continued(**{"from": "own", "head_steps": 10}), "encoders.more.head_steps"),
    (continued(**{"from": "own", "recipe": "cda", "text": "occupations.txt"}), "encoders.more.text"),
    (continued(**{"from": "own", "recipe": "dropout", "next_sentence": True}), "encoders.more.next_sentence"),
    (continued(**{"from": "real", "recipe": "planted"}), "encoders.more.dose"),
    (continued(**{"from": "real", "dose": 1}), "encoders.more.dose"),
    (continued(**{"from": "real", "placebo": True}), "encoders.more.placebo"),
    (continued(**{"from": "real", "recipe": "planted", "dose": 1, "labour": "nowhere.csv"}), "encoders.more.labour"),
    (continued(**{"from": "real", "text": "bias-in-bios-dev"}), "encoders.more.text"),
    (continued(**{"from": "own", "recipe": "planted", "dose": 1, "text": "planted"}), "encoders.more.text"),
    (
        of(("encoders.real.path", "headless"), config=continued(**{"from": "real", "recipe": "planted", "dose": 0})),
        "encoders.more.from",
    ),
    # what is asked for
    (block(encoders=["owm"]), "ask.block.encoders'.*owm.*'own'"),
    (block(metrics=["strenght"]), "ask.block.metrics'.*'strength'"),
    (block(metrics=["distance"]), "ask.block.metrics'.*a measure of the metric strength"),
    (block(methods=["foo"]), r"ask.block.methods'.*; there are: (\S+, ){9}\S+ and \d+ more; `biasflow list methods`"),
    (bios(task="biso"), "ask.block.task'.*'bios'"),
    (bios(("tasks", {})), "ask.block.task': 'bios' is not one of the tasks; none is defined"),
    (block(metrics=["fairness"], trainings=["finetuned"]), "ask.block.task"),
    (bios(strategies=["with-leece"]), "ask.block.strategies'.*'leace'"),
    (bios(strategies=["with-none"]), "ask.block.strategies'.*with-none.*plain"),
    (bios(strategies=["with-dawkins2024"]), "ask.block.strategies'.*several settings"),
    (bios(task="nli", strategies=["scrubbing"]), "ask.block.strategies'.*English.*tasks.nli"),
    (of(("ask", {"block": {"encoders": ["own"]}})), "ask.block.metrics"),
    (of(("ask.liang2020", {"encoders": ["own"], "metrics": ["weat"]})), "ask.liang2020"),
    (paper("liang2021"), "papers.liang2021'.*'liang2020'"),
    (paper("liang2020", methods=["none", "leece"]), "papers.liang2020.methods'.*'leace'"),
    (paper("liang2020", tasks=["nli"]), "papers.liang2020.tasks'.*nli.*glue"),
    (paper("dawkins2024", task="bios"), "papers.dawkins2024.task'.*nli"),
    (paper("orgad2022", task="nli"), "papers.orgad2022.task'.*occupation"),
    (paper("orgad2022", coreference="bios"), "papers.orgad2022.coreference'.*coreference"),
    (paper("orgad2022", coreference_strategies=["ca"]), "papers.orgad2022.coreference_strategies"),
    (paper("orgad2022", strategies=["plain", "scrubing"]), "papers.orgad2022.strategies'.*'scrubbing'"),
    (planted(bias=[1.0]), "papers.planted.bias"),
    (planted(methods=["leace-random9"]), "papers.planted.methods'.*leace-random"),
    (
        planted(tasks={"t": {"kind": "occupation", "data": {"files": ["bias-in-bios-dev"]}}}),
        "papers.planted.tasks.t.data",
    ),
    (planted(encoder={"corpus": "planted", "stepz": 1}), "papers.planted.encoder.stepz'.*'steps'"),
    (top(papers=["dawkins2024"]), "papers"),
    (planted(encoder={"corpus": "wikitext-2"}), "papers.planted.encoder.corpus"),
    (block(strategies=["plain", "scrubbing"]), "ask.block.strategies"),
    (
        block(task="bios", trainings=["pretrained"], strategies=["scrubing"], metrics=["fairness"]),
        "ask.block.strategies",
    ),
    (block(task="nli", metrics=["accuracy", "fairness"]), "ask.block.metrics"),
    (block(task="nli", trainings=["pretrained"], metrics=["nli_fairness"]), "ask.block.metrics"),
    (block(metrics=["gender_share"], methods=["leace"]), "ask.block.methods"),
    (given(command="coin {encoder}"), "given.coin.command"),
    (given(command=COIN), "given.coin.script"),
    (given(command=COIN, script="none.py"), "given.coin.script"),
    (top(given={"coin": {"command": "coin {encoder} {output}"}}), "given.coin"),
    # papers
    (of(("papers.calibrated", {"encoder": "mien"})), "papers.calibrated.encoder"),
    (of(("papers.calibrated", {"encoder": "real", "doses": [0.5, 1]})), "papers.calibrated.doses"),
    (of(("papers.calibrated", {"encoder": "real", "doses": [0, 2]})), "papers.calibrated.doses.1"),
    (of(("tasks.nli.limit", 100), config=paper("dawkins2024", task="nli")), "tasks.nli.limit"),
    (task("coref", pairs="planted", parts=["test"]), "tasks.coref.parts'.*planted pairs have no parts"),
    (
        of(
            ("tasks.coref", {"kind": "coreference", "pairs": "winobias", "parts": ["test"]}),
            config=paper("orgad2022", task="bios", coreference="coref"),
        ),
        "tasks.coref.parts'.*the paper measures",
    ),
    # the encoder that the command names
    (of(ASKING), r"encoder': the folder of encoders.real is not given; add --config encoder=FOLDER.*hub=NAME@REVISION"),
    (top(encoder="my/bert"), "encoder': no encoder of this configuration"),
    (top(hub=HUB), "hub': no encoder of this configuration"),
    (of(ASKING, ("encoder", 12)), "encoder': 12 is no list"),
    (of(ASKING, ("encoder", "google-bert/bert-base-uncased")), "encoder'.*--config hub=google-bert/bert-base-uncased@"),
    (of(ASKING, ("hub", "google-bert/bert-base-uncased")), "hub': .* 40 hexadecimal digits"),
    (of(ASKING, ("hub", HUB), ("encoder", "my/bert")), "encoder"),
    # what --config and quotes give: text
    (top(ask="{block: {encoders: [own]}}"), "ask"),
    # this machine
    (top(device="cuda"), "device"),
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with an encoder and with files, and a machine without a GPU."""
    monkeypatch.setattr(module, "load_schema", lambda: SCHEMA)  # read once for all tests
    monkeypatch.setattr(module, "read_catalogue", lambda: CATALOGUE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    encoders = {"encoder": HEADS, "headless": (), "weightless": (), "wordless": (), "model{v2}": ()}
    for name, heads in encoders.items():
        folder_of(tmp_path / name, *heads, **BERT)
    (tmp_path / "wordless/vocab.txt").unlink()
    (tmp_path / "weightless/model.safetensors").unlink()
    for name in ("occupations.txt", "jobs{1}.txt", "\x1b[2Jjobs.txt"):
        (tmp_path / name).write_text("docteur\n")
    (tmp_path / "latin-1.txt").write_bytes("infirmière\n".encode("latin-1"))
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "tab.txt").write_text("docteur\nmédecin\t3\n")
    (tmp_path / "sets.csv").write_text("\n".join(SETS))
    (tmp_path / "broken.csv").write_text("\n".join([*SETS, "A,a,X1"]))
    (tmp_path / "phrases.csv").write_text("\n".join([*SETS, "A,a,kind word"]))
    (tmp_path / "pairs.csv").write_text("first,second\nchurch,mosque\n")
    for name in ("nothing.txt", "nothing.csv"):
        (tmp_path / name).write_text("")
    (tmp_path / "bios.csv").write_text("text,profession,gender\n")
    return tmp_path


def said(config: dict) -> str:
    """What stops a run with this configuration before its first job."""
    with pytest.raises(BiasflowError) as caught:
        check_device(prepared(config).setup.config["device"], cluster=False)
    return str(caught.value)


def test_without_a_mistake_it_is_planned(place):
    assert prepared(BASE).plan.scored


# Right, though a part of each is measured elsewhere, or not at all.
RIGHT = {
    "what another block has as well": of(
        (
            "ask",
            {
                "a": {"encoders": ["own"], "methods": ["none"], "metrics": ["gender_share"]},
                "b": {"encoders": ["own"], "methods": ["none", "hard"], "metrics": ["gender_share", "weat"]},
            },
        ),
        config=BASE,
    ),
    "a method that acts on the encoder of another block": of(
        ("encoders.deep", {**OWN, "layers": 8}),
        ("methods.l6", [{"eraser": "hard", "places": "layer[6]"}]),
        (
            "ask",
            {
                "a": {"encoders": ["deep"], "methods": ["l6"], "metrics": ["weat"]},
                "b": {"encoders": ["own", "deep"], "methods": ["l6"], "metrics": ["weat"]},
            },
        ),
        config=BASE,
    ),
    "word lists of one's own": of(
        ("metrics.seat.own.race", {"file": "phrases.csv", "encoders": ["own"]}),
        ("fitting.words", {"name": "religion", "file": "pairs.csv"}),
        config=own_test(file="phrases.csv"),
    ),
    "pairs that nothing asks for": task("nli", selections={"few": {**PAIRS, "templates": 100_000}}),
}


@pytest.mark.parametrize("config", RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_planned(place, config):
    assert prepared(config).plan.scored


@pytest.mark.parametrize(
    ("config", "key"), MISTAKES, ids=[f"{number}-{key}" for number, (_, key) in enumerate(MISTAKES)]
)
def test_one_line_that_names_the_key(place, config, key):
    line = said(config)
    assert line.startswith("config: ") and "\n" not in line and len(line) < 600
    assert re.search(f"'{key}" if "'" in key else f"'{key}'", line)


def test_a_broken_line_of_an_own_list_is_named(place):
    (place / "line.txt").write_text("docteur\n" + 10**7 * "x" + "\n")
    assert "line.txt: line 2: column occupation: 'xxx" in said(occupations(file="line.txt"))
    assert "tab.txt: line 2: column occupation: 'médecin\\t3' holds a tab" in said(occupations(file="tab.txt"))
    assert "broken.csv: line 10: column word: 'X1' is in test race twice" in said(own_test(file="broken.csv"))
    assert "phrases.csv: line 10: column word: 'kind word' is more" in said(own_test("ceat", file="phrases.csv"))
    assert "the file nothing.txt is empty" in said(fitting(text="nothing.txt"))
    asked = block(("metrics.perplexity.max_length", 65), encoders=["real"], metrics=["perplexity"])
    assert "65 tokens are more than the 64 that encoders.real takes" in said(asked)
    assert "{folder}" not in said(task("coref", data={"folder": "nowhere"} | {part: ["{folder}/x"] for part in PARTS}))
