"""Shared by all commands: the application itself, the name of a run, and a configuration as Snakemake is given one."""

import contextlib
import itertools
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from biasflow.base.errors import BiasflowError, nearest, printable
from biasflow.base.paths import CORPORA
from biasflow.base.records import PROVENANCE, RESULTS, record_files
from biasflow.base.shipped import of_workflow

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
Run = Annotated[str, typer.Argument(help="the name of a run, or the path of its folder")]
Runs = Annotated[list[str], typer.Argument(help="the names of two or more runs, or the paths of their folders")]
Configfiles = Annotated[
    list[str] | None,
    typer.Option("--configfile", help="as snakemake's: files, each laid over those before it"),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="KEY=VALUE", help="as snakemake's: keys with their values"),
]
DEFAULT = "config/config.yaml"  # of the workflow, as in Snakefile
SCORES = "scores.csv"
MOST = 26  # characters of a first column; a longer name has a line of its own


# What may stand behind an option that Snakemake gives several values; all other words are arguments.
FOLLOWING = {"--config": re.compile(r"\w+=.*"), "--configfile": re.compile(r".*\.(ya?ml|json)")}


def as_options(words: Sequence[str]) -> list[str]:
    """The words of a command line with an option before every value, where Snakemake takes several behind one."""
    option, options = "", []
    for before, word in zip(["", *words], words, strict=False):
        if before not in FOLLOWING:
            if option and FOLLOWING[option].fullmatch(word):
                options.append(option)
            else:
                option = word if word in FOLLOWING else ""
        options.append(word)
    return options


def _version(asked: bool) -> None:
    if asked:
        say(f"biasflow {metadata.version('biasflow')}")
        raise typer.Exit


@app.callback()
def biasflow(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="name the version")] = (
        False
    ),
) -> None:
    """Measure an encoder, or ask something about biasflow or about the runs in this folder. (All other runs are made
    with snakemake.)"""


def snakemake_command(*words: str) -> list[str]:
    """The command that starts the workflow in this folder: in a checkout Snakemake finds the Snakefile by itself."""
    snakefile = of_workflow("Snakefile")
    return ["snakemake", *([] if snakefile == "Snakefile" else ["--snakefile", snakefile]), *words]


@app.command()
def workflow(
    file: Annotated[str, typer.Argument(help="or another file of it, such as config/retrieval.yaml")] = "Snakefile",
) -> None:
    """Name the Snakefile, for snakemake's own options in any folder.

    snakemake --snakefile $(biasflow workflow) --cores 4 --configfile FILE"""
    if not Path(path := of_workflow(file)).is_file():
        raise BiasflowError(f"the workflow has no file {file}; name one as the documents do (config/...)")
    say(path)


def say(line: str, *, err: bool = False) -> None:
    """Write a line to the terminal; see `printable`."""
    typer.echo(printable(line), err=err)


def say_columns(rows: Iterable[tuple[str, str]]) -> None:
    """Write names and what is said of each side by side, as wide as the terminal (80 characters elsewhere); names are
    coloured on a terminal only."""
    rows = [(printable(name), printable(about)) for name, about in rows]
    indent = max((len(name) for name, _ in rows if len(name) <= MOST), default=0) + 2
    width = shutil.get_terminal_size((80, 24)).columns
    for name, about in rows:
        lines = [""] * (len(name) > MOST) + textwrap.wrap(about, width - indent, break_on_hyphens=False)
        for label, line in itertools.zip_longest([name], lines, fillvalue=""):
            shown = typer.style(label, fg=typer.colors.CYAN) if label else ""
            typer.echo((shown + " " * (indent - len(label)) + line).rstrip())


def folder_of(run: str) -> Path:
    """The folder of a run, by its name or by its path, wherever that is. BiasflowError, in one line with the nearest
    name, for anything else."""
    named, path = Path(RESULTS, run), Path(run)
    for folder in (named, path) if len(path.parts) == 1 else (path,):
        if any(record_files(folder)) or (folder / SCORES).is_file():
            return folder
    if path.is_file():
        raise BiasflowError(f"{path} is a file; name a run, which is a folder in {RESULTS}/")
    folder = named if len(path.parts) == 1 and not path.is_dir() else path
    runs = sorted(path.parent.name for path in Path(RESULTS).glob(f"*/{PROVENANCE}") if path.parent != Path(CORPORA))
    advice = nearest(path.name, runs) or "start biasflow in the folder that has results/"
    fault = f"{folder} has no results of the workflow" if folder.is_dir() else f"there is no folder {folder}"
    raise BiasflowError(f"{fault}; {advice}")


def scores_file(run: str) -> Path:
    """The table of scores of a run; BiasflowError where there is none yet."""
    path = folder_of(run) / SCORES
    if not path.is_file():
        raise BiasflowError(f"there is no {path} yet; let snakemake end the run first")
    return path


@contextlib.contextmanager
def where_made(run: str) -> Iterator[Path]:
    """Work in the project's folder in which a run was made, because records name all files from there; yields the run's
    folder as they name it. BiasflowError for a copy that lies elsewhere than in a folder results/."""
    folder = folder_of(run)
    places = (folder.absolute(), folder.resolve())  # results/ may be a link
    home = next((place for place in places if place.parent.name == RESULTS), None)
    if home is None:
        raise BiasflowError(
            f"{folder} lies in no folder {RESULTS}/, from which records name their files; name the run where it was "
            "made, or compare and export its scores"
        )
    project = home.parent.parent
    if not project.samefile(Path.cwd()):
        say(f"in {project}:", err=True)
    with contextlib.chdir(project):
        yield Path(RESULTS, home.name)


def configuration(files: Sequence[str] | None, settings: Sequence[str] | None) -> tuple[dict, list[str]]:
    """A configuration as Snakemake reads it, not yet checked, and its files."""
    import yaml

    from biasflow.base.command_line import file_fault
    from biasflow.base.files import read_text

    files = list(files or [of_workflow(DEFAULT)])
    config: dict = {}
    for file in files:
        if problem := file_fault(file):
            raise BiasflowError(problem)
        lay_over(config, yaml.load(read_text(file), Loader=yaml.CSafeLoader))
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not equals:
            raise BiasflowError(f"--config {setting}: write KEY=VALUE")
        config[key] = yaml.load(value, Loader=yaml.CSafeLoader)
    return config, files


def lay_over(config: dict, other: dict) -> None:
    """Put the keys of another configuration over those of `config`, as Snakemake does with its files."""
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(config.get(key), dict):
            lay_over(config[key], value)
        else:
            config[key] = value
