"""What the folder of a sentence encoder, in the layout of sentence-transformers, says of itself: where the encoder lies
in it, and how it makes one vector of a text. The library loads it (`sentence_encoder`); here no torch is imported."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json
from biasflow.encoders.places import SENTENCE
from biasflow.encoders.stored import CONFIG, MODULES, WEIGHTS, is_plain_name, object_in, settings_of

FIRST_TOKEN = "cls"  # also of an encoder whose folder says nothing
POOLINGS = (FIRST_TOKEN, "mean")  # of the last layer's states, that biasflow makes itself
UNNAMED = "unnamed"  # of a file that names none
PROMPTS = "config_sentence_transformers.json"
POOLING = "1_Pooling"  # the folder of the pooling where no file says it
_NAMES = {"cls_token": FIRST_TOKEN, "mean_tokens": "mean"}
_FLAG = "pooling_mode_"
MEASURES = ("cosine", "dot", "euclidean", "manhattan")
ASKED = ("query", "document")  # the prompts that the library puts before what is searched for, and before what is found
LIBRARY = "sentence_transformers."  # how the class of a module begins that needs no code of the folder
STATIC = "StaticEmbedding"  # a first module that is a tokenizer and a table of vectors, and no transformer
HARMLESS = ("Normalize", "Dropout")  # modules that change no cosine of vectors; `sentence` is the place before them


def encoder_folder(folder: Path) -> Path:
    """Where in a folder the encoder lies: in old folders of sentence-transformers in a part of its own."""
    paths = [path for kind, path in _modules(folder) if kind != "Pooling"]
    return folder / paths[0] if paths and paths[0] else folder


def whole_folder_of(encoder: Path) -> Path | None:
    """The folder of the sentence encoder whose transformer lies in a folder: that itself or the one above it; None for
    an encoder without a list of modules."""
    above = (folder for folder in (encoder, encoder.parent) if (folder / MODULES).is_file())
    return next((folder for folder in above if encoder_folder(folder) == encoder), None)


def is_static(folder: Path) -> bool:
    """Whether a text's vector is the mean of vectors that its pieces have in a table, without layers."""
    return [kind for kind, _ in _modules(folder)][:1] == [STATIC]


def files_beside(folder: Path) -> list[Path]:
    """The files of a folder that make a sentence's vector: its modules with their weights, and its prompts."""
    parts = [path for _, path in _modules(folder) if path and folder / path != encoder_folder(folder)] or [POOLING]
    names = (MODULES, PROMPTS, *(f"{part}/{name}" for part in parts for name in (CONFIG, WEIGHTS)))
    return [folder / name for name in names if (folder / name).is_file()]


def own_pooling(folder: Path) -> str:
    """What stands for a sentence in a folder's encoder: "cls" or "mean" where nothing else makes the vector (at most it
    is divided by its length), SENTENCE where sentence-transformers does more to the text or the vector: another
    pooling, a Dense layer, a prompt, a cut. UNNAMED, or the pooling's name, where no modules are listed."""
    kinds, about = [kind for kind, _ in _modules(folder)], object_in(folder / PROMPTS)
    names = "+".join(poolings(folder))
    if not kinds:
        return names
    modules = [kind for kind in kinds[1:] if kind not in HARMLESS]
    if not modules:
        return SENTENCE if is_static(folder) else UNNAMED
    lowers = settings_of(encoder_folder(folder)).get("do_lower_case")
    more = _default_prompt(about) or about.get("truncate_dim") or lowers
    return SENTENCE if modules != ["Pooling"] or names not in POOLINGS or more else names


def check_modules(folder: Path) -> None:
    """BiasflowError for a sentence encoder that the library cannot make vectors of without code or pickles of the
    folder, or whose prompts, dimensions or similarity are none."""
    remedy = f"to measure its transformer alone, copy the folder without {MODULES}"
    for module in read_json(folder / MODULES) if _modules(folder) else ():
        kind, part = module["type"], folder / module["path"]
        if not kind.startswith(LIBRARY):
            raise BiasflowError(f"{folder / MODULES}: {kind} is code of its own, which is never run; {remedy}")
        if kind.endswith(".Pooling") and not (part / CONFIG).is_file():
            raise BiasflowError(f"{part}: no {CONFIG}, which says how tokens are pooled; get the encoder again")
        if kind.endswith(".Dense") and not (part / WEIGHTS).is_file():
            raise BiasflowError(f"{part}: no {WEIGHTS}; save the encoder with safe_serialization=True")
    about = object_in(folder / PROMPTS)
    prompts, default = about.get("prompts") or {}, about.get("default_prompt_name")
    dimensions, measure = about.get("truncate_dim"), about.get("similarity_fn_name")
    if not (isinstance(prompts, Mapping) and all(isinstance(text, str | None) for text in prompts.values())):
        said = "prompts must be names with texts"
    elif default not in (None, *prompts):
        said = f"there is no prompt {default!r}"
    elif dimensions is not None and not (type(dimensions) is int and dimensions > 0):
        said = f"truncate_dim is {dimensions!r}, and must be a whole number above 0"
    elif measure not in (None, *MEASURES):
        said = f"similarity_fn_name is {measure!r}, and must be one of {', '.join(MEASURES)}"
    else:
        return
    raise BiasflowError(f"{folder / PROMPTS}: {said}; mend the file, or delete it if the encoder needs no key of it")


def sentence_vector(folder: Path) -> str:
    """In words, what makes the vector of a text in the folder of a sentence encoder, "" for another encoder."""
    return "; ".join(filter(None, (", ".join(_steps(folder)), ", ".join(_prompts(folder)))))


def _steps(folder: Path) -> Iterator[str]:
    if is_static(folder):
        yield "mean of static vectors"
    for kind, path in _modules(folder)[1:]:
        about = object_in(folder / path / CONFIG)
        if kind == "Pooling":
            yield f"{' and '.join(poolings(folder))} pooling"
        elif kind == "Dense":
            activation = str(about.get("activation_function", "torch.nn.modules.activation.Tanh"))
            activation = activation.rpartition(".")[2] if activation.startswith("torch.") else "Tanh"  # the library's
            yield f"Dense {about.get('in_features')} to {about.get('out_features')}" + (
                f" ({activation})" if activation != "Identity" else ""
            )
        elif kind != "Dropout":
            yield {"Normalize": "normalised"}.get(kind, kind)
    if _modules(folder) and (dimensions := object_in(folder / PROMPTS).get("truncate_dim")):
        yield f"the first {dimensions} dimensions"
    if _modules(folder) and (tokens := settings_of(encoder_folder(folder)).get("max_seq_length")):
        yield f"texts of at most {tokens} tokens"
    if _modules(folder) and (measure := object_in(folder / PROMPTS).get("similarity_fn_name") or "cosine") != "cosine":
        yield f"similarity by {measure}"


def _prompts(folder: Path) -> Iterator[str]:
    about = object_in(folder / PROMPTS) if _modules(folder) else {}
    if default := _default_prompt(about):
        yield f"prompt {json.dumps(default)}"
    for name, prompt in (about.get("prompts") or {}).items():
        if prompt and name in ASKED and name != about.get("default_prompt_name"):
            yield f"prompt {json.dumps(prompt)} ({name})"


def _default_prompt(about: Mapping) -> str | None:
    """What sentence-transformers puts before every text that is encoded without another prompt."""
    return (about.get("prompts") or {}).get(about.get("default_prompt_name"))


def poolings(folder: Path) -> list[str]:
    """The poolings that a folder names, whose vectors are put one behind the other.

    The file has a key pooling_mode, a name or a list of names, or, as older versions write it, flags such as
    pooling_mode_mean_tokens."""
    modules = dict(_modules(folder))
    file = folder / modules.get("Pooling", POOLING) / CONFIG
    if not file.is_file():
        return [UNNAMED if "Pooling" in modules else FIRST_TOKEN]
    about = object_in(file)
    modes = about.get("pooling_mode")
    if modes is None:
        modes = [key.removeprefix(_FLAG) for key, value in about.items() if key.startswith(_FLAG) and value is True]
    names = [modes] if isinstance(modes, str) else modes
    if not (isinstance(names, list) and names and all(isinstance(name, str) for name in names)):
        return [UNNAMED]
    return [_NAMES.get(name, name) for name in names]


def check_pooling(folder: Path, pooling: str | None, *, key: str) -> None:
    """BiasflowError, naming the key of the configuration, where a folder pools otherwise than the key says, or has one
    though it is no sentence encoder's (None: no key)."""
    names = own_pooling(folder)
    if pooling == names == FIRST_TOKEN and not _modules(folder):
        raise BiasflowError(f"config: key {key!r}: the encoder is no sentence encoder (no {MODULES}); leave it out")
    if names != (pooling or FIRST_TOKEN):
        raise BiasflowError(
            f"config: key {key!r}: it says that sentences are pooled by {pooling}, and the encoder's own files say "
            f"{names}; write {json.dumps(names)} there"
        )


def _modules(folder: Path) -> Sequence[tuple[str, str]]:
    """The modules of a sentence encoder, in their order: (class, folder in the encoder's; "" for that itself); none
    where it has no such list. BiasflowError for a folder that lies elsewhere."""
    file = folder / MODULES
    modules = read_json(file) if file.is_file() else []
    if not isinstance(modules, list) or not all(_is_module(module) for module in modules):
        raise BiasflowError(f"{file}: it must be a list of modules, each with a type and a path; get the encoder again")
    paths = ["" if module["path"] == "." else module["path"] for module in modules]
    for path in paths:
        if path and not is_plain_name(path):
            raise BiasflowError(f"{file}: names {path}, which lies elsewhere: an encoder is its own files")
    return [(module["type"].rpartition(".")[2], path) for module, path in zip(modules, paths, strict=True)]


def _is_module(module: object) -> bool:
    return isinstance(module, Mapping) and all(isinstance(module.get(key), str) for key in ("type", "path"))
