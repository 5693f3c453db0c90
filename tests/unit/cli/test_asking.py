"""The commands that ask and write: what they say, where they write, and how they end."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from biasflow.base.errors import BiasflowError
from biasflow.base.records import PROVENANCE
from biasflow.base.tabular import write_csv, write_parquet
from biasflow.cli import app
from biasflow.cli.app import as_options, configuration
from biasflow.encoders.stored import headers
from biasflow.results.scores import tidy, write_scores
from tests.unit.plan.configs import CLASSIFIER, ROOT, folder_of


def result(*words: str):
    return CliRunner().invoke(app, list(words))


def said(*words: str) -> str:
    done = result(*words)
    assert done.exit_code == 0, done.exception
    return done.output


def fault(*words: str) -> str:
    done = result(*words)
    assert isinstance(done.exception, BiasflowError), done.output
    return str(done.exception)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where the commands are started: two runs that have ended, and an encoder."""
    monkeypatch.chdir(tmp_path)
    for run, value in (("one", 0.1), ("two", 0.9)):
        home = Path("results", run)
        (home / PROVENANCE).mkdir(parents=True)
        (home / PROVENANCE / "a.json").write_text("{}")
        (home / "index.html").write_text("<p>page")
        rows = [
            {"metric": "weat_effect_size", "variant": "target", "value": value, "low": value - 0.1, "high": value + 0.1}
        ]
        scores = pd.DataFrame([*rows, {"metric": "same", "variant": "-", "value": 1.0}])
        write_scores(tidy(scores, encoder="bert", method="none"), home / "scores.csv")
    folder_of(Path("bert"), "masked_lm")
    return tmp_path


def test_list(folder):
    assert "leace            LEACE: changes the vectors" in said("list", "erasers")
    listed = " ".join(said("list", "metrics", "--of", "bert").split())
    assert "strength no: the encoder has no next-sentence head" in listed
    assert "orgad2022_table3 Occupation prediction before retraining" in " ".join(said("list", "papers").split())
    assert fault("list", "metrcs") == "list: 'metrcs' cannot be listed; did you mean 'metrics'?"
    assert "there are: metrics, measures, places" in fault("list", "keys", "--of", "bert")
    Path("mine.yaml").write_text("run: a\nencoders: {mine: {source: local, path: '{encoder}'}}\nask: {}\n")
    Path("more.yaml").write_text("ask: {b: {encoders: [mine], metrics: [weat]}}\n")
    files = ("--configfile", "mine.yaml", "--configfile", "more.yaml")
    assert "path: bert" in said("list", "encoders", *files, "--config", "encoder=bert")
    assert "key 'encoder'" in fault("list", "encoders", *files)


@pytest.fixture
def started(folder, monkeypatch) -> list[list[str]]:
    """The commands that would be started in a checkout, beside a hub whose models all are the folder `bert`."""
    names = set().union(*headers(folder / "bert").values())
    monkeypatch.setattr("biasflow.corpora.hub.looked_up", lambda id, revision: (folder / "bert", names))
    shutil.copytree(ROOT / "config", folder / "config")
    monkeypatch.setattr("biasflow.base.shipped.ROOT", folder)
    commands: list[list[str]] = []
    monkeypatch.setattr("os.execve", lambda _, words, environment: commands.append(words[2:]))
    return commands


def of_hub(id: str, revision: str) -> dict[str, object]:
    return {"id": id, "revision": revision, "masked_lm": True, "next_sentence": False}


def test_measure_writes_a_configuration_and_starts_snakemake_as_readme_does(started):
    said("measure", "bert")
    assert yaml.safe_load(Path("mine.yaml").read_text()) == {"run": "mine", "encoder": "bert"}
    assert started == ["snakemake --cores 2 --configfile config/mine.yaml mine.yaml".split()]
    Path("mine.yaml").write_text(f"{Path('mine.yaml').read_text()}limit: 60\n")
    said("measure", "bert/", "--whole", "--cores", "4")
    assert started[1] == "snakemake --cores 4 --configfile config/mine.yaml config/whole.yaml mine.yaml".split()
    text = Path("mine.yaml").read_text()
    assert "limit: 60" in text and f"#   {' '.join(started[1])}\n" in text  # a key of the user's, and today's command
    name, commit = "google-bert/bert-base-uncased", "0" * 40
    assert fault("measure", f"{name}@{commit}").startswith("mine.yaml is there already") and len(started) == 2
    assert "an encoder, heads: masked-lm" in said("measure", f"{name}@{commit}", "--run", "second")
    assert yaml.safe_load(Path("second.yaml").read_text()) == {"run": "second", "hub": of_hub(name, commit)}


def table_of_texts(name: str, **columns: list[str]) -> None:
    """A table of 40 texts on her and him, with further columns whose values alternate."""
    rows = [
        (f"{who} is here {n}", *(values[n % len(values)] for values in columns.values()))
        for n, who in enumerate(["she", "he"] * 20)
    ]
    write_csv(pd.DataFrame(rows, columns=["text", *columns]), name)


def test_measure_with_texts_writes_what_their_columns_allow(started):
    folder_of(Path("toxic"), weights=CLASSIFIER)
    table_of_texts("my.csv", label=["0", "1"])
    said("measure", "toxic", "--texts", "my.csv")
    written = yaml.safe_load(Path("mine.yaml").read_text())
    assert written["tasks"]["decisions"]["columns"] == {"text": "text", "label": "label", "group": None}
    assert written["ask"] == {"decisions": {"metrics": ["flips", "accuracy"]}}
    assert started == ["snakemake --cores 2 --configfile config/decisions.yaml mine.yaml".split()]
    said("measure", "toxic", "--texts", "my.csv")
    assert len(started) == 2
    table_of_texts("two.csv", author=["F", "M", "M", "F"])
    assert "other texts" in fault("measure", "toxic", "--texts", "two.csv")
    said("measure", "toxic", "--texts", "two.csv", "--gender-column", "author", "--run", "two")
    assert yaml.safe_load(Path("two.yaml").read_text())["ask"]["decisions"]["metrics"] == ["flips", "fairness"]
    shutil.copytree("toxic", "active")
    Path("active/methods.safetensors").touch()
    for words, why in (
        (("bert", "--texts", "two.csv"), "weights lack pooler.dense.weight"),
        (("active", "--texts", "two.csv"), "active was trained with a method active"),
        (("toxic", "--texts", "no.csv"), "no file no.csv"),
        (
            ("toxic", "--texts", "two.csv", "--label-column", "kind"),
            "two.csv has no column kind; name its column of labels with --label-column (it has text, author)",
        ),
    ):
        assert why in fault("measure", *words, "--run", "three") and not Path("three.yaml").exists()


def test_columns_with_usual_names_in_other_capitals_are_taken_and_what_is_read_is_said(started):
    folder_of(Path("toxic"), weights=CLASSIFIER)
    table_of_texts("my.csv", Label=["LABEL_0", "LABEL_1"], Sex=["F", "M", "M", "F"], Age=["9"])
    assert "text text, label Label, gender Sex; not read: Age" in said("measure", "toxic", "--texts", "my.csv")
    columns = yaml.safe_load(Path("mine.yaml").read_text())["tasks"]["decisions"]["columns"]
    assert columns == {"text": "text", "label": "Label", "group": "Sex"}
    table_of_texts("my.csv", stars=["1", "2"], Sex=["F", "M", "M", "F"])
    unnamed = "label none, gender Sex; not read: stars (--label-column can name one)"
    assert unnamed in said("measure", "toxic", "--texts", "my.csv", "--run", "one")
    table_of_texts("my.csv", Sex=["F", "M"], gender=["M", "F", "F", "M"], Gender=["x"])
    said("measure", "toxic", "--texts", "my.csv", "--run", "two")  # the usual name itself comes first
    assert yaml.safe_load(Path("two.yaml").read_text())["tasks"]["decisions"]["columns"]["group"] == "gender"
    table_of_texts("my.csv", Sex=["F", "M"], Gender=["M", "F", "F", "M"])
    assert "Sex, Gender; name one" in fault("measure", "toxic", "--texts", "my.csv", "--run", "three")
    assert "no column sex" in fault("measure", "toxic", "--texts", "my.csv", "--gender-column", "sex", "--run", "three")


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"label": ["LABEL_0", "LABEL_7"]}, "'LABEL_7' is no label"),
        ({"label": ["0", "2"]}, "'2' is no label"),
        ({"gender": ["F"]}, "all texts are of F"),
        ({"gender": ["F", "x", "y", "z"]}, "is neither F nor M; write F and M"),
    ],
)
def test_texts_that_are_refused_leave_no_configuration_behind(started, columns, why):
    folder_of(Path("toxic"), weights=CLASSIFIER)
    table_of_texts("my.csv", **columns)
    found = fault("measure", "toxic", "--texts", "my.csv")
    assert why in found and "\n" not in found
    assert not Path("mine.yaml").exists() and started == []


def test_measure_takes_several_encoders_and_a_file_of_them(started):
    shutil.copytree("bert", "other")
    hub = f"owner/tiny@{'0' * 40}"
    keys = {"run": "mine", "encoder": ["bert", "other"], "hub": [of_hub("owner/tiny", "0" * 40)]}
    Path("mine.txt").write_text(f"bert\n# not this one\nother\n{hub}\n")
    said("measure", "mine.txt")
    assert yaml.safe_load(Path("mine.yaml").read_text()) == keys
    said("measure", "bert", "other", hub, "bert")  # the same, one of them twice
    assert started[0] == started[1] == "snakemake --cores 2 --configfile config/mine.yaml mine.yaml".split()
    assert "mine.yaml is there already" in fault("measure", "bert", "other")


@pytest.mark.parametrize("typed", ["owner/tiny", "https://huggingface.co/owner/tiny/tree/main", "owner/tiny@main"])
def test_a_name_of_the_hub_is_pinned_to_its_commit_of_today_and_a_rerun_reads_the_same(started, monkeypatch, typed):
    commits = iter("ab")
    monkeypatch.setattr("biasflow.corpora.hub.pinned", lambda id, revision: (f"{id}@{next(commits) * 40}", "its/base"))
    assert f"is owner/tiny@{'a' * 40} today" in said("measure", typed)
    assert yaml.safe_load(Path("mine.yaml").read_text())["hub"] == of_hub("owner/tiny", "a" * 40)
    said("measure", "owner/tiny")
    assert yaml.safe_load(Path("mine.yaml").read_text())["base_models"] == {"owner/tiny": "its/base"}
    assert yaml.safe_load(Path("mine.yaml").read_text())["hub"] == of_hub("owner/tiny", "a" * 40) and len(started) == 2
    assert "mine.yaml is there already" in fault("measure", "owner/tiny@v2")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["./brt"], "no folder ./brt; did you mean 'bert'?"),
        (["google-bert/bert-base-uncased@main"], "there is no folder google-bert/bert-base-uncased@main, and on the"),
        (["~/nowhere"], "there is no folder ~/nowhere"),
        (["results"], "no config.json"),
        (["bert", "--run", "a/b"], "key 'run'"),
        (["bert", "--mirror", "nowhere"], "key 'mirror'"),
    ],
)
def test_measure_starts_and_writes_nothing_where_something_is_wrong(started, words, why):
    assert why in fault("measure", *words)
    assert started == [] and list(Path().glob("*.yaml")) == []


def test_the_lock_of_a_killed_measurement_is_removed_by_its_own_command(started):
    said("measure", "bert", "--unlock")
    assert started == ["snakemake --cores 2 --configfile config/mine.yaml mine.yaml --unlock".split()]
    assert "unlock" not in Path("mine.yaml").read_text()


TAKE_FOLDERS = ["measure FILE", "measure bert --mirror FILE", "init FILE", "list metrics --of FILE"]


@pytest.mark.parametrize("words", [*TAKE_FOLDERS, "check one --mirror FILE"])
def test_a_file_in_place_of_a_folder_is_called_a_file(started, words):
    words = words.replace("FILE", "bert/model.safetensors").split()
    assert "model.safetensors is a file; name the folder in which it lies" in fault(*words)
    assert "--of" not in fault(*words) and started == []


def test_a_configuration_is_read_as_snakemake_reads_it(folder):
    Path("a.yaml").write_text("run: a\nfitting: {n: 10, words: family}\nask: {x: 1}\n")
    Path("b.yaml").write_text("fitting: {n: 20}\nask: 3\n")
    config, files = configuration(["a.yaml", "b.yaml"], ["limit=200", "mirror=a b"])
    assert config == {"run": "a", "fitting": {"n": 20, "words": "family"}, "ask": 3, "limit": 200, "mirror": "a b"}
    assert files == ["a.yaml", "b.yaml"]
    Path("c.yaml").write_text("a: [1\n")
    for wrong, why in ((["c.yaml"], "c.yaml: line 2: not valid YAML"), (["d.yaml"], "no file d.yaml")):
        with pytest.raises(BiasflowError, match=why):
            configuration(wrong, [])
    with pytest.raises(BiasflowError, match="KEY=VALUE"):
        configuration(["a.yaml"], ["limit"])


def test_options_are_taken_as_snakemake_takes_them():
    words = "explain leace --configfile a.yaml b.yaml mine --config run=a limit=200 weat --config mirror=x".split()
    each = "explain leace --configfile a.yaml --configfile b.yaml mine --config run=a --config limit=200 weat "
    assert as_options(words) == as_options(each.split() + words[-2:]) == each.split() + words[-2:]


def test_init_then_explain(folder):
    text = said("init", "bert", "-o", "first.yaml")
    assert "cannot be measured: strength the encoder has no next-sentence head: " in " ".join(text.split())
    assert yaml.safe_load(Path("first.yaml").read_text())["run"] == "bert"
    assert fault("init", "bert", "-o", "first.yaml").startswith("first.yaml is there already")
    assert "fit_methods: results/bert/methods/" in said("explain", "leace", "weat", "--configfile", "first.yaml")
    assert "did you mean 'weat'" in fault("explain", "wheat", "--configfile", "first.yaml")


def test_compare(folder):
    itself = result("compare", "one", "results/one")
    assert itself.exit_code == 0 and "compared with itself" in itself.stdout
    assert "picture" not in itself.stdout and not itself.stderr
    assert "not compared" not in itself.stdout
    for words, why in ((["one"], "two runs or more"), (["one", "two", "one"], "named twice")):
        refused = result("compare", *words)
        assert refused.exit_code == 2 and why in refused.stderr and not refused.stdout
    costs = pd.read_csv("results/one/scores.csv")
    Path("results/costs/provenance").mkdir(parents=True)
    write_scores(costs[costs["metric"] == "same"], "results/costs/scores.csv")
    alone = " ".join(result("compare", "costs", "one").stdout.split())
    assert "more biased: no measure could be compared" in alone and "not compared: WEAT (in one run alone)" in alone
    done = result("compare", "one", "two", "--csv", "differences.csv")
    assert done.exit_code == 1
    said = " ".join(done.stdout.split())
    words = "two is more biased by: WEAT", "seeds:", "picture:", "differs encoder=bert"
    assert sorted(words, key=said.index) == list(words)  # the verdict first
    assert Path("results/two-compared-with-one.svg").is_file() and Path("results/two-compared-with-one.png").is_file()
    assert result("compare", "two", "one", "--picture", "mine.svg").exit_code == 1 and Path("mine.png").is_file()
    assert not Path("results/one-compared-with-two.svg").exists()
    assert "0.1 and 0.9, difference 0.8 [0.6586, 0.9414]" in " ".join(done.stdout.split())
    assert done.stdout.endswith("all scores:  one has 2, two 2: 1 differs\n") and not done.stderr
    names = "name,kind,attribute,value\nbert,encoder,source,local\nbert,encoder,path,mine\n"
    Path("results/one/names.csv").write_text(names)
    Path("results/one/encoders.csv").write_text(f"encoder,sha256\nbert,{'ab' * 32}\n")
    said = result("compare", "one", "two").stdout
    assert said.startswith("one, bert:  local: path mine, sha256 of the weights abababababab\n")
    assert len(pd.read_csv("differences.csv")) == 1 and "not compared" not in said
    Path("results/two/scores.csv").unlink()
    done = result("compare", "one", "two")
    assert done.exit_code == 2 and "there is no results/two/scores.csv yet" in done.stderr


def test_a_run_of_another_project_is_compared_and_checked_where_it_lies(folder, tmp_path_factory, monkeypatch):
    project = tmp_path_factory.mktemp("project")
    monkeypatch.chdir(project)
    other = str(folder / "results/one")
    shutil.copytree(folder / "results/two", "results/one")
    assert result("compare", "one", other).exit_code == 1 and result("compare", other, other).exit_code == 0
    assert "results/one/provenance" in result("check", other).output
    shutil.move(folder / "results/one", folder / "copy")
    assert result("compare", "one", str(folder / "copy")).exit_code == 1
    assert "lies in no folder results/" in fault("check", str(folder / "copy"))
    Path("one").mkdir()  # a folder of the name of a run is not that run
    Path("one.zip").touch()
    assert result("compare", "one", "results/one").exit_code == 0


def test_export(folder):
    assert said("export", "one", "--format", "parquet") == "one-scores.parquet: 2 scores\n"
    assert said("export", "one", "--format", "json", "--metric", "same", "-o", "a.json") == "a.json: 1 scores\n"
    assert "did you mean 'json'" in fault("export", "one", "--format", "jsn")
    Path("results/one/names.csv").write_text("name,kind,attribute,value\nbert,encoder,source,local\n")
    assert said("export", "one", "--format", "every-eval-ever") == "one-every-eval-ever: 2 scores\n"
    (record,) = Path("one-every-eval-ever/data/biasflow-one/local/bert").iterdir()
    assert record.suffix == ".json"
    assert "did you mean 'same'" in fault("export", "one", "--format", "json", "--metric", "sme")


def scores_of_items(folder: Path) -> pd.DataFrame:
    """A finished run of one published model, of which two numbers were printed and a third differs from ours."""
    run = folder / "results/conformance"
    (run / PROVENANCE).mkdir(parents=True)
    (run / PROVENANCE / "a.json").write_text("{}")
    items = pd.DataFrame({"id": ["a", "b", "c", "d"], "log_p_first": [-1.5, -2.5, -3.5, -4.5], "log_p_second": -3.5})
    (run / "readouts/bert/pretrained/all/likelihoods").mkdir(parents=True)
    write_parquet(items, run / "readouts/bert/pretrained/all/likelihoods/pairs.parquet")
    printed = [("preferred", "0.50", "reproduced"), ("not_less", "0.75", "reproduced"), ("other", "1", "off")]
    ledger = pd.DataFrame(printed, columns=["measure", "printed", "status"])
    write_csv(ledger.assign(ours_encoder="bert", row="pairs; -", variant="-", unit=""), run / "ledger.csv")
    return items


def test_a_scorer_with_a_mistake_hears_which_of_its_numbers_differ(folder):
    assert "first: snakemake" in fault("check-scorer", "mine", "--run", "one")
    items = scores_of_items(folder)
    assert said("check-scorer", "mine").startswith("mine: items of 1 models; fill")
    pd.testing.assert_frame_equal(pd.read_csv("mine/bert/pairs.csv"), items)
    assert "column yours is empty" in fault("check-scorer", "mine")
    numbers = pd.read_csv("mine/numbers.csv", dtype=str)
    assert numbers["measure"].tolist() == ["preferred", "not_less"]

    def check(scorer):
        difference = (lambda table: table["log_p_first"] - table["log_p_second"])(pd.read_csv("mine/bert/pairs.csv"))
        values = {name: str(value) for name, value in scorer(difference).items()}
        numbers.assign(yours=numbers["measure"].map(values)).to_csv("mine/numbers.csv", index=False)
        return result("check-scorer", "mine")

    right = check(lambda d: {"preferred": (d > 0).mean(), "not_less": (d >= 0).mean()})
    assert right.exit_code == 0 and right.output.startswith("2 of 2 numbers agree")
    ties = check(lambda d: {"preferred": (d >= 0).mean()})
    assert ties.exit_code == 1
    assert ties.output.splitlines()[0].startswith("bert, pairs; -, preferred: printed 0.50, yours 0.75; off by")
    assert "0 of 1 numbers agree with the printed ones; 1 have no value" in ties.output
    check(lambda d: {"preferred": "half"})
    assert "line 2: column yours: 'half' is no number" in fault("check-scorer", "mine")
    Path("mine/numbers.csv").unlink()
    assert "name a new folder" in fault("check-scorer", "mine")
