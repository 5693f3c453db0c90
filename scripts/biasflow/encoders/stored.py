"""What an encoder's folder says of itself, checked without torch: for local encoders before the first job."""

import re
from pathlib import Path

from safetensors import SafetensorError, safe_open

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json

WEIGHTS = "model*.safetensors"  # what transformers loads; other files of tensors may lie beside them
CODE = "auto_map"  # where transformers finds classes in a folder's own code
LAYER = re.compile(r"(?:^|\.)layer\.(\d+)\.")
DEPTH = ("num_hidden_layers", "n_layers")
TRAINED = (".weight", ".bias")
NUMBERS = ("F64", "F32", "F16", "BF16")


def check_stored(folder: str | Path) -> None:
    """BiasflowError, one line that names the file, for what transformers would load without a word and wrongly: code of
    the encoder's own, which is never run (its class would be replaced by the library's); weights that are no floating
    numbers; weights of more layers than config.json has, whose last ones would be left out. And for weights that are no
    whole file."""
    folder, depth = Path(folder), None
    for name in ("config.json", "tokenizer_config.json"):
        about = read_json(folder / name) if (folder / name).is_file() else {}
        if not isinstance(about, dict):
            raise BiasflowError(f"{folder / name}: it must hold a JSON object; get or make the encoder again")
        if CODE in about:
            raise BiasflowError(
                f"{folder / name}: the encoder needs code of its own ({CODE}), which is never run; use another encoder"
            )
        depth = next((about[key] for key in DEPTH if key in about), depth)
    for path in sorted(folder.glob(WEIGHTS)):
        try:
            with safe_open(path, framework="np") as weights:
                kinds = {name: weights.get_slice(name).get_dtype() for name in weights.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise BiasflowError(
                f"{path}: the weights cannot be read ({error}); get or make the encoder again"
            ) from error
        for name, kind in kinds.items():
            if name.endswith(TRAINED) and kind not in NUMBERS:
                raise BiasflowError(f"{path}: {name} holds numbers of type {kind}; floating-point weights are needed")
            layer = LAYER.search(name)
            if layer and depth is not None and int(layer[1]) >= depth:
                raise BiasflowError(
                    f"{path}: there are weights of {name}, but config.json says {depth} layers (the first is layer 0); "
                    "correct num_hidden_layers"
                )
