"""What an encoder's folder says of itself, checked without torch: for local encoders before the first job.

Of the weights only the header is read (names, types and shapes), so that it takes no longer for a large encoder."""

import math
import os
import re
import stat
from collections.abc import Collection, Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json, read_text, sha256
from biasflow.encoders.families import DECODER, FAMILIES, sign_of_decoder

MODULES = "modules.json"  # of sentence-transformers
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"  # the second names files, in place of the first
CONFIG, TOKENIZER, SPECIAL_TOKENS = "config.json", "tokenizer_config.json", "special_tokens_map.json"
ADAPTER = "adapter_config.json"
HEAD = "head.safetensors"  # the linear layer on the first token of a classifier that biasflow fine-tuned
CARRIED = "methods.safetensors"  # in the folder of a model that was trained with a method active
# The files that are read here, and how many bytes they may have: real ones have some thousand.
LARGEST = {CONFIG: 2**20, TOKENIZER: 2**24, SPECIAL_TOKENS: 2**20}
PIECES = ("tokenizer.json", "vocab.txt", "vocab.json")  # files of pieces: the first that is there counts
# All that the tokenizers of transformers are made of beside their settings (a test compares).
OF_TOKENIZER = (*PIECES, "merges.txt", "added_tokens.json", "*.model", "bpe.codes", "dict.txt", "entity_vocab.json")
OF_TOKENIZER += ("word_pronunciation.json", "word_shape.json")
PIECE, BESIDE = 300, 2**22  # bytes of such a file for each piece, and for all else in it: real ones have a third
# Keys that transformers obeys without a word -> what they stand for.
REFUSED = {
    r"auto_map": "needs code of its own, which is never run",
    r"_?(attn|experts)_implementation(_internal)?": "names an implementation, which may be fetched from a network",
    r"quantization_config|compression_config|load_in_[48]bit": "is quantised; floating-point weights are needed",
    r"transformers_weights|fast_tokenizer_files|gguf_file": "names files to take in place of its own",
}
MOST_LABELS = 10_000
SETTINGS = "sentence_*_config.json"  # what sentence-transformers says of an encoder; * is mostly bert
# Its keys that sentence-transformers hands on: a tokenizer that lies elsewhere, or options of loading.
HANDED_ON = (
    "tokenizer_name_or_path",
    *(f"{part}_{kind}" for part in ("model", "config") for kind in ("args", "kwargs")),
)
HANDED_ON += ("tokenizer_args", "processor_kwargs")
LEAST, NO_LIMIT = 8, int(1e30)  # tokens of the longest text; what transformers writes where there is none
# The functions that transformers knows by name (a test compares): torch would take seconds to load.
ACTIVATIONS = frozenset(
    "gelu gelu_10 gelu_accurate gelu_fast gelu_new gelu_python gelu_python_tanh gelu_pytorch_tanh hardswish laplace "
    "leaky_relu linear mish prelu quick_gelu relu relu2 relu6 sigmoid silu sqrtsoftplus swish tanh xielu".split()
)
# Sizes: what they are called in config.json, by family.
HIDDEN, DEPTH, HEADS = ("hidden_size", "dim"), ("num_hidden_layers", "n_layers"), ("num_attention_heads", "n_heads")
INNER, VOCABULARY, POSITIONS = ("intermediate_size", "hidden_dim"), ("vocab_size",), ("max_position_embeddings",)
SEGMENTS = ("type_vocab_size",)  # may be 0
EMBEDDED = ("input_embedding_size", "embedding_size", *HIDDEN)
SIZES = (HIDDEN, DEPTH, HEADS, INNER, VOCABULARY, POSITIONS, EMBEDDED)
# How names of weights end -> their sizes.
SHAPES = {
    "word_embeddings.weight": (VOCABULARY, EMBEDDED),
    "cls.predictions.bias": (VOCABULARY,),
    "lm_head.bias": (VOCABULARY,),
    "vocab_projector.bias": (VOCABULARY,),
    "tok_embeddings.weight": (VOCABULARY, HIDDEN),
    "embed_tokens.weight": (VOCABULARY, HIDDEN),
    "position_embeddings.weight": (POSITIONS, EMBEDDED),
    "token_type_embeddings.weight": (SEGMENTS, EMBEDDED),
    "attention.self.query.weight": (HIDDEN, HIDDEN),
    "attention.q_lin.weight": (HIDDEN, HIDDEN),
    "intermediate.dense.weight": (INNER, HIDDEN),
    "ffn.lin1.weight": (INNER, HIDDEN),
    "albert_layers.0.ffn.weight": (INNER, HIDDEN),
    "mlp.gate_proj.weight": (INNER, HIDDEN),
    "mlp.fc11.weight": (INNER, HIDDEN),
    "mlp.Wo.weight": (HIDDEN, INNER),
}
# What programs that wrap a model put before the names of all its weights.
WRAPPED = re.compile(r"((_orig_mod|module|model)\.)+")
LAYER = re.compile(r"(?:^|\.)layers?\.(\d+)\.")
TRAINED = (".weight", ".bias")
RATES = {"dropout": 1, "dropout_prob": 1, "_eps": 0.1, "epsilon": 0.1}  # how keys of config.json end -> at most
NUMBERS = ("F64", "F32", "F16", "BF16")
# Special tokens besides the mask -> what they are where no file names them, by family.
SPECIAL = {
    "unk_token": ("[UNK]", "<unk>"),
    "cls_token": ("[CLS]", "<s>"),
    "sep_token": ("[SEP]", "</s>"),
    "pad_token": ("[PAD]", "<pad>"),
}
WITHOUT_TOKENS = ("PreTrainedTokenizerFast", "TokenizersBackend")  # classes that have no special token of themselves
# What is wrong with a tokenizer that puts no special tokens around a text, and what to do.
AROUND = (
    "and an encoder needs one before it and one behind it; take the tokenizer.json that it was trained with (its key "
    "post_processor puts them there), or name its class as tokenizer_class in tokenizer_config.json"
)
AGAIN = "get or make the encoder again"
MERGE = "merge it into its encoder (merge_and_unload of peft) and save that with save_pretrained"

Header = Mapping[str, tuple[str, tuple[int, ...]]]  # name of a tensor -> type and shape


def check_stored(folder: str | Path) -> None:
    """BiasflowError, one line that names the file, for a folder that no job can use, or that transformers would load
    without a word and wrongly: a file that is none (a pipe would be waited for without end) or is too large; keys that
    stand for code of the encoder's own, for an attention that is fetched, or for quantised weights; a decoder; an
    architecture that transformers does not know; sizes that are no numbers or do not fit the weights; an unknown
    activation; a longest text of no or few tokens; a mask token that is another special token; weights that lie
    elsewhere, that are no floating-point numbers, of an adapter, or of more or fewer layers than config.json has; more
    pieces in the tokenizer than the encoder has vectors for; no whole file."""
    folder = Path(folder)
    for path in stored_files(folder):
        _check_regular(path)
    about = {name: object_in(folder / name) for name in LARGEST}
    for name in (TOKENIZER, SPECIAL_TOKENS):
        _check_keys(folder / name, about[name])
    check_config(folder / CONFIG)
    _check_lengths(folder)
    _check_handed_on(folder)
    _check_mask(folder, [about[name] for name in reversed(LARGEST)])
    stored = headers(folder)
    for path, header in stored.items():
        _check_weights(path, header, about[CONFIG])
    _check_depth(folder, stored, size_of(about[CONFIG], DEPTH))
    _check_names(folder, {name for header in stored.values() for name in header}, about[CONFIG]["model_type"])
    if rows := size_of(about[CONFIG], VOCABULARY):
        _check_pieces(folder, rows)


def stored_files(folder: str | Path) -> list[Path]:
    """The files that an encoder is made of, config.json first, then weights and tokenizer. These alone are loaded
    (encoders.load), and all of them are in the records of what is made from it; nothing depends on any other file."""
    folder = Path(folder)
    weights = weight_files(folder)
    index = [folder / INDEX] * (weights != [folder / WEIGHTS])
    names = (TOKENIZER, SPECIAL_TOKENS, *OF_TOKENIZER, SETTINGS)
    entries = folder.iterdir() if folder.is_dir() else ()  # plans are also made of encoders that are not there yet
    tokenizer = sorted(path for path in entries if any(map(path.match, names)))
    head = [folder / HEAD] * (folder / HEAD).is_file()
    config = [folder / CONFIG] * ((folder / CONFIG).is_file() or not (folder / MODULES).is_file())  # static ones: none
    return list(dict.fromkeys([*config, *index, *weights, *head, *tokenizer]))


def digests_of(folder: str | Path) -> dict[str, str]:
    """The sha256 of all files that an encoder is made of (weights, configuration, tokenizer), by their names."""
    return {path.name: sha256(path) for path in stored_files(folder)}


def check_config(path: Path) -> None:
    """BiasflowError for what `check_stored` refuses by config.json alone, which can be read before the weights are
    there."""
    _check_regular(path)
    about = object_in(path)
    if _names_transformers_classes(about):
        _check_named_sizes(path, about)
        about = {key: value for key, value in about.items() if key != "auto_map"}
    _check_keys(path, about)
    _check_sizes(path, about)
    names = about.get("architectures") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BiasflowError(f"{path}: key 'architectures' must be a list of names; {AGAIN}")
    is_embedder = not about.get("is_encoder_decoder") and any(
        (folder / MODULES).is_file() for folder in path.parents[:2]
    )
    if (sign := sign_of_decoder(about)) and not is_embedder:
        raise BiasflowError(f"{path}: {sign}: {DECODER}")
    _check_known(path, about)


def _names_transformers_classes(about: Mapping) -> bool:
    """Whether all classes that `auto_map` names are those of a listed model type in transformers, which is loaded in
    their place: EuroBERT was published with code that transformers has taken over. JinaBERT, whose model type is bert,
    names other classes, and transformers' BERT would be another encoder."""
    kind, classes = about.get("model_type"), about.get("auto_map")
    if not (classes and isinstance(classes, dict) and isinstance(kind, str) and kind in FAMILIES):
        return False
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    start = CONFIG_MAPPING_NAMES[kind].removesuffix("Config")
    return all(isinstance(name, str) and name.rpartition(".")[2].startswith(start) for name in classes.values())


def _check_named_sizes(path: Path, about: Mapping) -> None:
    """NomicBERT's own code called the sizes otherwise: transformers would take those of its default."""
    for names in (HIDDEN, DEPTH):
        if size_of(about, names) is None:
            raise BiasflowError(
                f"{path}: no key {names[0]!r}: the keys are those of the publisher's own code, which is never run; "
                "load the encoder with transformers and save it again (docs/howto/encoder.md shows how)"
            )


def _check_known(path: Path, about: Mapping) -> None:
    kind = about.get("model_type")
    if not isinstance(kind, str):
        raise BiasflowError(f"{path}: no key 'model_type', which says the architecture; {AGAIN}")
    if kind not in FAMILIES:  # all of these are known: transformers takes a second to load
        from transformers import __version__
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

        if kind not in CONFIG_MAPPING_NAMES:
            raise BiasflowError(
                f"{path}: key 'model_type' is {_short(kind)}, which transformers {__version__} does not know; "
                "install a newer transformers that knows it, or use another encoder"
            )


def adapter_of(folder: Path) -> str:
    """The name of the model that an adapter in the folder (of peft) belongs to, "" where no adapter lies there."""
    about = object_in(folder / ADAPTER)
    names = (about.get(key) for key in ("base_model_name_or_path", "model_name"))  # of peft, of adapters
    return str(next(filter(None, names), "another model")) if about else ""


def has_mask(folder: Path) -> bool:
    """Whether an encoder's tokenizer has a mask token: one that its files name, or that its class has of itself."""
    about = {**object_in(folder / TOKENIZER), **object_in(folder / SPECIAL_TOKENS)}
    if "mask_token" in about:
        return about["mask_token"] is not None
    return about.get("tokenizer_class") not in WITHOUT_TOKENS


def _check_regular(path: Path) -> None:
    try:
        about = path.stat()
    except OSError as error:
        raise BiasflowError(f"{path}: cannot be read: {error.strerror}; {AGAIN}") from error
    if not os.access(path, os.R_OK):
        raise BiasflowError(f"{path}: you may not read it; change its permissions (chmod u+r), or ask its owner")
    if not stat.S_ISREG(about.st_mode):
        raise BiasflowError(f"{path}: is no regular file (a folder, a pipe or a device); {AGAIN}")
    if about.st_size > LARGEST.get(path.name, about.st_size):
        raise BiasflowError(f"{path}: has {about.st_size} bytes, at most {LARGEST[path.name]} are read; {AGAIN}")


def object_in(path: Path) -> Mapping:
    """What a file of JSON holds, {} where there is none. BiasflowError where that is no object."""
    about = read_json(path) if path.is_file() else {}
    if not isinstance(about, dict):
        raise BiasflowError(f"{path}: it must hold a JSON object; {AGAIN}")
    return about


def _check_keys(path: Path, about: Mapping) -> None:
    for key, value in about.items():
        for pattern, why in REFUSED.items():
            if value not in (None, False) and re.fullmatch(pattern, key):
                raise BiasflowError(f"{path}: key {key!r}: the encoder {why}; use another encoder, or remove the key")


def _check_sizes(path: Path, about: Mapping) -> None:
    for key in {key for names in SIZES for key in names if key in about}:
        if type(about[key]) is not int or about[key] < 1:
            raise BiasflowError(f"{path}: key {key!r} is {_short(about[key])}; it must be a whole number above 0")
    hidden, heads = size_of(about, HIDDEN), size_of(about, HEADS)
    if hidden and heads and hidden % heads:
        raise BiasflowError(f"{path}: {heads} attention heads do not divide {hidden} dimensions; {AGAIN}")
    labels = about.get("num_labels", 1)
    if type(labels) is not int or not 0 <= labels <= MOST_LABELS:
        raise BiasflowError(f"{path}: key 'num_labels' is {_short(labels)}; give a whole number up to {MOST_LABELS}")
    if type(segments := about.get(*SEGMENTS, 0)) is not int or segments < 0:
        raise BiasflowError(f"{path}: key {SEGMENTS[0]!r} is {_short(segments)}; it must be a whole number")
    padding, rows = about.get("pad_token_id"), size_of(about, VOCABULARY)
    if type(padding) is int and rows and padding >= rows:
        raise BiasflowError(f"{path}: key 'pad_token_id' is {padding}, and there are {rows} pieces; {AGAIN}")
    for key, value in about.items():
        most = next((most for end, most in RATES.items() if key.endswith(end)), None)
        if isinstance(value, int | float) and not (abs(value) < math.inf if most is None else 0 <= value <= most):
            wanted = "a finite number" if most is None else f"a number from 0 to {most}"
            raise BiasflowError(f"{path}: key {key!r} is {_short(value)}; it must be {wanted}; {AGAIN}")
    for key in ("hidden_act", "activation"):
        if key in about and about[key] not in list(ACTIVATIONS):  # a list: the value may have no hash
            raise BiasflowError(f"{path}: key {key!r}: transformers has no activation {_short(about[key])}; {AGAIN}")


def _check_mask(folder: Path, abouts: list[Mapping]) -> None:
    """abouts: what files say of special tokens; the later ones count more."""
    tokens = {}
    for about in abouts:
        for kind in (*SPECIAL, "mask_token"):
            token = about.get(kind)
            tokens[kind] = (token.get("content") if isinstance(token, dict) else token) or tokens.get(kind)
    mask = tokens["mask_token"]
    for kind, usual in SPECIAL.items():
        if mask is not None and mask in ([tokens[kind]] if tokens[kind] else usual):
            raise BiasflowError(
                f"{folder / TOKENIZER}: mask_token and {kind} are both {_short(mask)}: no word could be masked; "
                "name the token that the encoder was trained with"
            )


def settings_of(folder: Path) -> Mapping:
    """What sentence-transformers does with a text before it is tokenised, as a sentence encoder's folder says it."""
    return object_in(next(iter(sorted(folder.glob(SETTINGS))), folder / SETTINGS))


def _check_lengths(folder: Path) -> None:
    """BiasflowError for a longest text (in tokens) of which no sentence could be read; null is no limit."""
    for file, key in (
        (TOKENIZER, "model_max_length"),
        *((path.name, "max_seq_length") for path in folder.glob(SETTINGS)),
    ):
        longest = object_in(folder / file).get(key)
        if longest is not None and not (longest == NO_LIMIT or (type(longest) is int and longest >= LEAST)):
            raise BiasflowError(
                f"{folder / file}: key {key!r} is {_short(longest)}; give the whole number of tokens that the encoder "
                f"takes, at least {LEAST}"
            )


def _check_handed_on(folder: Path) -> None:
    """BiasflowError for what sentence-transformers would load otherwise than the folder's own files say it, or from
    elsewhere; that code of the folder may run counts for nothing."""
    for path in folder.glob(SETTINGS):
        for key, value in object_in(path).items():
            options = set(value) - {"trust_remote_code"} if isinstance(value, Mapping) else value
            if key in HANDED_ON and options:
                raise BiasflowError(
                    f"{path}: key {key!r} is {_short(value)}: the encoder is read by its own files alone, as they are; "
                    "remove the key, or use another encoder"
                )


def puts_around(folder: Path, tokenizer) -> bool:
    """Whether a tokenizer (of the package tokenizers) puts special tokens around a text, where its class has none of
    itself; any other class is tried when it is loaded."""
    return (
        object_in(folder / TOKENIZER).get("tokenizer_class") not in WITHOUT_TOKENS or len(tokenizer.encode("").ids) > 1
    )


def headers(folder: Path) -> dict[Path, Header]:
    """The header of each file of weights that transformers would load, with names without `wrapping`."""
    header_by_path = {path: header_of(path) for path in weight_files(folder)}
    before = wrapping_of({name for header in header_by_path.values() for name in header})
    return {
        path: {name.removeprefix(before): about for name, about in header.items()}
        for path, header in header_by_path.items()
    }


def static_table(folder: Path) -> tuple[str, tuple[int, int]]:
    """The name and the shape, [pieces, dimensions], of the vectors of a sentence encoder without layers.

    BiasflowError for weights that are none of such an encoder."""
    shapes = {name: shape for name, (_, shape) in header_of(folder / WEIGHTS).items()}
    name = next((name for name in ("embedding.weight", "embeddings") if len(shapes.get(name, ())) == 2), None)
    if name is None:
        raise BiasflowError(f"{folder / WEIGHTS}: no table of the vectors of pieces (embedding.weight); {AGAIN}")
    return name, shapes[name]


def wrapping(folder: Path) -> str:
    """What stands before the names of all weights in a folder and belongs to no encoder, such as "_orig_mod."."""
    return wrapping_of({name for path in weight_files(folder) for name in header_of(path)})


def wrapping_of(names: Collection[str]) -> str:
    """What stands before all these names of weights and belongs to no encoder, or ""."""
    match = WRAPPED.match(min(names, default=""))
    before = match[0] if match else ""
    while not all(name.startswith(before) for name in names):
        before = before.removesuffix(".").rpartition(".")[0] + "."
        before = "" if before == "." else before
    return before


def weight_files(folder: Path) -> list[Path]:
    """The files of weights that transformers would load from a folder: one, or those that an index names.

    BiasflowError for an index that names a file which does not lie beside it: transformers would go there, and what it
    reads would stand in no record."""
    index = folder / INDEX
    if (folder / WEIGHTS).exists() or not index.exists():
        return [folder / WEIGHTS]
    shards = object_in(index).get("weight_map")
    if not (isinstance(shards, dict) and shards and all(isinstance(name, str) for name in shards.values())):
        raise BiasflowError(f"{index}: key 'weight_map' must say in which file each weight is; {AGAIN}")
    names = sorted(set(shards.values()))
    if not names[0].endswith(".safetensors"):  # transformers goes by it, and would take all files for pickled weights
        raise BiasflowError(f"{index}: names {names[0]}, not a *.safetensors; rename it, also in the index")
    for name in names:
        if not is_plain_name(name):
            raise BiasflowError(
                f"{index}: names {name}, which lies elsewhere: an encoder is its own files; put the file into the "
                "folder, and its name alone into the index"
            )
        if not (folder / name).is_file():
            raise BiasflowError(f"{index}: names {name}, and there is no such file; {AGAIN}")
    return [folder / name for name in names]


def is_plain_name(name: str) -> bool:
    """Whether a name in an encoder's files is that of something in the same folder, and not a path to another place."""
    return name not in ("", ".", "..") and not re.search(r"[/\\\0]", name)


def header_of(path: Path) -> Header:
    """The header of a file of weights; BiasflowError for one that cannot be read."""
    _check_regular(path)
    try:
        with safe_open(path, framework="np") as weights:
            slices = {name: weights.get_slice(name) for name in weights.keys()}  # noqa: SIM118
            return {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}
    except (SafetensorError, OSError) as error:
        raise BiasflowError(f"{path}: the weights cannot be read ({error}); {AGAIN}") from error


def _check_weights(path: Path, header: Header, about: Mapping) -> None:
    for name, (kind, shape) in header.items():
        if ".lora_" in name or ".base_layer." in name:
            raise BiasflowError(f"{path}: {name} belongs to an adapter that is not merged; {MERGE}")
        if name.endswith(TRAINED) and kind not in NUMBERS:
            raise BiasflowError(f"{path}: {name} holds numbers of type {kind}; floating-point weights are needed")
        for end, sizes in SHAPES.items() if about.get("model_type") in FAMILIES else ():
            said = tuple(size_of(about, size) for size in sizes)
            if name.endswith(end) and None not in said and shape != said:
                keys = " and ".join(next(key for key in size if key in about) for size in dict.fromkeys(sizes))
                raise BiasflowError(
                    f"{path}: {name} is {_by(shape)}, but {CONFIG} says {_by(said)} ({keys}); correct it, or {AGAIN}"
                )


def _check_depth(folder: Path, headers: Mapping[Path, Header], depth: int | None) -> None:
    """Every layer that config.json says must have weights, and no other."""
    names = [(path, name, LAYER.search(name)) for path, header in headers.items() for name in header]
    of_layer = {int(layer[1]): (path, name) for path, name, layer in names if layer}
    if depth is None or not of_layer:  # without any it is no encoder: loading says which weights are missing
        return
    path, name = of_layer[max(of_layer)]
    if max(of_layer) >= depth:
        raise BiasflowError(
            f"{path}: there are weights of {name}, but config.json says {depth} layers (the first is layer 0); "
            "correct num_hidden_layers"
        )
    if absent := next((layer for layer in range(depth) if layer not in of_layer), None):
        raise BiasflowError(
            f"{folder}: config.json says {depth} layers, but there are no weights of layer {absent} (the first is "
            f"layer 0); correct num_hidden_layers, or {AGAIN}"
        )


def _check_names(folder: Path, names: Collection[str], kind: str) -> None:
    """BiasflowError where the layers have names that transformers would not look for: it would find none of them."""
    if kind not in FAMILIES:
        return
    layers, prefix = f"{FAMILIES[kind].layers}.", f"{FAMILIES[kind].prefix or kind}."
    for name in names:
        before, found, _ = name.partition(layers)
        if found and before.removeprefix(prefix) not in ("", *["encoder."] * (kind == "nomic_bert")):
            raise BiasflowError(
                f"{folder}: names of its weights begin with {before!r} ({name}), where those of a {kind} encoder begin "
                f"with {prefix!r} or nothing; save the encoder itself with save_pretrained, without what is around it"
            )


def size_of(about: Mapping, names: tuple[str, ...]) -> int | None:
    """The size that config.json has by one of these names (HIDDEN, DEPTH ...), or None."""
    return next((about[name] for name in names if name in about), None)


def _check_pieces(folder: Path, rows: int) -> None:
    """Every piece of a tokenizer needs a vector. A file of millions would take minutes to read, and is refused by its
    size alone."""
    for path in (path for name in OF_TOKENIZER for path in folder.glob(name)):
        if path.stat().st_size > PIECE * rows + BESIDE:
            raise BiasflowError(
                f"{path}: has {path.stat().st_size:,} bytes, too many for the {rows:,} pieces of config.json "
                "(vocab_size); use the encoder's own tokenizer"
            )
    path = next((folder / name for name in PIECES if (folder / name).is_file()), None)
    if path and (n := len(_pieces(path))) > rows:
        raise BiasflowError(
            f"{path}: has {n:,} pieces, but the encoder has vectors for {rows:,} (vocab_size of config.json): use its "
            "own tokenizer or, where pieces were added, resize_token_embeddings and save_pretrained"
        )


def _pieces(path: Path) -> set[str]:
    """The pieces in one of PIECES; of tokenizer.json as far as it has its usual form, which its library checks."""
    if path.suffix == ".txt":
        return set(read_text(path, exact=True).removesuffix("\n").split("\n"))
    about = object_in(path)
    if path.name != PIECES[0]:
        return set(about)
    model, added = about.get("model"), about.get("added_tokens")
    pieces = model.get("vocab") if isinstance(model, dict) else None  # by piece, or a list of [piece, score]
    if isinstance(pieces, list):
        pieces = [row[0] for row in pieces if isinstance(row, list) and row]
    contents = [token.get("content") for token in added if isinstance(token, dict)] if isinstance(added, list) else []
    return {piece for piece in (*(pieces or ()), *contents) if isinstance(piece, str)}


def tokenizer_of(folder: Path):
    """The tokenizer (of the package tokenizers) of an encoder's folder, which neither pads nor cuts a text; None where
    it has neither a tokenizer.json nor BERT's list of pieces. BiasflowError for a file that the package cannot read."""
    from tokenizers import BertWordPieceTokenizer, Tokenizer  # slow to load, and few starts need it
    from tokenizers.normalizers import BertNormalizer

    file, pieces = (folder / name for name in PIECES[:2])
    try:
        about = object_in(folder / TOKENIZER)
        lower = bool(about.get("do_lower_case", True))
        if file.is_file():
            tokenizer = Tokenizer.from_file(str(file))
            if isinstance(tokenizer.normalizer, BertNormalizer) and about.get("tokenizer_class") not in WITHOUT_TOKENS:
                tokenizer.normalizer.lowercase = lower  # transformers does not take it from the file
            tokenizer.no_padding()  # as the files of most sentence encoders have it, to 128 tokens or more
            tokenizer.no_truncation()
            return tokenizer
        if pieces.is_file():
            return Tokenizer.from_str(BertWordPieceTokenizer(str(pieces), lowercase=lower).to_str())
    except Exception as error:  # the package has no kind of its own
        if isinstance(error, BiasflowError):
            raise
        raise BiasflowError(f"{folder}: the tokenizer cannot be read: {_short(str(error))}") from error
    return None


def lowers(tokenizer) -> bool:
    """Whether a tokenizer (of the package tokenizers) writes texts in lower case."""
    return bool(tokenizer.normalizer) and "A" not in tokenizer.normalizer.normalize_str("A")


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 80 else f"{text[:76]} ..."
