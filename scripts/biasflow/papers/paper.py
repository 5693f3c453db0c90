"""The paper.yaml of a paper: its tables, figures and pages, what makes them, what of them the ledger compares with
printed numbers, and its citation. Imports no pandas."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TypeVar

import yaml
from jinja2 import StrictUndefined, UndefinedError
from jinja2.nativetypes import NativeEnvironment

from biasflow.base.by_name import module_named
from biasflow.base.errors import BiasflowError
from biasflow.matrix import RUN, Cell
from biasflow.registry import PACKAGE, PAPERS
from biasflow.results.page import first_sentence

HERE = Path(__file__).parent
PAPER, PRINTED = "paper.yaml", "printed.csv"  # the files of a paper's folder
DECIMALS = 4
Kind = TypeVar("Kind")
# Kind of target -> the pattern of its file, and its suffixes in order.
_FILES = {
    "tables": ("tables/{}", (".csv", ".tex", ".html")),
    "figures": ("figures/{}", (".svg", ".pdf")),
    "pages": ("figures/{}", (".html",)),
}
KINDS = tuple(_FILES)
_SHOWN = (".html", ".svg")  # by a browser


@dataclass(frozen=True)
class Target:
    """A table, figure or page: its caption (in the file also a list of sentences, which YAML's anchors let captions
    share), the decimals that LaTeX and HTML show of a table, and of a figure what it cannot be drawn without: cells of
    the plan, each need with a `metric` and maybe some `methods`, or an `option` of the paper that must be set.

    made_by: "<module>.<function>" in the paper's folder, which is called with the run, the `options` (and for a page
    the caption). A table that is our scores beside printed numbers needs no function (`rows.pivoted`): metrics, its
    columns; rows, the keys of scores.csv that tell its rows apart; only, key -> the values that it shows; aggregate,
    what is made of several seeds; printed_in, the table of printed.csv that stands beside it. as_printed: that the
    table is also written in the layout of `printed_in`: the keys that make its `rows` and its `columns`, and maybe
    `only`, key -> value, a `caption` in place of the first sentence of the other one, and `counts`, whether cells say
    of how many values ours is made. kind: of KINDS; name: with the paper's, as files and rules have it."""

    caption: str
    decimals: int = DECIMALS
    made_by: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    needs: Sequence[Mapping[str, object]] = ()
    metrics: Sequence[str] = ()
    rows: Sequence[str] = ()
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    aggregate: str = "mean"
    printed_in: str = ""
    as_printed: Mapping[str, object] = field(default_factory=dict)
    kind: str = "tables"
    name: str = ""

    @property
    def role(self) -> str:
        """The name that a rule gives to its files: a table and a figure may have the same name."""
        return f"{self.kind}_{self.name}"

    @property
    def files(self) -> list[str]:
        """Its files in the folder of a run: tables/<name>.csv, .tex and .html, or figures/<name>.svg and .pdf, or (a
        page) figures/<name>.html; of a table in the paper's layout, too, with _as_printed behind the name."""
        pattern, suffixes = _FILES[self.kind]
        names = [self.name, *([f"{self.name}_as_printed"] if self.as_printed else [])]
        return [pattern.format(name) + suffix for name in names for suffix in suffixes]


@dataclass(frozen=True)
class Compared:
    """A table of ours whose numbers are compared with printed ones. made_by, options: as in `Target`.

    values: column of the table -> the metric of the printed number, or its keys that the column stands for; or a list
    of columns that are called as the metrics. keys: key of a printed number -> the column that has it, where this is
    not called as the key; fixed: key -> its value in the whole table. sd, n, star, at, status: the columns with the
    deviation, the number of values, whether it is significant, the setting and the status (none: ""), where "{}" stands
    for the column of the value; few: that with the reason why ours says nothing, and is not shown. Only rows with a
    printed number beside ours, or all (`everywhere`)."""

    values: Mapping[str, str | Mapping[str, str]] | Sequence[str]
    keys: Mapping[str, str] = field(default_factory=dict)
    made_by: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    sd: str = ""
    n: str = ""
    star: str = ""
    at: str = ""
    few: str = ""
    status: str = "status"
    everywhere: bool = False


@dataclass(frozen=True)
class PaperText:
    """A paper.yaml. tables, figures and pages by name (without the paper's); printed: what its file
    printed.csv holds; encoders: name in this file -> the hub's id and revision that we read it to be, and maybe the
    sha256 of these `weights` and, where tables number them, how many `layers` it has; ledger: what is
    compared with printed numbers, beside the tables without a function; other_data: the function of the run that says
    why its data are others than a number is `of`: word of that column -> reason, "" where they are the same; reads:
    word of that column -> the metrics that read these data; asks: the blocks that it needs (`blocks`); items: files
    that it reads beside those that any paper may (`plan.items`);
    of_metrics: option that its functions have beside its own -> the metric, and the key of this in the configuration;
    words: a key's value, or several with spaces between, -> what the paper calls it; folder: of its files."""

    name: str
    title: str
    citation: str
    tables: Mapping[str, Target]
    figures: Mapping[str, Target]
    pages: Mapping[str, Target]
    printed: str = ""
    doi: str = ""
    url: str = ""
    encoders: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    ledger: Sequence[Compared] = ()
    other_data: str = ""
    reads: Mapping[str, Sequence[str]] = field(default_factory=dict)
    asks: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    items: Sequence[str] = ()
    of_metrics: Mapping[str, Sequence[str]] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    folder: Path = HERE

    @property
    def modules(self) -> list[str]:
        """The full names of the modules whose functions are named."""
        names = [self.other_data, *(entry.made_by for entry in (*self.targets, *self.ledger))]
        return sorted({self.module_of(name) for name in names if name})

    def module_of(self, function: str) -> str:
        """The full name of the module of a function that is named "<module>.<function>"."""
        return f"{package_of(self.name)}.{function.rpartition('.')[0]}"

    def metrics_of(self, of: str) -> list[str]:
        """The metrics that read what numbers are `of`, words of that column."""
        return [metric for word in of.split() for metric in self.reads.get(word, ())]

    def blocks(self, options: Mapping, config: Mapping) -> dict[str, dict]:
        """The blocks that `asks` has, by name, which begins with the paper's: written as under `ask`; without
        `encoders` they are of those of the paper's options; none without encoders, or whose `asked` is false or empty.

        Text in {{ }} is an expression of Jinja of the options, of the whole `config`, of the encoders that are `judged`
        (`brought`), and of `each`, where an entry has `each`, a list, and its `blocks` for each name in
        it. BiasflowError for an option that there is not."""
        values = {**options, "config": config, "judged": brought(self.name, "judged_encoders", options) or []}
        try:
            return dict(_blocks(self.asks, self.name, values))
        except UndefinedError as error:
            raise BiasflowError(f"{self.folder / PAPER}: key 'asks': {error}; mend the expression") from error

    @property
    def targets(self) -> list[Target]:
        """All tables, figures and pages."""
        return [target for kind in KINDS for target in getattr(self, kind).values()]

    def not_drawn(self, options: Mapping, cells: Sequence[Cell]) -> dict[str, str]:
        """Return figure -> why it cannot be drawn, for figures none of whose cells in the plan is run.

        options: the paper's part of the configuration; cells: all of the plan."""
        reasons = {one.name: _lacking(self.name, one.needs, options, cells) for one in self.figures.values()}
        return {name: reason for name, reason in reasons.items() if reason}

    def on_page(self, options: Mapping, cells: Sequence[Cell]) -> dict[str, object]:
        """What the page says of the paper: title, citation, its files that a browser shows, each with the first
        sentence of its caption, and `not_drawn`, whose arguments are the same."""
        not_drawn = self.not_drawn(options, cells)
        files = [
            (first_sentence(target.caption)[0], next(file for file in target.files if file.endswith(_SHOWN)))
            for target in self.targets
            if target.name not in not_drawn
        ]
        return {"title": self.title, "citation": self.citation, "files": files, "not_drawn": not_drawn}


def package_of(name: str) -> str:
    """The full name of the package of a paper or study."""
    return f"{PACKAGE}.{PAPERS[name].module}" if name in PAPERS else f"{__package__}.{name}"


def folder_of(name: str) -> Path:
    """The folder of a paper or study of ours."""
    return HERE.parents[1].joinpath(*package_of(name).split("."))


def needs_module(name: str) -> str:
    """The module in which a paper or study of ours says what it needs of a run, beside its paper.yaml; "" without."""
    return f"{package_of(name)}.plan" if name in PAPERS and (folder_of(name) / "plan.py").is_file() else ""


def brought(name: str, part: str, *known: Mapping) -> object:
    """What the function `part` of a paper's `needs_module` returns of the paper's options, and for most of the whole
    configuration; None without one.

    blocks: in place of the `asks` of paper.yaml; encoders and tasks: beside those of the configuration, by name, with
    their keys; judged_encoders: those on which measures are judged; evidence: those whose measures are calibrated;
    faults: what is wrong with the options."""
    module = needs_module(name)
    function = getattr(module_named(module), part, None) if module else None
    return function(*known) if function else None


_EXPRESSIONS = NativeEnvironment(undefined=StrictUndefined)
# The names in a list, each written as a pattern says ("with-{}"); the untouched model remains what it is.
_EXPRESSIONS.filters["named"] = lambda names, pattern: [
    name if name == "none" else pattern.format(name) for name in names
]


def _blocks(asks: Mapping[str, Mapping], paper: str, values: Mapping) -> Iterator[tuple[str, dict]]:
    """The blocks of `PaperText.blocks`, in the order of `asks`; values: what expressions may name."""
    for name, about in asks.items():
        if "each" in about:
            for each in _filled(about["each"], values):
                yield from _blocks(about["blocks"], paper, {**values, "each": each})
            continue
        block = _filled({"asked": True, "encoders": "{{ encoders }}", **about}, values)
        if block.pop("asked") and block["encoders"]:
            yield "-".join(filter(None, [paper, _filled(name, values)])), block


def _filled(value: object, values: Mapping) -> object:
    """A value of paper.yaml with its expressions computed."""
    if isinstance(value, Mapping):
        return {key: _filled(part, values) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, values) for part in value]
    if not isinstance(value, str) or "{{" not in value:
        return value
    result = _EXPRESSIONS.from_string(value).render(values)
    return str(result) if isinstance(result, StrictUndefined) else result  # whose text is the error


def _lacking(paper: str, needs: Sequence[Mapping], options: Mapping, cells: Sequence[Cell]) -> str:
    """Why one of the needs is not met, or ""."""
    for need in needs:
        if "option" in need and not options.get(need["option"]):
            return f"not asked for: the key papers.{paper}.{need['option']} is not set"
        if metric := need.get("metric"):
            methods = need.get("methods")
            fitting = [cell for cell in cells if cell.metric == metric and (not methods or cell.method in methods)]
            if not fitting:
                return f"not asked for: {metric}" + (f" under {' or '.join(methods)}" if methods else "")
            if all(cell.status != RUN for cell in fitting):
                return f"not run: {fitting[0].reason}"
    return ""


def load_tables(path: Path) -> dict[str, Target]:
    """Read a file of tables alone: name -> target. BiasflowError for an unknown key or an empty caption."""
    return {name: _target(path, "tables", name, name, entry) for name, entry in _content(path).items()}


def _content(path: Path) -> dict:
    return yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader)


def load(name: str, folder: str | Path | None = None) -> PaperText:
    """Read the paper.yaml of a paper, in its folder or, of ours, in that of its package. BiasflowError for a missing
    file, an unknown key, or an empty caption."""
    path = Path(folder or folder_of(name), PAPER)
    if not path.is_file():
        raise BiasflowError(f"there is no paper {name!r}: no file {path}")
    text = {kind: {} for kind in KINDS} | _content(path)
    known = [field.name for field in fields(PaperText) if field.name not in ("name", "folder")]
    for key in sorted(set(text) - set(known)):
        raise BiasflowError(f"{path}: unknown key {key!r}; known: {', '.join(known)}")
    for kind in KINDS:
        entries = {target: (f"{kind}.{target}", f"{name}_{target}", entry) for target, entry in text[kind].items()}
        text[kind] = {target: _target(path, kind, *entry) for target, entry in entries.items()}
        for target, about in text[kind].items():
            if not about.made_by and not (kind == "tables" and about.rows and about.metrics):
                raise BiasflowError(f"{path}: key '{kind}.{target}': give made_by, or for a table metrics and rows")
    text["ledger"] = [_read(Compared, f"{path}: key 'ledger'", entry) for entry in text.get("ledger", ())]
    return _read(PaperText, f"{path}: a key is missing", {"name": name, "folder": path.parent, **text})


def _read(cls: type[Kind], where: str, entry: Mapping, **more: str) -> Kind:
    try:
        return cls(**entry, **more)
    except TypeError as error:
        raise BiasflowError(f"{where}: {error}") from error


def _target(path: Path, kind: str, key: str, name: str, entry: Mapping) -> Target:
    target = _read(Target, f"{path}: key {key!r}", entry, kind=kind, name=name)
    if not target.caption:
        raise BiasflowError(f"{path}: key {key!r}: the caption is empty")
    return target if isinstance(target.caption, str) else replace(target, caption=" ".join(target.caption))
