"""A run as one zip."""

from pathlib import Path
from typing import Annotated

import typer

from biasflow.cli.app import Run, app, say, where_made


@app.command()
def pack(
    run: Run, output: Annotated[Path | None, typer.Option("--output", "-o", help="the zip; RUN.zip if left out")] = None
) -> None:
    """Put page, tables and figures of a run into one zip.

    It opens without a network. The same results make the same zip to the byte. Encoders, texts and readouts are left
    out."""
    from biasflow.results.pack import PAGE
    from biasflow.results.pack import pack as packed

    here = Path.cwd()
    with where_made(run) as folder:
        archive = output or Path(f"{folder.name}.zip")
        names = packed(folder, here / archive)
    size = archive.stat().st_size / 1e6
    say(f"{archive}: {len(names)} files, {size:.1f} MB; unpack it and open {folder.name}/{PAGE}")
