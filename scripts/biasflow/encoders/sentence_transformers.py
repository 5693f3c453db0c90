"""The folder of a sentence encoder in the layout of sentence-transformers: where the encoder itself lies in it, and how
it makes one vector of a sentence."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json
from biasflow.encoders.stored import SETTINGS, is_plain_name, lowers, object_in, settings_of, tokenizer_of

FIRST_TOKEN = "cls"  # also of an encoder whose folder says nothing
POOLINGS = (FIRST_TOKEN, "mean")  # that SEAT knows, of those that a folder may name
UNNAMED = "unnamed"  # of a file that names none
MODULES = "modules.json"
PROMPTS = "config_sentence_transformers.json"
POOLING = "1_Pooling"  # the folder of the pooling where no file says it
_NAMES = {"cls_token": FIRST_TOKEN, "mean_tokens": "mean"}
_FLAG = "pooling_mode_"
_HARMLESS = ("Normalize", "Dropout")  # modules that change no cosine of vectors


def encoder_folder(folder: Path) -> Path:
    """Where in a folder the encoder lies: in old folders of sentence-transformers in a part of its own."""
    paths = [path for kind, path in _modules(folder) if kind != "Pooling"]
    return folder / paths[0] if paths and paths[0] else folder


def files_beside(folder: Path) -> list[Path]:
    """The files of a folder that say what makes a sentence's vector: its modules, its prompts, and its pooling."""
    names = (MODULES, PROMPTS, f"{_pooling_folder(folder)}/config.json")
    return [folder / name for name in names if (folder / name).is_file()]


def _pooling_folder(folder: Path) -> str:
    return dict(_modules(folder)).get("Pooling", POOLING)


def own_pooling(folder: Path) -> str:
    """What the folder says is averaged to a sentence's vector: "cls", "mean" or, as the folder has it, something else;
    of several poolings, whose vectors are put one behind the other, "cls+mean".

    The file has a key pooling_mode, a name or a list of names, or, as older versions write it, flags such as
    pooling_mode_mean_tokens. UNNAMED where it has neither."""
    file = folder / _pooling_folder(folder) / "config.json"
    if not file.is_file():
        return FIRST_TOKEN
    about = object_in(file)
    modes = about.get("pooling_mode")
    if modes is None:
        modes = [key.removeprefix(_FLAG) for key, value in about.items() if key.startswith(_FLAG) and value is True]
    names = [modes] if isinstance(modes, str) else modes
    if not (isinstance(names, list) and names and all(isinstance(name, str) for name in names)):
        return UNNAMED
    return "+".join(_NAMES.get(name, name) for name in names)


def check_pooling(folder: Path, pooling: str, *, key: str) -> None:
    """BiasflowError, naming the key of the configuration, where a folder pools otherwise than the key says, or where
    something that makes a sentence's vector would not be read (which only the page of a local folder can say)."""
    if not_read := modules_not_applied(folder):
        raise BiasflowError(
            f"config: key {key!r}: {'; '.join(not_read)}: it would not be read. Download the encoder and give its "
            "folder (source: local); the page then says so"
        )
    if (names := own_pooling(folder)) != pooling:
        raise BiasflowError(
            f"config: key {key!r}: it says that sentences are pooled by {pooling}, and the encoder's own files say "
            f"{names}; write {json.dumps(names)} there"
        )


def modules_not_applied(folder: Path) -> list[str]:
    """What makes a sentence's vector in a folder, and is not read: modules behind the pooling, a pooling that is named
    and not there, a prompt before every text, and the lower case that texts are written in before the tokenizer."""
    modules = _modules(folder)
    later = [kind for kind, _ in modules[1:] if kind not in ("Pooling", *_HARMLESS)]
    absent = [path for kind, path in modules if kind == "Pooling" and not (folder / path).is_dir()]
    return [
        *(f"the module {kind} of sentence-transformers" for kind in later),
        *(f"the pooling {path}, which {MODULES} names, and which is not there" for path in absent),
        *_prompt(folder),
        *_lower_case(encoder_folder(folder)),
    ]


def _prompt(folder: Path) -> Iterator[str]:
    """What sentence-transformers puts before every text that is encoded without another prompt."""
    about = object_in(folder / PROMPTS)
    name, prompts = about.get("default_prompt_name"), about.get("prompts")
    prompt = prompts.get(name) if isinstance(prompts, Mapping) and isinstance(name, str) else name
    if prompt not in (None, ""):
        yield f"the default prompt {prompt!r} of {PROMPTS}, which sentence-transformers puts before every text"


def _lower_case(folder: Path) -> Iterator[str]:
    if settings_of(folder).get("do_lower_case") and (tokenizer := tokenizer_of(folder)) and not lowers(tokenizer):
        yield f"the lower case that sentence-transformers writes every text in (do_lower_case of {SETTINGS})"


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
