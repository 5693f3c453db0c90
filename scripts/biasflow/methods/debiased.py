"""A model with a method written into it: a folder that other programs load without biasflow."""

import shutil
from collections.abc import Callable
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json, whole_folder, write_json, write_text
from biasflow.base.tensors import save_tensors
from biasflow.encoders.fold import BIAS_KEY, affine, fold
from biasflow.encoders.load import Head, load_encoder
from biasflow.encoders.places import SENTENCE, resolve
from biasflow.encoders.sentence_transformers import FIRST_TOKEN, HARMLESS, POOLINGS, encoder_folder, poolings
from biasflow.encoders.stored import CONFIG, DEPTH, HEAD, INDEX, MODULES, object_in, size_of, weight_files
from biasflow.methods.fitted import Active

CARD = "README.md"
HEADS: dict[str, Head] = {  # by how the class of a model ends
    "ForMaskedLM": "masked_lm",
    "ForPreTraining": "pretraining",
    "ForSequenceClassification": "classification",
}
# What else a folder may hold of the same weights, without the method.
OTHER_WEIGHTS = ("*.bin", "*.h5", "*.msgpack", "*.ot", "*.onnx", "*.pt", "*.pth", "onnx", "openvino")
DENSE = "Dense"  # the module of sentence-transformers that is one linear map


def write_debiased(folder: Path, method: Active, to: Path, card: Callable[[list[str]], str]) -> list[str]:
    """Write the model in `folder`, with a method of its last layer in its weights, into the new folder `to`, and as its
    README.md what `card` makes of the layers that were changed, or the module that was added. Returns these.

    A sentence encoder (modules.json) gets a module Dense behind its pooling, a model with a head another first layer of
    it (`encoders.fold`); tokenizer and further files are copied, but for weights in other formats. BiasflowError, with
    nothing written: `to` exists, a model without a head, a pooling that is not linear, and what `fold` refuses."""
    if to.exists():
        raise BiasflowError(f"{to} is there already, and nothing is overwritten; name another folder with --to")
    changed, write = _with_dense(folder, method) if (folder / MODULES).is_file() else _with_head(folder, method)
    text = card(changed)
    with whole_folder(to) as temporary:
        shutil.copytree(
            folder, temporary, dirs_exist_ok=True, ignore=shutil.ignore_patterns(CARD, ".*", *OTHER_WEIGHTS)
        )
        write(temporary)
        write_text(temporary / CARD, text)
    return changed


def _with_head(folder: Path, method: Active) -> tuple[list[str], Callable[[Path], None]]:
    names = object_in(folder / CONFIG).get("architectures") or [""]
    head: Head | None = next((head for end, head in HEADS.items() if names[0].endswith(end)), None)
    head = "classification" if (folder / HEAD).is_file() else head
    if head is None:
        raise BiasflowError(
            f"{folder}: {names[0] or 'the model'} has no head of masked words or classes, and its states themselves "
            "cannot be changed by weights; edit it as it runs (biasflow.edit), or give a sentence encoder"
        )
    model, _ = load_encoder(folder, head=head)
    changed, config = fold(model, method.edits), (folder / CONFIG).read_bytes()
    gets_bias = object_in(folder / CONFIG).get(BIAS_KEY) != getattr(model.config, BIAS_KEY, None)

    def write(to: Path) -> None:
        for path in [*weight_files(folder), folder / INDEX]:
            (to / path.name).unlink(missing_ok=True)
        model.save_pretrained(to)
        if not gets_bias:
            (to / CONFIG).write_bytes(config)  # what did not change keeps its bytes

    return changed, write


def _with_dense(folder: Path, method: Active) -> tuple[list[str], Callable[[Path], None]]:
    """A module behind the pooling, as the mean of erased vectors is the erased mean (an eraser is affine), or for what
    acts at `sentence` behind all that makes the vector."""
    pooling, (place, eraser), *more = "+".join(poolings(folder)), *method.edits
    depth = size_of(object_in(encoder_folder(folder) / CONFIG), DEPTH)
    fitting = {*resolve("last", depth)} | ({*resolve("last.cls", depth)} if pooling == FIRST_TOKEN else set())
    if more or (place != SENTENCE and (pooling not in POOLINGS or not {*resolve(place, depth)} <= fitting)):
        raise BiasflowError(
            f"{folder}: its vector of a sentence is pooled by {pooling}, so {method.method} at {place} is no linear "
            "map of it; take a method at sentence, or one of the last layer (all tokens) and a pooling by mean or cls"
        )
    A, a = affine(eraser)
    modules = read_json(folder / MODULES)
    kinds = [module["type"].rpartition(".")[2] for module in modules]
    makes = [kind not in HARMLESS if place == SENTENCE else kind == "Pooling" for kind in kinds]
    behind = len(makes) - makes[::-1].index(True)
    name = f"{len(modules)}_{DENSE}"

    def write(to: Path) -> None:
        (to / name).mkdir()
        about = {"in_features": len(a), "out_features": len(a), "bias": True}
        write_json(to / name / CONFIG, about | {"activation_function": "torch.nn.modules.linear.Identity"})
        tensors = {"linear.weight": A.T.float().contiguous(), "linear.bias": a.float()}
        save_tensors(tensors, to / name / "model.safetensors")
        listed = [*modules[:behind], {"path": name, "type": f"sentence_transformers.models.{DENSE}"}, *modules[behind:]]
        write_json(
            to / MODULES, [{**module, "idx": number, "name": str(number)} for number, module in enumerate(listed)]
        )

    return [name], write
