"""Encoders from local folders: always offline, always float32, never a head that was not trained."""

import atexit
import contextlib
import inspect
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import torch
from safetensors import safe_open
from tokenizers import AddedToken
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING,
    MODEL_FOR_PRETRAINING_MAPPING,
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    MODEL_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForNextSentencePrediction,
    AutoModelForPreTraining,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    set_seed,
)
from transformers.utils import logging as transformers_logging

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.files import read_json
from biasflow.encoders.families import DECODER, FAMILIES
from biasflow.encoders.linear_head import FirstTokenClassifier
from biasflow.encoders.sentence_transformers import encoder_folder, is_static, whole_folder_of
from biasflow.encoders.static import StaticConfig, StaticEncoder
from biasflow.encoders.stored import (
    AGAIN,
    AROUND,
    HEAD,
    INDEX,
    PIECES,
    WEIGHTS,
    WITHOUT_TOKENS,
    check_stored,
    settings_of,
    static_table,
    stored_files,
    wrapping,
)

Head = Literal["pretraining", "next_sentence", "masked_lm", "classification", "none"]
CLASSES = {  # by head: what loads it, and the configurations that can have it
    "pretraining": (AutoModelForPreTraining, MODEL_FOR_PRETRAINING_MAPPING),
    "next_sentence": (AutoModelForNextSentencePrediction, MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING),
    "masked_lm": (AutoModelForMaskedLM, MODEL_FOR_MASKED_LM_MAPPING),
    "classification": (AutoModelForSequenceClassification, MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING),
    "none": (AutoModel, MODEL_MAPPING),
}

RANDOM = "random"  # the training "random/seed<n>"
OFFLINE = {"local_files_only": True, "trust_remote_code": False}  # no network, and no code from an encoder's folder
UNUSED = "token_type_embeddings"  # may be zero: where there is one type, it says nothing
SPECIAL = ("unk_token", "cls_token", "sep_token", "pad_token", "mask_token")
WITH_SPECIAL = ("WordPiece", "BPE")  # kinds of vocabulary that hold them; to others the library adds them
SEGMENTS = "token_type_ids"
UNCUT = 2**30  # tokens of the longest text of an encoder without layers, where its tokenizer cuts none
NEW_WITH_A_HEAD = r"(^|\.)(classifier|pre_classifier|pooler)\.|^(head|dense)\."  # the layers of a classification head


def load_encoder(
    folder: str | Path, *, head: Head, device: torch.device | str = "cpu"
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The encoder in `folder` with `head`, in float32 and evaluation mode, and its tokenizer; never the network.

    A classification head may be biasflow's own, a linear layer on the first token (`linear_head`).
    BiasflowError, one line that names the folder: no folder or config.json; no safetensors weights (pickled ones are
    refused); what `stored.check_stored` refuses; weights that lack the head, which transformers would fill in at
    random; NaN or infinite weights, a matrix of zeros; a tokenizer that is empty, larger than the embedding matrix, or
    puts no special tokens around a text, or whose vocabulary lacks one, to which the library would give the number of
    another piece."""
    folder = Path(folder)
    if is_static(folder):
        if head != "none":
            raise AbsentError(f"{folder}: an encoder without layers has no {head} head; leave out what needs it.")
        model, tokenizer = _static(folder)
        return model.to(device), tokenizer
    if head == "classification" and (folder / HEAD).is_file():
        encoder, tokenizer = load_encoder(folder, head="none")
        return FirstTokenClassifier.load(encoder, folder).to(device).eval(), tokenizer
    config = _config(folder, head)
    model, missing = _weights(folder, config, head)
    if head == "none" and missing and all(name.startswith("pooler.") for name in missing):
        model, missing = _weights(folder, config, head, add_pooling_layer=False)  # RoBERTa is published without one
    if missing:
        lack = f"{folder}: the weights lack {missing[0]}" + (f" and {len(missing) - 1} more" if missing[1:] else "")
        if head == "none":
            raise BiasflowError(f"{lack}; get or make the encoder again.")
        raise AbsentError(f"{lack}: the encoder has no trained {head} head.")
    return model.to(device).eval(), _checked_tokenizer(folder, model, head)


def load_with_new_heads(
    folder: str | Path, *, head: Head, device: torch.device | str = "cpu"
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, list[str]]:
    """The encoder in `folder` with `head` in float32, its tokenizer, and the names of the parameters that the folder
    lacks: those of the head are drawn by torch's generator, and are to be trained. BiasflowError as `load_encoder` but
    for these, and for any other weight that is missing."""
    folder = Path(folder)
    model, missing = _weights(folder, _config(folder, head), head)
    body = f"{model.base_model_prefix}."
    if lost := [name for name in missing if name.startswith(body) and not name.startswith(f"{body}pooler.")]:
        raise BiasflowError(f"{folder}: the weights lack {lost[0]}; get or make the encoder again.")
    return model.to(device), _checked_tokenizer(folder, model, head), missing


def new_classifier(
    folder: str | Path, labels: Sequence[str] | None, *, seed: int, device: torch.device | str = "cpu"
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The encoder in `folder` with a new, random classification head for `labels`, in training mode, and its tokenizer.

    labels=None makes a head with one output, a number. The head depends on `seed` alone. The head's layers (and a
    pooler, which RoBERTa is published without) are new; any other weight that the folder lacks is a BiasflowError,
    as is everything that `load_encoder` refuses."""
    folder = Path(folder)
    config = _config(folder, "classification")
    if getattr(config, "classifier_pooling", None) == "late":
        config.classifier_pooling = "mean"  # late: the mean of all tokens' logits, with which no sentence has a vector
    config.problem_type = "regression" if labels is None else "single_label_classification"
    labels = labels or ["score"]
    config.num_labels = len(labels)
    config.id2label, config.label2id = dict(enumerate(labels)), {label: i for i, label in enumerate(labels)}
    set_seed(seed)
    model, missing = _weights(folder, config, "classification", ignore_mismatched_sizes=True)
    lost = [name for name in missing if not re.search(NEW_WITH_A_HEAD, name)]
    if lost:
        raise BiasflowError(f"{folder}: the weights lack {lost[0]}; get or make the encoder again.")
    return model.to(device).train(), _checked_tokenizer(folder, model, "classification")


def random_encoder(
    folder: str | Path, *, seed: int, device: torch.device | str = "cpu"
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """An encoder with architecture, sizes and tokenizer of the one in `folder`, and weights that were never trained.

    The released code of Orgad et al. (2022) takes the library's default configuration instead, whose positions,
    segments and vocabulary are not the encoder's own (its tokenizer would not fit). BiasflowError as `load_encoder`."""
    trained, tokenizer = load_encoder(folder, head="none")
    set_seed(seed)
    model = AutoModel.from_config(trained.config)
    model.resize_token_embeddings(trained.get_input_embeddings().num_embeddings)
    return model.to(device).eval(), tokenizer


def load_model(
    folder: str | Path, training: str, *, head: Head, device: torch.device | str = "cpu"
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model in `folder` as `load_encoder` loads it, or for the training "random/seed<n>" one made like it, which is
    drawn anew and never stored (`random_encoder`; it has no head)."""
    kind, _, seed = training.partition("/seed")
    if kind != RANDOM:
        return load_encoder(folder, head=head, device=device)
    if head != "none":
        raise BiasflowError(f"{folder}: an untrained encoder has no {head} head; leave out what needs it.")
    return random_encoder(folder, seed=int(seed), device=device)


def load_with_sentence_vector(
    folder: str | Path, training: str = "", *, head: Head, device: torch.device | str = "cpu"
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model that `load_model` loads, without a next-sentence head if its weights have none: that is not known of an
    encoder of the hub before it is downloaded, and methods that act elsewhere than at its input need none."""
    try:
        return load_model(folder, training, head=head, device=device)
    except AbsentError:
        if head != "next_sentence":
            raise
        return load_model(folder, training, head="none", device=device)


def _static(folder: Path) -> tuple[StaticEncoder, PreTrainedTokenizerBase]:
    """An encoder without layers, and its tokenizer, by which texts are only counted and searched for words: the library
    has its own. BiasflowError for a table that is none or has values that are not finite, and for more pieces."""
    name, (rows, width) = static_table(folder)
    with safe_open(folder / WEIGHTS, framework="pt") as file:
        if not torch.isfinite(file.get_tensor(name)).all():
            raise BiasflowError(f"{folder}: the weights hold NaN or infinite values (first in {name}); {AGAIN}.")
    with explained(folder, "the tokenizer cannot be read", "add its files") as files:
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(files / PIECES[0]))
        about = read_json(files / PIECES[0])["model"]
        unknown = about["vocab"][about["unk_id"]][0] if about.get("unk_id") is not None else about.get("unk_token")
        tokenizer.unk_token, tokenizer.pad_token = unknown, tokenizer.convert_ids_to_tokens(0)
    if name == "embedding.weight" and len(tokenizer) > rows:
        raise BiasflowError(f"{folder}: the tokenizer has {len(tokenizer)} pieces, but the table {rows}; {AGAIN}.")
    cut = (tokenizer.backend_tokenizer.truncation or {}).get(
        "max_length", UNCUT
    ) + tokenizer.num_special_tokens_to_add()
    model = StaticEncoder(StaticConfig(num_hidden_layers=0, hidden_size=width, max_position_embeddings=cut))
    model.name_or_path = model.config.name_or_path = tokenizer.name_or_path = str(folder)
    return model.eval(), tokenizer


def _check_values(folder: Path, model: PreTrainedModel) -> None:
    for name, parameter in model.named_parameters():
        if not torch.isfinite(parameter).all():
            fault = f"hold NaN or infinite values (first in {name})"
        elif parameter.ndim > 1 and parameter.numel() > 1 and UNUSED not in name and parameter.min() == parameter.max():
            fault = f"are all {parameter.flatten()[0]:g} in {name}"
        else:
            continue
        raise BiasflowError(f"{folder}: the weights {fault}; get or make the encoder again.")


def _weights(folder: Path, config: PretrainedConfig, head: Head, **options) -> tuple[PreTrainedModel, list[str]]:
    """The model, and the names of the weights that the folder does not hold."""
    transformers_logging.set_verbosity_error()  # it lists weights that are not used; what is missing is checked here
    transformers_logging.disable_progress_bar()
    options |= {"config": config, "use_safetensors": True, "dtype": torch.float32, "output_loading_info": True}
    if before := wrapping(folder):
        options["key_mapping"] = {f"^{re.escape(before)}": ""}
    with explained(folder, "the weights cannot be read", "get or make the encoder again") as files:
        model, info = CLASSES[head][0].from_pretrained(files, **OFFLINE, **options)
    layers = FAMILIES[config.model_type].layers if config.model_type in FAMILIES else "layer"
    if unused := sorted(name for name in info["unexpected_keys"] if re.search(rf"(^|\.){layers}\.\d+\.", name)):
        raise BiasflowError(
            f"{folder}: {len(unused)} weights inside its layers ({unused[0]}) are none of a {config.model_type} "
            "encoder as transformers builds it: it would be measured without them; use another encoder"
        )
    model.name_or_path = model.config.name_or_path = str(folder)
    return model, sorted(info["missing_keys"]) + sorted(str(key) for key in info["mismatched_keys"])


def _config(folder: Path, head: Head) -> PretrainedConfig:
    if not (folder / "config.json").is_file():
        raise BiasflowError(f"{folder}: no encoder there (no config.json); name a folder saved by transformers.")
    if not any((folder / name).exists() for name in (WEIGHTS, INDEX)):
        pickled = any(path.suffix in (".bin", ".pt", ".pth") for path in folder.iterdir())
        hint = "pickled weights are never loaded: convert them to safetensors" if pickled else "the weights are missing"
        raise BiasflowError(f"{folder}: no {WEIGHTS}; {hint}.")
    check_stored(folder)
    with explained(folder, "config.json is not that of a known encoder", "use another encoder") as files:
        config = AutoConfig.from_pretrained(files, **OFFLINE)
    config.chunk_size_feed_forward = 0  # saves memory, and fails at texts of other lengths
    config.return_dict, config.output_hidden_states, config.output_attentions = True, False, False  # as each call says
    if config.is_encoder_decoder or (_is_causal(config) and whole_folder_of(folder) is None):  # its name may not tell
        raise BiasflowError(f"{folder}: {config.model_type} is {DECODER}")
    if type(config) not in CLASSES[head][1]:
        raise AbsentError(f"{folder}: a {config.model_type} encoder has no {head} head; use an encoder that has one.")
    return config


def _is_causal(config: PretrainedConfig) -> bool:
    return type(config) in MODEL_FOR_CAUSAL_LM_MAPPING and type(config) not in MODEL_FOR_MASKED_LM_MAPPING


def _checked_tokenizer(folder: Path, model: PreTrainedModel, head: Head) -> PreTrainedTokenizerBase:
    """The tokenizer of a model whose weights and vocabulary are checked."""
    _check_values(folder, model)
    with explained(folder, "the tokenizer cannot be read", "add its files") as files:
        tokenizer = AutoTokenizer.from_pretrained(files, **OFFLINE)
    tokenizer.name_or_path = str(folder)
    if length := settings_of(folder).get("max_seq_length"):  # a sentence encoder may take fewer than its tokenizer
        tokenizer.model_max_length = length
    rows = model.get_input_embeddings().num_embeddings
    if not set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens):
        raise BiasflowError(f"{folder}: the tokenizer's vocabulary is empty; add its vocab.txt or tokenizer.json.")
    if len(tokenizer) > rows:
        raise BiasflowError(
            f"{folder}: the tokenizer has {len(tokenizer)} pieces, but the encoder {rows}; use its own tokenizer."
        )
    if _is_causal(model.config):  # a sentence encoder, whose own tokenizer need have no special tokens
        return tokenizer
    mask = tokenizer.mask_token
    same = [kind for kind in SPECIAL if kind != "mask_token" and getattr(tokenizer, kind) == mask is not None]
    if same:
        raise BiasflowError(
            f"{folder}: the tokenizer's mask_token and {same[0]} are both {mask}; no word can be masked."
        )
    if mask is None and head in ("masked_lm", "pretraining"):
        raise AbsentError(f"{folder}: the tokenizer has no mask token, so no word can be masked.")
    absent = _absent_special(folder, tokenizer)
    if absent:
        raise BiasflowError(
            f"{folder}: the tokenizer's vocabulary has no {absent[0]}, and the number of another piece would stand for "
            "it; add the vocabulary that the encoder was trained with."
        )
    _check_around(folder, tokenizer)
    tokenizer.padding_side = "right"  # the first token of a text stands first, and positions count from it
    tokenizer.split_special_tokens = False  # a mask in a text is one token
    tokenizer.model_input_names = _inputs(model, tokenizer)
    return with_space_in_mask(tokenizer)


def _check_around(folder: Path, tokenizer: PreTrainedTokenizerBase) -> None:
    """BiasflowError for a tokenizer that does not put one special token before a text and one behind it, which stand
    for the sentence, and bound it, in all that is read."""
    around = tokenizer("")["input_ids"]
    first, last = (
        {getattr(tokenizer, f"{kind}_token_id") for kind in kinds} for kinds in (("cls", "bos"), ("sep", "eos"))
    )
    if len(around) != 2 or around[0] not in first or around[1] not in last:
        put = " ".join(tokenizer.convert_ids_to_tokens(around)) or "no special token"
        raise BiasflowError(f"{folder}: the tokenizer puts {put} around a text, {AROUND}")


def _inputs(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """What the tokenizer returns of a text for the model: always the attention mask, without which padding would be
    read as text, and the segments if the model has several, unless the folder's files say that it takes none."""
    takes, config = inspect.signature(model.forward).parameters, model.config
    names = ["input_ids", *(["attention_mask"] if "attention_mask" in takes else [])]
    usual = [SEGMENTS] if type(tokenizer).__name__ in WITHOUT_TOKENS else tokenizer.model_input_names
    said = tokenizer.init_kwargs.get("model_input_names", usual)
    has_segments = SEGMENTS in takes and SEGMENTS in said and getattr(config, "type_vocab_size", 0) > 1
    return [*names, *([SEGMENTS] if has_segments else [])]


def with_space_in_mask(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    """The tokenizer, with a mask token that takes the space before it, as the token of a word does.

    Where the folder does not say so (`lstrip`), "a <mask>" has a lone space piece before the mask, as no text has that
    an encoder was trained on."""
    mask = tokenizer.mask_token
    if mask is not None and len(tokenizer(f"a {mask}")["input_ids"]) > len(tokenizer(f"a{mask}")["input_ids"]):
        about = tokenizer.added_tokens_decoder[tokenizer.mask_token_id]
        kept = {name: getattr(about, name) for name in ("rstrip", "single_word", "normalized")}
        tokenizer.add_special_tokens({"mask_token": AddedToken(mask, lstrip=True, special=True, **kept)})
    return tokenizer


def _absent_special(folder: Path, tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """Special tokens that are not named, or that the encoder's files do not hold. A mask token may be missing, the
    token of unknown pieces where all texts can be written in bytes (BPE), and those that begin and end a text where the
    tokenizer takes its bos_token and eos_token (EuroBERT)."""
    named = {kind: getattr(tokenizer, kind) for kind in SPECIAL}
    vocabulary = type(tokenizer.backend_tokenizer.model).__name__ if tokenizer.is_fast else ""
    optional = {"mask_token", *(["unk_token"] if vocabulary == "BPE" else [])}
    if tokenizer("")["input_ids"] == [tokenizer.bos_token_id, tokenizer.eos_token_id]:
        optional |= {"cls_token", "sep_token"}
        named |= {kind: getattr(tokenizer, kind) for kind in ("bos_token", "eos_token")}
    absent = [kind for kind, token in named.items() if token is None and kind not in optional]
    if vocabulary in WITH_SPECIAL:
        pieces, file = tokenizer.backend_tokenizer.get_vocab(with_added_tokens=False), folder / "tokenizer.json"
        added = read_json(file).get("added_tokens") or [] if file.is_file() else []
        taken, numbers = set(pieces.values()), tokenizer.get_vocab()
        added = [token for token in added if token["id"] == numbers[token["content"]] and token["id"] not in taken]
        held = {*pieces, *(token["content"] for token in added)}
        absent += [token for token in named.values() if token is not None and token not in held]
    return absent


@contextlib.contextmanager
def explained(folder: Path, fault: str, advice: str, beside: Sequence[Path] = ()) -> Iterator[Path]:
    """A folder with links to the files of an encoder that records name, and to those `beside` it, so that transformers
    finds none that stands in no record. Whatever it raises becomes one line.

    The links stay until the process ends: some tokenizers copy their files when they are saved."""
    files = Path(tempfile.mkdtemp(prefix="biasflow-"))
    atexit.register(shutil.rmtree, files, ignore_errors=True)
    for path in (*stored_files(encoder_folder(folder)), *beside):
        link = files / path.relative_to(folder)
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(path.resolve())
    try:
        yield files
    except Exception as error:  # tokenizers raises nothing more special
        told = " ".join(str(error).split()).replace(str(files), str(folder))
        told = "their sizes are not those of config.json" if "ignore_mismatched_sizes" in told else told
        raise BiasflowError(f"{folder}: {fault} ({told}); {advice}.") from error
