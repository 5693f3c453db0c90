"""How a sentence encoder makes one vector of a sentence, read from its folder (the layout of sentence-transformers)."""

from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json

FIRST_TOKEN = "cls"  # also of an encoder whose folder says nothing
POOLINGS = (FIRST_TOKEN, "mean")  # that SEAT knows, of those that a folder may name
FILE = "1_Pooling/config.json"
_NAMES = {"cls_token": FIRST_TOKEN, "mean_tokens": "mean"}
_FLAG = "pooling_mode_"


def own_pooling(folder: Path) -> str:
    """What the folder says is averaged to a sentence's vector: "cls", "mean" or, as the folder has it, something else.

    The file has a key pooling_mode or, as older versions write it, flags such as pooling_mode_mean_tokens.
    BiasflowError names a file that has neither."""
    file = folder / FILE
    if not file.is_file():
        return FIRST_TOKEN
    about = read_json(file)
    if isinstance(mode := about.get("pooling_mode"), str):
        return mode
    flags = [key.removeprefix(_FLAG) for key, value in about.items() if key.startswith(_FLAG) and value is True]
    if not flags:
        raise BiasflowError(f"{file}: names no pooling; it needs pooling_mode, or one of pooling_mode_cls_token, ...")
    return "+".join(_NAMES.get(flag, flag) for flag in flags)
