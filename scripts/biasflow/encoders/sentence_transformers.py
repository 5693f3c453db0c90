"""The folder of a sentence encoder in the layout of sentence-transformers: where the encoder itself lies in it, and how
it makes one vector of a sentence."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json
from biasflow.encoders.stored import is_plain_name

FIRST_TOKEN = "cls"  # also of an encoder whose folder says nothing
POOLINGS = (FIRST_TOKEN, "mean")  # that SEAT knows, of those that a folder may name
MODULES = "modules.json"
POOLING = "1_Pooling"  # the folder of the pooling where no file says it
_NAMES = {"cls_token": FIRST_TOKEN, "mean_tokens": "mean"}
_FLAG = "pooling_mode_"
_HARMLESS = ("Normalize", "Dropout")  # modules that change no cosine of vectors


def encoder_folder(folder: Path) -> Path:
    """Where in a folder the encoder lies: in old folders of sentence-transformers in a part of its own."""
    paths = [path for kind, path in _modules(folder) if kind != "Pooling"]
    return folder / paths[0] if paths and paths[0] else folder


def own_pooling(folder: Path) -> str:
    """What the folder says is averaged to a sentence's vector: "cls", "mean" or, as the folder has it, something else.

    The file has a key pooling_mode or, as older versions write it, flags such as pooling_mode_mean_tokens.
    BiasflowError names a file that has neither."""
    file = folder / dict(_modules(folder)).get("Pooling", POOLING) / "config.json"
    if not file.is_file():
        return FIRST_TOKEN
    about = read_json(file)
    if isinstance(mode := about.get("pooling_mode"), str):
        return mode
    flags = [key.removeprefix(_FLAG) for key, value in about.items() if key.startswith(_FLAG) and value is True]
    if not flags:
        raise BiasflowError(f"{file}: names no pooling; it needs pooling_mode, or one of pooling_mode_cls_token, ...")
    return "+".join(_NAMES.get(flag, flag) for flag in flags)


def check_pooling(folder: Path, pooling: str, *, key: str) -> None:
    """BiasflowError, naming the key of the configuration, where a folder pools otherwise than the key says, or where
    something that makes a sentence's vector would not be read (which only the page of a local folder can say)."""
    if not_read := modules_not_applied(folder):
        raise BiasflowError(
            f"config: key {key!r}: {'; '.join(not_read)}: it would not be read. Download the encoder and give its "
            "folder (source: local); the page then says so"
        )
    if (names := own_pooling(folder)) != pooling:
        advice = f"SEAT knows {', '.join(POOLINGS)}, so give a folder, and name metrics.seat.pooling"
        advice = f"write {names} there" if names in POOLINGS else advice
        raise BiasflowError(
            f"config: key {key!r}: it says that sentences are pooled by {pooling}, and the encoder's own files say "
            f"{names}; {advice}"
        )


def modules_not_applied(folder: Path) -> list[str]:
    """What makes a sentence's vector in a folder, and is not read: modules behind the pooling, and a pooling that is
    named and not there."""
    modules = _modules(folder)
    later = [kind for kind, _ in modules[1:] if kind not in ("Pooling", *_HARMLESS)]
    absent = [path for kind, path in modules if kind == "Pooling" and not (folder / path).is_dir()]
    return [
        *(f"the module {kind} of sentence-transformers" for kind in later),
        *(f"the pooling {path}, which {MODULES} names, and which is not there" for path in absent),
    ]


def _modules(folder: Path) -> Sequence[tuple[str, str]]:
    """The modules of a sentence encoder, in their order: (class, folder in the encoder's; "" for that itself); none
    where it has no such list. BiasflowError for a folder that lies elsewhere."""
    file = folder / MODULES
    modules = read_json(file) if file.is_file() else []
    if not isinstance(modules, list) or not all(_is_module(module) for module in modules):
        raise BiasflowError(f"{file}: it must be a list of modules, each with a type and a path; get the encoder again")
    for path in (module["path"] for module in modules):
        if path and not is_plain_name(path):
            raise BiasflowError(f"{file}: names {path}, which lies elsewhere: an encoder is its own files")
    return [(module["type"].rpartition(".")[2], module["path"]) for module in modules]


def _is_module(module: object) -> bool:
    return isinstance(module, Mapping) and all(isinstance(module.get(key), str) for key in ("type", "path"))
