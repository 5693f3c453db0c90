"""A debiased model to keep."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from biasflow.cli.app import app, folder_of, say


@app.command()
def debias(
    model: Annotated[Path, typer.Argument(metavar="FOLDER", help="the folder of the model that the run measured")],
    method: Annotated[str, typer.Option(help="the method, of the last layer or behind it, as the run names it")],
    to: Annotated[Path, typer.Option(metavar="NEW", help="the new folder; one that exists is never overwritten")],
    run: Annotated[str, typer.Option(help="the name of the run that fitted it, or the path of its folder")] = "mine",
) -> None:
    """Write a model with a debiasing method in its weights, which other programs load without biasflow.

    The method is the one that the run fitted. The folder gets a model card with what the run measured of it."""
    import pandas as pd

    from biasflow.base.errors import BiasflowError, nearest
    from biasflow.base.files import sha256
    from biasflow.base.provenance import git_commit
    from biasflow.base.tabular import read_text_csv
    from biasflow.encoders.sentence_transformers import MODULES, encoder_folder
    from biasflow.encoders.stored import CONFIG, weight_files
    from biasflow.matrix import NA, PRETRAINED
    from biasflow.methods.debiased import write_debiased
    from biasflow.methods.fitted import load, stored_names
    from biasflow.overview.card import card
    from biasflow.registry import GIVEN

    folder = folder_of(run)
    if not (encoder_folder(model) / CONFIG).is_file():
        raise BiasflowError(f"{model} is no folder of a model (it has no {CONFIG}); name the one that the run measured")
    digest = " ".join(map(sha256, weight_files(encoder_folder(model))))
    encoders, names = (read_text_csv(folder / f"{table}.csv") for table in ("encoders", "names"))
    encoder = next(iter(encoders.loc[encoders["sha256"] == digest, "encoder"]), None)
    if encoder is None:
        raise BiasflowError(f"run {run} has no encoder with the weights of {model}; name the folder that it measured")
    fitted_to = folder / "methods" / encoder  # as a classifier that is given, or as it was pre-trained
    files = [
        *sorted(fitted_to.glob(f"*/{GIVEN}/*/*.safetensors")),
        *sorted(fitted_to.glob(f"{PRETRAINED}/*.safetensors")),
    ]
    of_file = {file: stored_names(file) for file in files}
    file = next((file for file, methods in of_file.items() if method in methods), None)
    if file is None:
        known = {name for methods in of_file.values() for name in methods}
        advice = nearest(method, sorted(known)) or "let it measure the model under one, and end"
        raise BiasflowError(f"run {run} fitted no method {method!r}; {advice}")
    fitted = load(file, [method])
    active, *others = fitted.every_setting()
    if others:
        raise BiasflowError(f"{method} has {1 + len(others)} settings, and a model takes one; name another method")
    task, *strategy = file.parent.relative_to(fitted_to).parts
    task = task if strategy else NA
    of_hub = names[(names["name"] == encoder) & (names["attribute"] == "id")]["value"]
    about = {
        "base": model,
        "specification": fitted.specifications[method],
        "run": folder.name,
        "name": to.name,
        "base_name": next(iter(of_hub), ""),
        "sha256": digest,
        "commit": git_commit() or "",
        "sentence": (model / MODULES).is_file(),
        "task": task,
    }
    table = pd.read_csv(folder / "matrix.csv")
    changed = write_debiased(model, active, to, lambda changed: card(table, encoder, method, changed=changed, **about))
    say(f"{to} is written: {model} with {method} in {', '.join(changed)}")
    if task == NA and not about["sentence"]:
        say("its heads read erased vectors; the vectors stay as they are, and with them WEAT, SEAT and CEAT")
    of_task = names[names["name"] == task].set_index("attribute")["value"]
    say(f"measure it: {_measured_again(to, dict(of_task))}")


def _measured_again(to: Path, task: Mapping[str, str]) -> str:
    """What gives the scores of the run again, of the new model. task: what names.csv says of the texts on which a
    classifier decides."""
    words = ["biasflow", "measure", str(to), "--run", to.name]
    if task:
        if not Path(task["data.files"]).is_file() or task.get("columns.split"):
            return f"as the run was made, with {to} in place of the model"
        words += ["--texts", task["data.files"]]
        for option, key in (("text", "text"), ("label", "label"), ("gender", "group")):
            column = task.get(f"columns.{key}", option)
            words += [f"--{option}-column", column] * (column != option)
    return shlex.join(words)
