"""A configuration to begin with."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from biasflow.base.errors import BiasflowError
from biasflow.cli.app import app, say, say_columns, snakemake_command


@app.command()
def init(
    folder: Annotated[str, typer.Argument(help="the folder of your encoder, as transformers saves it (safetensors)")],
    output: Annotated[Path, typer.Option("--output", "-o", help="the configuration")] = Path("biasflow.yaml"),
) -> None:
    """Write a configuration for an encoder, to edit and run.

    Says what cannot be measured on it and why. For a first page use `biasflow measure`."""
    from biasflow.base.files import no_folder, write_text
    from biasflow.plan.choices import first_configuration

    if not output.parent.is_dir():
        raise BiasflowError(f"{no_folder(output.parent)}; make one, or name another file with -o")
    if output.exists():
        raise BiasflowError(f"{output} is there already, and is left as it is; name another file with -o")
    first = first_configuration(folder, str(output))
    write_text(output, first.text)
    if first.unedited:
        say(first.unedited)
    for text in first.not_applied:
        say(f"not applied: {text}")
    if first.lacking:
        say("cannot be measured:")
        say_columns(first.lacking.items())
    command = shlex.join(snakemake_command("--cores", "2", "--configfile", str(output)))
    say(f"{output} is written; start it with: {command}")
