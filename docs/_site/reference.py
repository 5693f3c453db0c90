"""The pages of the site that are generated from the code: methods, keys, functions, commands and targets."""

import ast
import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import typer
from typer.cli import get_docs_for_click

import biasflow
from biasflow.base.code import module_file
from biasflow.cli import app
from biasflow.papers.ledger import CAPTIONS
from biasflow.papers.paper import Target, load, load_tables
from biasflow.plan import choices
from biasflow.registry import ERASERS, PACKAGE, PAPERS, STRATEGIES, WITH, module_of

ROOT = Path(__file__).parents[2]
GENERATED = "*This page is generated from the code whenever the site is built.*"
CODE = re.compile(r"(`[^`]*`)")
REPEATED = {  # keys that a schema has again; what stands in their place
    "tasks.<name>.(nli) selections.full.": "The keys of `selections.paper`.",
    "tasks.<name>.(nli) selections.<name>.": "The keys of `selections.paper`, for a selection of yours.",
    "papers.planted.encoder.": "The keys of `encoders.<name>.(pretrain)`.",
    "papers.planted.tasks.<name>.": "The keys of `tasks.<name>`.",
}
GROUPS = {"inside": "bias inside the encoder", "outside": "bias in a fine-tuned model", "cost": "cost"}


def pages() -> dict[str, str]:
    """The text of every generated page, by its path in the site."""
    return {
        "reference/methods.md": methods(),
        "reference/keys.md": keys(),
        "reference/functions.md": functions(),
        "reference/commands.md": commands(),
        "reference/targets.md": targets(),
    }


def methods() -> str:
    """A section for every eraser, with the docstring of its fit, and for every strategy of training."""
    names = [(f"`{name}`", about) for name, about in choices.methods(None)]
    text = f"""# Every method

This page lists every way to debias. A *method* edits the internal states of a model at some *places* with an *eraser*.
A *strategy* debiases the training of a fine-tuned model. The pages [add an eraser](../extending/eraser.md) and [add a
strategy](../extending/strategy.md) show how to add one.

{GENERATED}

## Methods that every configuration has

{markdown_table(("method", "eraser at place"), names)}
## Places

{markdown_table(("place", "meaning"), [(f"`{name}`", about) for name, about in choices.places(None)])}
## Erasers
"""
    for name, entry in ERASERS.items():
        options = [(f"`{key}`", f"`{schema.get('default', 'none')}`") for key, schema in entry.options.items()]
        text += f"\n### `{name}`: {entry.label}\n\n"
        default = "; the first is the default" * (len(entry.fitted_to) > 1)
        text += f"It {entry.meaning}. It can be fitted to {_words(entry.fitted_to)}{default}.\n\n"
        text += f"{markdown_table(('option', 'default'), options)}\n" * bool(options) + _docstring(
            module_of(entry), "fit"
        )
    text += "\n## Strategies of training\n"
    rows = [
        (f"`{name}`", entry.meaning, _words(entry.needs) or "nothing", f"`{module_of(entry)}`")
        for name, entry in STRATEGIES.items()
    ]
    rows.append((f"`{WITH}<method>`", "the method is active in every step of the training, and stays", "nothing", ""))
    text += f"\n{markdown_table(('strategy', 'meaning', 'what a task needs for it', 'module'), rows)}"
    modules = dict.fromkeys(module_of(entry) for entry in STRATEGIES.values())
    return text + "".join(f"\n### Module `{module}`\n\n{_docstring(module)}" for module in modules)


def targets() -> str:
    """A row for every table, figure and page of the papers and of the ledger: its file, and how its caption begins."""
    text = f"""# Which file is which table

This page lists the files of every paper in `results/<run>/`, with the beginning of each caption. A target is called
as its file, without folder and suffix ([how to make one](../howto/papers.md)).

{GENERATED}
"""
    sections: dict[str, Iterable[Target]] = {PAPERS[name].label: load(name).targets for name in PAPERS}
    beginning = re.compile(r".+?(?=(?<!paper)[:;] |(?<=[.?]) (?=[A-Z])|$)")
    for title, listed in (sections | {"The ledger": load_tables(CAPTIONS).values()}).items():
        rows = [(f"`{target.files[0]}`", beginning.match(target.caption)[0]) for target in listed]
        text += f"\n## {title}\n\n{markdown_table(('file', 'what it has'), rows)}"
    return text


def keys() -> str:
    """A table for every section of a configuration, with a row for each key of its schema."""
    text = f"""# Every key of a configuration

This page lists every key, its meaning and its default. [The page on configurations](../configuration.md) has examples.

* `<name>` stands for a name that you choose.
* A word in parentheses says that the key belongs to this source or kind only: `encoders.<name>.(hub) id` is a key of
  encoders with `source: hub`.
* "null" means that the key has no value; the text says what biasflow then does.

{GENERATED}
"""
    sections: dict[str, list[tuple[str, str]]] = {}
    for key, about in choices.keys(None):
        if repeated := next((prefix for prefix in REPEATED if key.startswith(prefix)), None):
            key, about = f"{repeated}*", REPEATED[repeated]
        row = (f"`{key}`", about.replace(" (default: ...)", ""))
        rows = sections.setdefault(key.partition(".")[0], [])
        rows += [row] * (row not in rows[-1:])
    top = [(f"[`{key}`](#{key})" if len(rows) > 1 else f"`{key}`", rows[0][1]) for key, rows in sections.items()]
    text += f"\n## At the top\n\n{markdown_table(('key', 'meaning'), top)}"
    for section, rows in sections.items():
        if len(rows) > 1:
            text += f"\n## `{section}`\n\n{markdown_table(('key', 'meaning'), rows[1:])}"
    return text


def functions() -> str:
    """The signature and docstring of every function that `import biasflow` offers."""
    text = f"# Functions of the library\n\n{GENERATED} [The library](../library.md) shows them in use.\n"
    for name in biasflow.__all__:
        function = getattr(biasflow, name)
        text += f"\n## `biasflow.{name}`\n\n```python\n{name}{_signature(function)}\n```\n"
        text += _fence(inspect.getdoc(function))
    return text


def _signature(function: Callable) -> str:
    """The signature, with the last part of dotted names of types."""
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", str(inspect.signature(function)))


def commands() -> str:
    """The help of the command biasflow and of all its commands."""
    command = typer.main.get_command(app)
    with typer.Context(command, info_name=PACKAGE) as context:
        text = get_docs_for_click(obj=command, ctx=context, name=PACKAGE)
    text = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", text, count=1)  # cut short there, whole below
    return text.replace("\n", f"\n\n[The command](../command.md) says when to use which. {GENERATED}\n", 1)


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


def markdown_table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    header = tuple(header)
    first, *others = (f"| {' | '.join(map(_cell, line))} |\n" for line in [header, *rows])
    return f"{first}|{'---|' * len(header)}\n{''.join(others)}"


def _cell(text: str) -> str:
    """Text that ends no cell and begins no HTML; code in backticks is shown as it is."""
    parts = CODE.split(text.replace("|", "&#124;"))
    return "".join(part if index % 2 else part.replace("<", "&lt;") for index, part in enumerate(parts))
