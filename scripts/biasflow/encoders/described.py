"""What an encoder is, as its own files say: architecture, sizes, heads, sha256 of the weights. Imports no torch."""

import math
import re
from pathlib import Path

from safetensors import safe_open

from biasflow.base.files import read_json, sha256
from biasflow.encoders.stored import DEPTH, WEIGHTS

COLUMNS = ["encoder", "architecture", "layers", "width", "parameters", "masked_lm_head", "next_sentence_head"]
COLUMNS += ["head_loss_before", "head_loss_after", "sha256"]
ABOUT = "biasflow_heads"  # key of config.json: the heads that biasflow gave an encoder, and the losses (encoders.heads)
WIDTH = ("hidden_size", "dim")
# Layers of heads, as the families that encoders.taps knows call them; an output layer that is tied is not stored.
HEADS = {
    "masked_lm_head": re.compile(
        r"^(cls\.predictions|lm_head|vocab_(transform|projector)|((lm|mask|generator)_)?predictions|decoder|head\.dense)\."
    ),
    "next_sentence_head": re.compile(r"^cls\.seq_relationship\."),
}


def described(folder: str | Path) -> dict[str, object]:
    """What is known of the encoder in a folder: COLUMNS without its name; "" for what config.json does not say.

    parameters: how many numbers the weights hold; heads: "yes" or "no", whether the weights hold them, or "ours" where
    biasflow gave them to the encoder; head_loss: of masked tokens that were held out from the training of such a head,
    in nats; sha256: of the file of weights, of several with spaces between."""
    folder = Path(folder)
    config, shapes = read_json(folder / "config.json"), {}
    files = sorted(folder.glob(WEIGHTS))
    for path in files:
        with safe_open(path, framework="np") as weights:
            shapes |= {name: weights.get_slice(name).get_shape() for name in weights.keys()}  # noqa: SIM118
    heads = {head: "yes" if any(map(pattern.search, shapes)) else "no" for head, pattern in HEADS.items()}
    ours = config.get(ABOUT, {"heads": [], "loss_before": {}, "loss_after": {}})
    heads |= {f"{head}_head": "ours" for head in ours["heads"]}
    return {
        "architecture": " ".join(config.get("architectures") or [config.get("model_type", "")]),
        "layers": next((config[key] for key in DEPTH if key in config), ""),
        "width": next((config[key] for key in WIDTH if key in config), ""),
        "parameters": sum(map(math.prod, shapes.values())),
        **heads,
        **{f"head_{when}": ours[when].get("masked_lm", "") for when in ("loss_before", "loss_after")},
        "sha256": " ".join(map(sha256, files)),
    }
