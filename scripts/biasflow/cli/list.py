"""What may be written in a configuration."""

from typing import Annotated

import typer

from biasflow.base.errors import BiasflowError, nearest
from biasflow.cli.app import Configfiles, Settings, app, configuration, say_columns


@app.command("list")
def list_(
    what: Annotated[
        str | None, typer.Argument(help="what to list, such as metrics; left out: what there is to list")
    ] = None,
    of: Annotated[
        str | None, typer.Option(help="the folder of an encoder: what it has, or can be measured on it, and why not")
    ] = None,
    configfile: Configfiles = None,
    config: Settings = None,
) -> None:
    """List what may be written in a configuration, with a line each. With --configfile it also lists the names that
    this configuration defines."""
    from biasflow.plan import choices

    known = choices.CHOICES if of is None else choices.OF_FOLDER
    if what is None:
        lines = ((name, (function.__doc__ or "").partition("\n")[0]) for name, function in known.items())
    elif what not in known:
        where = "" if of is None else " of a folder"
        raise BiasflowError(f"list{where}: {what!r} cannot be listed; {nearest(what, known)}")
    elif of is not None:
        setup = choices.with_folder(of)
        lines = [*known[what](setup), *(("not applied", text) for text in setup.encoders[choices.ENCODER].not_applied)]
    else:
        asked = configfile or config
        lines = known[what](choices.checked(configuration(configfile, config)[0]) if asked else None)
    say_columns(lines)
