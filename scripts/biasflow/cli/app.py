"""Shared by all commands: the application itself, the name of a run, and a configuration as Snakemake is given one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from biasflow.asking.paths import CORPORA
from biasflow.base.errors import BiasflowError, nearest
from biasflow.base.records import PROVENANCE, RESULTS, record_files

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
Run = Annotated[str, typer.Argument(help="the name of a run, or its folder, such as results/demo")]
Configfiles = Annotated[
    list[str] | None,
    typer.Option("--configfile", help="as snakemake's; repeat it for a file that is laid over the first"),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="KEY=VALUE", help="as snakemake's, one key each; may be repeated"),
]
DEFAULT = "config/config.yaml"  # as in Snakefile


@app.callback()
def biasflow() -> None:
    """Ask something about biasflow, or about the runs in this folder. Runs themselves are made with snakemake."""


def folder_of(run: str) -> Path:
    """The folder of a run, by its name or its own path. BiasflowError, with the nearest name, where there is none."""
    folder = Path(RESULTS, Path(run).name)
    if any(record_files(folder)):
        return folder
    runs = sorted(path.parent.name for path in Path(RESULTS).glob(f"*/{PROVENANCE}") if path.parent != Path(CORPORA))
    advice = nearest(folder.name, runs) or "start biasflow in the folder in which you started snakemake"
    raise BiasflowError(f"{folder} has no results of the workflow; {advice}")


def scores_file(run: str) -> Path:
    """The table of scores of a run; BiasflowError where there is none yet."""
    path = folder_of(run) / "scores.csv"
    if not path.is_file():
        raise BiasflowError(f"there is no {path} yet; let snakemake end the run first")
    return path


def configuration(files: Sequence[str] | None, settings: Sequence[str] | None) -> tuple[dict, list[str]]:
    """A configuration as Snakemake reads it, not yet checked, and its files."""
    import yaml

    from biasflow.base.files import read_text

    if not files and not Path(DEFAULT).is_file():
        raise BiasflowError(
            f"there is no {DEFAULT} in this folder; start biasflow in the clone, where you start snakemake, or name a "
            "configuration with --configfile"
        )
    files = list(files or [DEFAULT])
    config: dict = {}
    for file in files:
        try:
            _lay_over(config, yaml.load(read_text(file), Loader=yaml.CSafeLoader) or {})
        except yaml.YAMLError as error:
            raise BiasflowError(f"{file}: not valid YAML: {' '.join(str(error).split())}") from error
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not equals:
            raise BiasflowError(f"--config {setting}: write KEY=VALUE")
        config[key] = yaml.load(value, Loader=yaml.CSafeLoader)
    return config, files


def _lay_over(config: dict, other: dict) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(config.get(key), dict):
            _lay_over(config[key], value)
        else:
            config[key] = value
