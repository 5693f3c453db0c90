"""The documentation agrees with the code: names, columns, targets, files, links and configurations that it shows."""

import re
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

from biasflow import registry
from biasflow.encoders.described import COLUMNS as ENCODERS
from biasflow.metrics.glue import OFFICIAL
from biasflow.metrics.training import TRAININGS
from biasflow.overview import calibrated
from biasflow.overview.calibrated import LABELS
from biasflow.papers.ledger import CAPTIONS
from biasflow.papers.paper import load, load_tables
from biasflow.plan.cells import plan
from biasflow.plan.configuration import load_schema, resolve
from biasflow.plan.listing import CELLS, NAMES
from biasflow.plan.setup import Setup
from biasflow.registry import ERASERS, METRICS, PAPERS, READOUTS, TASKS
from biasflow.results import matrix, scores
from biasflow.results.comparison import CHANGED
from tests.golden.tiny import expected

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "config/README.md", ROOT / "results/README.md", *DOCS]
SCORES = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs/scores").glob("*.md")))
SCHEMA = load_schema()
FAMILY = re.compile(r"^## `(\w+)`$", re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def rows(text: str) -> list[list[str]]:
    """The cells of every row of every Markdown table."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


def families() -> dict[str, list[list[str]]]:
    """Family -> the rows of its table in docs/scores."""
    return {name: [row for row in rows(section(f"`{name}`")) if "`" in row[0]] for name in re.findall(FAMILY, SCORES)}


def section(title: str) -> str:
    """The text below a heading of the second level in docs/scores, up to the next section or page."""
    return re.split(r"\n##? ", SCORES.split(f"\n## {title}\n")[1])[0]


def is_documented(name: str) -> bool:
    """Whether docs/scores has a name, or all the parts that a longer one is made of ("released-bits" of both)."""
    cuts = [place for place, letter in enumerate(name) if letter == "-"]
    return f"`{name}`" in SCORES or any(is_documented(name[:cut]) and is_documented(name[cut + 1 :]) for cut in cuts)


def documented_metrics() -> set[str]:
    return {name for table in families().values() for row in table for name in CODE.findall(row[0])}


def known_metrics() -> set[str]:
    """What the registry names, and what the tiny run once wrote."""
    named = {name for entry in METRICS.values() for name in entry.measures} | set(expected()["metric"])
    return named | {name for names in OFFICIAL.values() for name in names}


def test_every_metric_is_documented():
    assert known_metrics() - documented_metrics() == set()


def test_every_metric_that_is_documented_is_in_the_code():
    """As a whole, or as a prefix of the family and the rest; changes are made of every metric alike."""
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "scripts/biasflow/metrics").glob("*.py"))
    names = {name.removesuffix(CHANGED) for name in documented_metrics()}
    assert [name for name in sorted(names) if name not in code and name.partition("_")[2] not in code] == []


def test_every_family_has_its_readout_and_the_measures_of_the_matrix_in_bold():
    assert sorted(families()) == sorted(METRICS)
    for family, entry in METRICS.items():
        text = section(f"`{family}`")
        assert f"`{entry.readout}`" in text or entry.readout not in READOUTS, family
        bold = {name: row for row in families()[family] for name in re.findall(r"\*\*`([^`]+)`\*\*", row[0])}
        assert set(bold) == set(entry.measures), family
        for name, measure in entry.measures.items():
            row = bold[name]
            neutral, better = re.fullmatch(r"([\d./]+).*, (\w+)", row[2]).groups()
            assert (float(Fraction(neutral)), better) == (measure.neutral, measure.better), name
            for key in {measure.part, measure.variant} - {scores.NA}:
                assert f"**`{key}`**" in row[3], name


@pytest.mark.parametrize(
    ("title", "columns"),
    [
        ("Columns of scores.csv", scores.COLUMNS),
        ("Columns of matrix.csv", matrix.COLUMNS),
        ("Columns of plan.csv", CELLS),
        ("Columns of names.csv", NAMES),
        ("Columns of encoders.csv", ENCODERS),
        ("Columns of trainings.csv", [*scores.MODEL, *TRAININGS]),
    ],
)
def test_every_column_is_documented(title, columns):
    text = section(title)
    first = " ".join(row[0] for row in rows(text)) or text
    assert [column for column in columns if f"`{column}`" not in first] == []


def made() -> set[str]:
    """The first file of every target of a paper, and of the ledger of all."""
    targets = {target.files[0] for paper in map(load, PAPERS) for target in paper.targets}
    return targets | {f"tables/{name}.csv" for name in load_tables(CAPTIONS)}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_targets_that_are_shown_exist(page):
    """results/<some run>/tables/... anywhere in the documentation."""
    known = {target.rpartition(".")[0] for target in made()}
    shown = re.findall(r"\b((?:tables|figures)/\w+)\.(?:csv|html|tex|svg|pdf)", page.read_text(encoding="utf-8"))
    of_any_run = ("tables/matrix", "tables/power", "tables/agreement")
    assert [target for target in shown if target not in known and not target.startswith(of_any_run)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_and_files_that_are_named_exist(page):
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
    shown = re.findall(r"^# (scripts/\S+)$", text, re.MULTILINE)  # whole files, to be written
    named = re.findall(r"(?<![\w/<>])((?:config|scripts|rules|profiles|envs|docs|tests)/[\w./-]*\w)(?![\w/]*<)", text)
    assert [name for name in named if not (ROOT / name).exists() and name not in shown and "yours" not in name] == []


def known_kinds(shown: dict) -> bool:
    """Whether all its tasks are of kinds that there are, not of one that the page shows how to add."""
    return {task["kind"] for task in shown.get("tasks", {}).values()} <= set(TASKS)


def examples() -> list[tuple[str, dict]]:
    """The configurations in fenced blocks: what has only keys of the schema."""
    found = []
    for page in PAGES:
        for number, text in enumerate(re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)):
            shown = yaml.safe_load(text)
            if isinstance(shown, dict) and set(shown) <= set(SCHEMA["properties"]) and known_kinds(shown):
                found.append((f"{name_of(page)}-{number}", shown))
    return found


@pytest.mark.parametrize("shown", [pytest.param(shown, id=name) for name, shown in examples()])
def test_configurations_that_are_shown_plan(shown):
    """Each laid over config/mine.yaml, as its reader would."""
    config = yaml.safe_load((ROOT / "config/mine.yaml").read_text(encoding="utf-8"))
    config["encoders"]["mine"]["path"] = "FOLDER"
    for key, value in shown.items():
        config[key] = {**config[key], **value} if isinstance(config.get(key), dict) else value
    resolved = resolve(config, SCHEMA)
    asked = list(shown.get("ask", {}))
    cells = plan(Setup(resolved)).cells
    assert {cell.status for cell in cells if cell.block in asked} <= {"run"}


def test_entries_of_the_registry_that_are_shown_are_whole_and_none_is_without_its_meaning():
    pages = {page: (ROOT / f"docs/extending/{page}.md").read_text(encoding="utf-8") for page in ("metric", "eraser")}
    (metric,) = re.findall(r"```yaml\n(.*?)```", pages["metric"], re.DOTALL)
    ((name, about),) = yaml.safe_load(metric).items()
    assert name in registry.metric_of(about).measures  # TypeError where something lacks
    for entry in re.findall(r"^\+    (\"\w+\": Eraser\(.*?^\+    \)),$", pages["eraser"], re.DOTALL | re.MULTILINE):
        eval(f"{{{entry}}}".replace("\n+", "\n"), vars(registry))
    with pytest.raises(TypeError, match="meaning"):
        registry.Eraser("label", module="erasers.yours")
    with pytest.raises(TypeError, match="meaning"):
        registry.metric_of(about | {"measures": {name: {"label": "l", "neutral": 0, "better": "low", "group": "cost"}}})
    entries = [*ERASERS.values(), *(measure for entry in METRICS.values() for measure in entry.measures.values())]
    assert all(re.match(r"[a-zC]\S* \S", entry.meaning) for entry in entries)


def test_the_eraser_that_is_shown_is_that_of_the_package():
    page = (ROOT / "docs/extending/eraser.md").read_text(encoding="utf-8")
    files = re.findall(r"^\+\+\+ b/(\S+)\n((?:[+@].*\n)+?)(?=\+\+\+|```)", page, re.MULTILINE)
    assert len(files) == 2
    for name, shown in files:
        code = (ROOT / name).read_text(encoding="utf-8")
        lines = [line.removeprefix("+") for line in shown.splitlines() if line[0] == "+" and "[...]" not in line]
        assert [line for line in lines if f"{line}\n" not in code] == []


def test_configurations_are_listed():
    text = (ROOT / "config/README.md").read_text(encoding="utf-8")
    configurations = [path.name for path in (ROOT / "config").glob("*.yaml")]
    assert len(configurations) >= 5
    assert [name for name in configurations if f"`{name}`" not in text] == []
    assert [key for key in SCHEMA["properties"] if f"`{key}`" not in text] == []


def test_the_bibtex_cites_what_the_citation_file_cites():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    bibtex = (ROOT / "docs/citation.bib").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"{{{cited['version']}}}" in bibtex and cited["version"] == project["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {project['version']} ({cited['date-released']})\n" in changes
    assert re.findall(r"doi = {(.+)}", bibtex) == [reference["doi"] for reference in cited["references"]]


def test_registries_are_listed_in_the_documentation():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for known in (ERASERS, TASKS, METRICS, PAPERS):  # strategies say themselves what they mean
        assert [name for name in known if f"`{name}`" not in text and f"`{name.replace('_', '-')}`" not in text] == []


def test_published_models_are_counted_as_they_are_stored():
    page = (ROOT / "docs/conformance.md").read_text(encoding="utf-8")
    shown = rows(re.split(r"\n## ", page.split("\n## How published models score\n")[1])[0])[2:]
    stored = {LABELS[card]: of_card for card, of_card in calibrated.stored("published").groupby("card")}
    assert len(shown) == len(stored)
    for named, models, lowest, highest, beyond in shown:
        label, neutral = re.match(r"(.+) \(([\d.]+)\)", named).groups()
        scores_of_models = stored[label]
        assert [models, lowest, highest] == [
            str(len(scores_of_models)),
            *(f"{value:.2f}" for value in (scores_of_models["value"].min(), scores_of_models["value"].max())),
        ]
        assert int(beyond.split()[0]) == (scores_of_models["low"] > float(neutral)).sum()


def test_intervals_of_the_study_are_among_the_stored_ones():
    text = (ROOT / "docs/findings/planted.md").read_text(encoding="utf-8")
    shown = re.findall(r"(-?[\d.]+) \[(-?[\d.]+), (-?[\d.]+)\]", text.split("## Trained")[1].split("## Other words")[0])
    effects, erased = calibrated.stored("planted_two_by_two"), calibrated.stored("planted_erased")
    of_task, of_encoder = (
        effects[[f"{of}_effect", f"{of}_low", f"{of}_high"]].to_numpy() for of in ("task", "pretraining")
    )
    stored = [*of_task, *of_encoder, *erased[["closed", "low", "high"]].to_numpy()]
    assert len(shown) >= 3
    for triple in shown:
        assert any(all(is_rounded(*pair) for pair in zip(triple, row, strict=True)) for row in stored), triple


def is_rounded(printed: str, value: float) -> bool:
    return f"{value:.{len(printed.partition('.')[2])}f}" == printed


def test_files_of_the_catalogue_are_counted():
    files = yaml.safe_load((ROOT / "scripts/biasflow/data/corpora.yaml").read_text(encoding="utf-8"))["files"]
    unknown = sum(not about["sha256"] for about in files.values())
    assert f"{unknown} of the {len(files)} files" in (ROOT / "docs/limits/index.md").read_text(encoding="utf-8")
