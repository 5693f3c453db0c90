"""The whole workflow on a tiny encoder, run once: its results, re-runs that follow content, determinism, interrupts."""

import re
import shutil
from urllib.parse import unquote, urlsplit

import pandas as pd

from biasflow.registry import JOBS_OF_READOUTS, rule_of
from biasflow.results.comparison import CHANGED, DISTANCE_CHANGED
from biasflow.results.scores import read_scores
from tests.golden.tiny import differences
from tests.unit.test_docs import SCORES, documented_metrics, is_documented
from tests.warm import warm
from tests.workflow.conftest import Project

RESULTS = "results/tiny"
TABLES = f"{RESULTS}/tables"
READS = {rule_of(name) for name in JOBS_OF_READOUTS}
TRAINS = {"pretrain", "continue_encoder", "finetune_nli", "finetune_glue", "finetune_occupation"}
DEAR = READS | TRAINS | {"fit_methods"}


def table(project: Project, name: str) -> pd.DataFrame:
    return pd.read_csv(project.folder / TABLES / f"{name}.csv", keep_default_na=False)


def scores(project: Project) -> pd.DataFrame:
    return read_scores(project.folder / RESULTS / "scores.csv")


def test_every_score_of_the_first_version_is_there_with_its_value(finished):
    found = differences(scores(finished))
    # One of 80 comparisons of two probabilities is a tie to seven digits: batches of another size decide it.
    ties = (found["metric"] == "stereotype_score") & ((found["value"] - found["value_now"]).abs() <= 1 / 80 + 1e-9)
    assert found[~ties].empty and ties.sum() <= 2, found.to_string()


def test_every_metric_dataset_and_variant_of_a_run_is_documented(finished):
    found = scores(finished)
    changes = re.compile(f"({DISTANCE_CHANGED}|{CHANGED})$")  # which every metric may have
    others = set(found["metric"]) - documented_metrics()
    assert {changes.sub("", name) for name in others} - documented_metrics() == set()
    assert [name for name in sorted(set(found["variant"]) - {"-"}) if not is_documented(name)] == []
    heads = {name.partition("frozen-")[0] or "frozen-<strategy>" for name in found["head"]}
    assert [name for name in sorted(heads) if f"`{name}`" not in SCORES] == []


def test_new_methods_are_in_every_place_of_the_matrix(finished):
    matrix = pd.read_csv(finished.folder / RESULTS / "matrix.csv", keep_default_na=False)
    for method in ("leace", "mean-projection"):
        own = matrix[(matrix["method"] == method) & (matrix["value"] != "")]
        assert {"-", "nli", "bios"} <= set(own["task"])
    assert {"with-hard", "with-densray"} <= set(matrix.loc[matrix["in_training"] == "yes", "strategy"])
    assert (matrix.loc[matrix["value"] == "", "reason"] != "").all()


def test_papers_have_the_rows_of_what_they_asked_for(finished):
    sizes = table(finished, "dawkins2024_table7").groupby("interventions", sort=False).size().to_dict()
    assert sizes["after fine-tuning"] == sizes["after fine-tuning, head retrained"] == 76
    assert sizes["during fine-tuning"] == 1
    assert set(table(finished, "liang2020_glue")["strategy"]) == {"in_training", "at_evaluation"}
    own = table(finished, "liang2020_chinese").set_index("encoder").loc["tiny-chinese"]
    assert len(own) == 7 and set(own["status"]) == {"run"}
    p = own[["p_he", "p_she"]].astype(float)
    assert ((p > 0) & (p < 0.01)).all(axis=None)  # hardly trained: about one in the number of pieces
    for name, measure in (("table3", "Accuracy"), ("table5", "Accuracy"), ("table7", "F1")):
        rows = table(finished, f"orgad2022_{name}")
        ours = rows[(rows["encoder"] == "tiny-bert") & (rows["measure"] == measure)]
        assert "none" in set(ours["strategy"]) and ours["mean"].astype(float).between(0, 1).all()
    for name in ("table1", "table1b"):
        assert {"random", "pretrained", "none"} <= set(table(finished, f"orgad2022_{name}")["model"])


def test_every_table_in_three_formats_and_every_figure_in_two(finished):
    tables = sorted((finished.folder / TABLES).glob("*.csv"))
    assert len(tables) >= 34
    for path in tables:
        assert path.with_suffix(".tex").stat().st_size > 0
        assert path.with_suffix(".html").stat().st_size > 0
    figures = sorted((finished.folder / RESULTS / "figures").glob("*.svg"))
    assert len(figures) >= 7
    beside = [path.with_suffix(".png" if path.stem.startswith("page_") else ".pdf") for path in figures]
    assert all(path.stat().st_size > 1000 for path in beside)


def test_every_result_has_its_provenance_and_every_job_its_log(finished):
    results = finished.folder / RESULTS
    for path in [*results.glob("tables/*.csv"), *results.glob("scores/**/*.csv"), results / "scores.csv"]:
        record = finished.record(str(path.relative_to(finished.folder)))
        assert record["inputs"] and record["wall_seconds"] >= 0
        assert (results / f"provenance/shared/{record['start']}.json").is_file()
    encoder = finished.record(f"{RESULTS}/encoders/tiny-bert")
    assert (encoder["device"], encoder["deterministic"], encoder["seed"]) == ("cpu", True, 0)
    assert encoder["threads"] >= 1
    records = [path for path in results.glob("provenance/**/*.json") if "shared" not in path.parts]
    sizes = {path.stat().st_size: path for path in records}
    assert max(sizes) <= 3000, sizes[max(sizes)]
    assert len(list(results.glob("logs/**/*.log"))) >= 80
    assert not (results / "checkpoints/models/tiny-bert/nli/plain/seed0").exists()


def test_page_tables_and_figures_open_without_the_rest_of_the_run_and_without_a_network(finished):
    results = (finished.folder / RESULTS).resolve()
    zipped = {path for pattern in ("*.*", "tables/*", "figures/*") for path in results.glob(pattern)}  # docs/command.md
    pages = [path for path in zipped if path.suffix == ".html"]
    assert {"index.html", "matrix.html", "dawkins2024_table7.html"} < {path.name for path in pages}
    for path in pages:
        for tag, address in re.findall(r'<([a-z]+)\b[^>]*? (?:src|href)="([^"]*)"', path.read_text("utf-8")):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                assert tag == "a" or parts.scheme == "data", f"{path.name} fetches {address}"
            elif parts.path:
                assert (path.parent / unquote(parts.path)).resolve() in zipped, f"{path.name} links to {address}"


def test_a_second_run_has_nothing_to_do_and_touching_files_changes_nothing(run):
    assert run.jobs() == {}
    for pattern in ("scripts/**/*.py", "scripts/**/*.csv", "rules/*.smk"):
        for path in run.folder.glob(pattern):
            path.touch()
    assert run.jobs() == {}


def comment(project: Project, *patterns: str) -> None:
    """Append a comment to every module of these patterns, below scripts/biasflow."""
    for pattern in patterns:
        paths = [path for path in (project.folder / "scripts/biasflow").glob(pattern) if path.name != "__init__.py"]
        assert paths, pattern
        for path in paths:
            path.write_text(path.read_text() + "\n# edited\n")


def test_edited_formulas_results_and_papers_train_fit_and_read_nothing(run):
    comment(run, "metrics/*.py", "results/*.py", "papers/**/*.py", "registry.py")
    jobs = run.jobs()
    assert {"score", "matrix", "paper_liang2020", "paper_dawkins2024", "paper_orgad2022"} <= set(jobs)
    assert not DEAR & set(jobs)


def test_an_edited_eraser_fits_anew_only_where_it_is_used(run):
    comment(run, "erasers/conceptor.py")
    jobs = run.jobs()
    used = {
        path.name
        for path in (run.folder / RESULTS / "methods").rglob("*.safetensors")
        if b'"eraser": "conceptor"' in path.read_bytes()[:20000] or b"conceptor" in path.read_bytes()[:20000]
    }
    assert used and jobs["fit_methods"] >= 1
    assert jobs["finetune_glue"] == 1  # the training with the conceptor active
    assert not {"pretrain", "finetune_nli", "finetune_occupation", "heads_documents"} & set(jobs)
    for rule, made in (("fit_methods", "methods/**/*.safetensors"), ("read_together", "readouts/**/together")):
        assert jobs[rule] < len(list((run.folder / RESULTS).glob(made)))


def test_what_is_made_again_is_the_same_to_the_byte(finished, run):
    """The methods and readouts of one block of an encoder and of one of its models, and the tables of one paper. The
    processes have another order of sets."""
    warm.cache_clear()
    results, block, model = run.folder / RESULTS, "tiny-bert/pretrained/inside", "tiny-bert/bios/plain/seed0"
    gone = [f"methods/{block}*", f"readouts/{block}", f"scores/{block}*", f"readouts/{model}", f"scores/{model}"]
    for path in [path for pattern in (*gone, "scores.csv", "tables/liang2020_*.csv") for path in results.glob(pattern)]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    run.succeeds()
    first = finished.folder / RESULTS
    results_of = [path for path in first.rglob("*.csv") if "data" not in path.parts]
    names = [path.relative_to(first) for path in [*results_of, *first.glob("figures/*.svg")]]
    assert [str(name) for name in names if (first / name).read_bytes() != (results / name).read_bytes()] == []


def test_the_report_builds(run):
    run.succeeds("--report", "report.html")
    page = (run.folder / "report.html").read_text()
    assert "dawkins2024_table7" in page
    assert "show(file('index.html'))" in page and "postMessage" in (run.folder / RESULTS / "index.html").read_text()
