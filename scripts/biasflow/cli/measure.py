"""The first page of an encoder."""

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from biasflow.base.errors import BiasflowError, nearest
from biasflow.base.names import HUB, PINNED
from biasflow.base.shipped import of_workflow
from biasflow.cli.app import app, configuration, lay_over, say, snakemake_command

FIRST, WHOLE, DECISIONS = "config/mine.yaml", "config/whole.yaml", "config/decisions.yaml"
TASK = "decisions"  # the task and the block of config/decisions.yaml
_SAME = ("run", "encoder", "hub")  # keys that a file has for the same models
USUAL = {"text": ("text",), "label": ("label",), "group": ("gender", "sex")}  # names of columns, without capitals
OPTION = {"text": "text", "label": "label", "group": "gender"}  # --<...>-column names it
TEXT = """\
# Made by `biasflow measure`; keys of yours may follow (config/README.md). Started by
#   {command}
run: {run}
{keys}
"""


@app.command()
def measure(
    encoders: Annotated[
        list[str],
        typer.Argument(
            metavar="FOLDER|NAME[@REVISION]...",
            help="folders of encoders, names or pages on the hub, or a .txt file with one a line; several are compared",
        ),
    ],
    whole: Annotated[bool, typer.Option("--whole", help="all items of the tests, and methods in all layers")] = False,
    cores: Annotated[int, typer.Option(min=1, help="how many cores to use")] = 2,
    run: Annotated[str, typer.Option(help="the name of the run, and of its folder in results/")] = "mine",
    mirror: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="take the tests from this folder, without a network")
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="a table of texts, on which the folder's own classifier decides"),
    ] = None,
    text_column: Annotated[str, typer.Option(help="its column of texts")] = "text",
    label_column: Annotated[str, typer.Option(help="its column of the right labels, if it has one")] = "label",
    gender_column: Annotated[str, typer.Option(help="its column of genders, if it has one")] = "gender",
    unlock: Annotated[bool, typer.Option("--unlock", help="remove the lock of a killed run, and measure nothing")] = (
        False
    ),
) -> None:
    """Measure how biased an encoder is, and what helps at which price; of several, which is more biased.

    With --texts a classifier: how many of its decisions change when he is she, and the gaps between genders.
    Makes the page results/RUN/index.html: writes the configuration RUN.yaml and starts snakemake with it. If it was
    stopped, it goes on where it was."""
    from biasflow.base.command_line import WRITTEN

    file = Path(f"{run}.yaml")
    sources = [_source(encoder, file) for encoder in _named(encoders)]
    keys: dict[str, object] = {**_keys([source[:2] for source in sources])}
    if bases := {of if isinstance(of, str) else of["id"]: base for _, of, base in sources if base}:
        keys["base_models"] = bases
    keys |= _of_texts(texts, {"text": text_column, "label": label_column, "group": gender_column}) if texts else {}
    files = list(map(of_workflow, [DECISIONS] if texts else [FIRST, *[WHOLE] * whole]))
    settings = [f"mirror={mirror}"] * (mirror is not None)
    given = ["--configfile", *files, str(file), *["--config"] * len(settings), *settings]
    words = snakemake_command("--cores", str(cores), *given)
    command = shlex.join(words)
    lines = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items())
    text = TEXT.format(command=command, run=run, keys=lines)
    written = _write(file, text, command, {"run": run, **keys}, files, settings)
    say(f"starting: {command}")
    environment = os.environ | {WRITTEN: str(file) * written}  # a refusal removes it (plan.start)
    os.execve(sys.executable, [sys.executable, "-m", *words, *["--unlock"] * unlock], environment)


def _named(encoders: list[str]) -> list[str]:
    """The encoders that are named, one by one or in a text file."""
    if not encoders[0].endswith(".txt"):
        return list(dict.fromkeys(encoders))
    from biasflow.base.files import read_text

    lines = [line.strip() for line in read_text(encoders[0]).splitlines()]
    return list(dict.fromkeys(line for line in [*lines, *encoders[1:]] if line and not line.startswith("#")))


def _keys(sources: list[tuple[str, str | dict]]) -> dict[str, object]:
    """The keys of a configuration that take these encoders: a value for one, lists for several."""
    if len(sources) == 1:
        return dict(sources)
    found: dict[str, list[str | dict]] = {}
    for key, encoder in sources:
        found.setdefault(key, []).append(encoder)
    return dict(found)


def _of_texts(path: Path, called: Mapping[str, str]) -> dict[str, object]:
    """The keys of a configuration that has a classifier decide on the texts of a table. called: what its columns are
    called; those of labels and genders may be missing, unless another name was asked for. A column with a usual name
    in other capitals is taken, too; what is taken is said."""
    from biasflow.corpora.records import columns_of, read_records

    if not path.is_file():
        raise BiasflowError(f"--texts: there is no file {path}")
    table = read_records(path, [])
    names, columns = table.attrs["columns"], {}
    for key, usual in USUAL.items():
        alike = [name for name in names if name.strip().lower() in usual] if called[key] == usual[0] else []
        if called[key] in names or not alike:
            alike = [called[key]]
        elif len(alike) > 1:
            raise BiasflowError(
                f"--texts: {path} has the columns {', '.join(alike)}; name one with --{OPTION[key]}-column"
            )
        columns[key] = alike[0]
    needed = [name for key, name in columns.items() if key == "text" or name in names or name != USUAL[key][0]]
    for key, name in columns.items():
        if name in needed and name not in names:
            raise BiasflowError(
                f"--texts: {path} has no column {name}; name its column of {OPTION[key]}s with --{OPTION[key]}-column "
                f"(it has {', '.join(names)})"
            )
    columns_of(path, read_records(path, needed), needed)
    columns = {key: name if name in needed else None for key, name in columns.items()}
    taken = ", ".join(f"{OPTION[key]} {name or 'none'}" for key, name in columns.items())
    unread = [name for name in names if name not in needed]
    absent = " and ".join(f"--{OPTION[key]}-column" for key, name in columns.items() if not name)
    others = f"; not read: {', '.join(unread)}{f' ({absent} can name one)' * bool(absent)}" * bool(unread)
    say(f"{path}: columns: {taken}{others}")
    metrics = ["flips", *["fairness" if columns["group"] else "accuracy"] * any(map(columns.get, ("label", "group")))]
    about = {"kind": "classification", "data": {"files": [str(path)], "small": "drop"}, "columns": columns}
    return {"tasks": {TASK: about}, "ask": {TASK: {"metrics": metrics}}}


def _source(encoder: str, file: Path) -> tuple[str, str | dict, str]:
    """The key of a configuration that takes an encoder (`encoder` for a folder, `hub` for a name), its value, and the
    model that its card says it was trained from, or "". Of a name the value is that which `file` has from an earlier
    start, or what the hub says of its commit, or of today's."""
    from biasflow.corpora.hub import base_of_card, looked_up, pinned
    from biasflow.encoders.described import hub_entry
    from biasflow.encoders.families import HEADS

    folder = Path(encoder).expanduser()
    if folder.is_dir():
        return "encoder", str(folder), base_of_card(folder)
    from biasflow.base.files import no_folder

    beside = nearest(folder.name, [file.parent.name for file in folder.parent.glob("*/config.json")])
    named = HUB.fullmatch(encoder)
    if folder.is_file() or beside or not named:
        raise BiasflowError(f"{no_folder(encoder)}{f'; {beside}' * bool(beside)}")
    before = configuration([str(file)], None)[0].get("hub") or [] if file.exists() else []
    for known in before if isinstance(before, list) else [before]:
        about = PINNED.fullmatch(known).groupdict() if isinstance(known, str) else known
        if about["id"] == named["id"] and named["revision"] in (None, about["revision"]):
            return "hub", known, ""
    try:
        if PINNED.fullmatch(encoder):
            pin, base = encoder, ""
        else:
            pin, base = pinned(named["id"], named["revision"] or "main")
        about = PINNED.fullmatch(pin).groupdict()
        entry = about | hub_entry(*looked_up(**about))
    except BiasflowError as error:
        raise BiasflowError(f"{no_folder(encoder)}, and on the model hub {error}") from error
    heads = [head.replace("_", "-") for head in HEADS if entry[head]]
    kind = f"a sentence encoder (pooling {entry['pooling']})" if "pooling" in entry else "an encoder"
    say(f"{encoder} is {pin}{' today' * (pin != encoder)}: {kind}, heads: {', '.join(heads) or 'none'}")
    return "hub", entry, base


def _write(file: Path, text: str, command: str, keys: dict, files: list[str], settings: list[str]) -> bool:
    """Write the configuration once it can be planned with those before it; one that names the same encoder keeps its
    keys, and has the command as its comment. Whether it is new. BiasflowError where another one lies there."""
    from biasflow.base.files import read_text, write_text
    from biasflow.plan.compiled import prepared
    from biasflow.plan.listing import dropped

    before = configuration([str(file)], None)[0] if file.exists() else None
    texts = [(one.get("tasks") or {}).get(TASK) for one in (before or keys, keys)]
    if before is not None and (texts[0] != texts[1] or any(before.get(key) != keys.get(key) for key in _SAME)):
        raise BiasflowError(
            f"{file} is there already, for another encoder or other texts; name another run with --run, or delete it"
        )
    config, _ = configuration([*files, *[str(file)] * (before is not None)], settings)
    lay_over(config, keys)
    run = prepared(config)
    dropped(run.setup, run.plan, run.catalogue)  # what the texts are refused for
    if before is not None:
        text = re.sub("^#   snakemake .*$", lambda _: f"#   {command}", read_text(file), count=1, flags=re.MULTILINE)
    write_text(file, text)
    return before is None
