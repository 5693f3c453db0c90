"""The pages of the site that are generated from the code: measures, methods, keys, functions and commands."""

import ast
import inspect
import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import typer
from typer.cli import get_docs_for_click

import biasflow
from biasflow.base.code import module_file
from biasflow.cli import app
from biasflow.plan import choices
from biasflow.plan.cells import name_of_head
from biasflow.registry import ERASERS, METRICS, PACKAGE, READOUTS, STRATEGIES, WITH, Metric, Strategy, module_of

ROOT = Path(__file__).parents[2]
GENERATED = "*This page is generated from the code whenever the site is built.*"
CODE = re.compile(r"(`[^`]*`)")
DIRECTIONS = {"low": "lower", "high": "higher", "neutral": "nearer to neutral"}
GROUPS = {"inside": "bias inside the encoder", "outside": "bias in a fine-tuned model", "cost": "cost"}


def pages() -> dict[str, str]:
    """The text of every generated page, by its path in the site."""
    return {
        "reference/measures.md": measures(),
        "reference/methods.md": methods(),
        "reference/keys.md": keys(),
        "reference/functions.md": functions(),
        "reference/commands.md": commands(),
    }


def measures() -> str:
    """A section for every metric of the registry: what it needs, and a row for each of its measures."""
    text = f"""# Every measure

{GENERATED} A *metric* scores what a readout has read, and gives one or more *measures*. The measures below are the
columns of `matrix.csv`. The *neutral value* is the value without bias, or without cost. `ask` takes the name of a
metric. Every column of `scores.csv`, and what else a metric writes, is on [the pages of scores](../scores/index.md).
"""
    return text + "".join(_metric(name, entry) for name, entry in METRICS.items())


def _metric(name: str, entry: Metric) -> str:
    models = " and ".join(["pre-trained"] * entry.pretrained + ["fine-tuned"] * entry.finetuned)
    lines = [f"\n## `{name}`: {entry.label}\n", f"This metric measures {models} models."]
    if entry.readout in READOUTS:
        readout = READOUTS[entry.readout]
        lines += [f"Its readout is `{entry.readout}` ({readout.label})."]
        lines += [f"The model needs a {name_of_head(readout.head)} head."] * (readout.head != "none")
    lines += [f"What is known against it: {entry.criticism.rstrip('.')}."] * bool(entry.criticism)
    rows = [
        (
            f"`{key}`",
            measure.label,
            GROUPS[measure.group],
            f"{measure.neutral:g}",
            DIRECTIONS[measure.better],
            " ".join(f"`{word}`" for word in (measure.part, measure.variant) if word != "-"),
        )
        for key, measure in entry.measures.items()
    ]
    header = (
        "measure",
        "name in print",
        "what it measures",
        "neutral value",
        "less biased, or cheaper",
        "part, variant",
    )
    table = _table(header, rows) if rows else "It has no column in the matrix.\n"
    return "\n".join([*lines, "", table, _docstring(module_of(entry))])


def methods() -> str:
    """A section for every eraser, with the docstring of its fit, and for every strategy of training."""
    names = [(f"`{name}`", about) for name, about in choices.methods(None)]
    text = f"""# Every method

{GENERATED} A *method* edits the states of a model at some places by an *eraser*; a *strategy* debiases the training
of a fine-tuned model. [Extending](../extending/eraser.md) shows how to add one.

## Methods that every configuration has

{_table(("method", "eraser at place"), names)}
## Places

{_table(("place", "meaning"), [(f"`{name}`", about) for name, about in choices.places(None)])}
## Erasers
"""
    for name, entry in ERASERS.items():
        options = [(f"`{key}`", f"`{schema.get('default', 'none')}`") for key, schema in entry.options.items()]
        text += f"\n### `{name}`: {entry.label}\n\n"
        text += f"It can be fitted to {_words(entry.fitted_to)}; the first of these is the default.\n\n"
        text += f"{_table(('option', 'default'), options)}\n" * bool(options) + _docstring(module_of(entry), "fit")
    text += "\n## Strategies of training\n"
    text += "".join(_strategy(name, entry) for name, entry in STRATEGIES.items())
    return f"{text}\n### `{WITH}<method>`\n\nThe method is active in every forward pass of the training, and stays.\n"


def _strategy(name: str, entry: Strategy) -> str:
    kinds = f"tasks of kind {_words(entry.kinds)}" if entry.kinds else "every task"
    return f"\n### `{name}`: {entry.label}\n\nIt is for {kinds}.\n\n{_docstring(module_of(entry))}"


def keys() -> str:
    """A table for every section of a configuration, with a row for each key of its schema."""
    text = f"""# Every key of a configuration

{GENERATED} `<name>` stands for a name of yours. A word in parentheses says that the key belongs to this kind or source
alone: `encoders.<name>.(hub) id` is a key of encoders with `source: hub`. [The page on
configurations](../configuration.md) has examples.
"""
    for section, rows in groupby(choices.keys(None), key=lambda row: row[0].partition(".")[0]):
        text += f"\n## `{section}`\n\n{_table(('key', 'meaning'), [(f'`{key}`', about) for key, about in rows])}"
    return text


def functions() -> str:
    """The signature and docstring of every function that `import biasflow` offers."""
    text = f"# Functions of the library\n\n{GENERATED} [The library](../library.md) shows them in use.\n"
    for name in biasflow.__all__:
        function = getattr(biasflow, name)
        text += f"\n## `biasflow.{name}`\n\n```python\n{name}{inspect.signature(function)}\n```\n"
        text += _fence(inspect.getdoc(function))
    return text


def commands() -> str:
    """The help of the command biasflow and of all its commands."""
    command = typer.main.get_command(app)
    with typer.Context(command, info_name=PACKAGE) as context:
        text = get_docs_for_click(obj=command, ctx=context, name=PACKAGE)
    return text.replace("\n", f"\n\n{GENERATED} [The command](../command.md) says when to use which.\n", 1)


def _docstring(module: str, function: str = "") -> str:
    """What a module, or a function in it, says of itself, and which file it is in; read without importing it."""
    file = module_file(module, ROOT)
    node = ast.parse(file.read_text(encoding="utf-8"))
    if function:
        node = next(part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == function)
    return _fence(ast.get_docstring(node)) + f"\nSource: `{file.relative_to(ROOT)}`\n"


def _fence(docstring: str) -> str:
    return f"```text\n{docstring}\n```\n"


def _words(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [tuple(header)]
    lines += [("---",) * len(lines[0]), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    """Text that ends no cell and begins no HTML; code in backticks is shown as it is."""
    parts = CODE.split(text.replace("|", "&#124;"))
    return "".join(part if index % 2 else part.replace("<", "&lt;") for index, part in enumerate(parts))
