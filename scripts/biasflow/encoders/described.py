"""What an encoder is, as its own files say: architecture, sizes, heads, sha256 of the weights. Imports no torch."""

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json, sha256
from biasflow.base.shipped import shipped
from biasflow.base.tabular import read_text_csv
from biasflow.corpora.word_sets import split_words
from biasflow.encoders.families import FAMILIES, HEADS, lacking, sign_of_decoder
from biasflow.encoders.sentence_transformers import (
    FIRST_TOKEN,
    STATIC,
    check_modules,
    encoder_folder,
    files_beside,
    is_static,
    own_pooling,
    sentence_vector,
    whole_folder_of,
)
from biasflow.encoders.stored import (
    ADAPTER,
    AROUND,
    CONFIG,
    DEPTH,
    HEAD,
    HIDDEN,
    MERGE,
    SETTINGS,
    TOKENIZER,
    adapter_of,
    check_config,
    check_stored,
    has_mask,
    header_of,
    headers,
    lowers,
    puts_around,
    settings_of,
    size_of,
    static_table,
    tokenizer_of,
    wrapping_of,
)

COLUMNS = ["encoder", "architecture", "layers", "width", "parameters", *(f"{head}_head" for head in HEADS)]
COLUMNS += ["head_loss_before", "head_loss_after", "english_words_split", "sentence_vector", "sha256"]
ABOUT = "biasflow_heads"  # key of config.json: the heads that biasflow gave an encoder, and the losses (training.heads)
ENGLISH = shipped("data/ceat_words.csv")  # common words: the vocabulary of an encoder of English has most of them
SPECIAL = re.compile(r"\[.*\]|<.*>")  # pieces that are no text
TAKEN = 0.01  # of the pieces of a vocabulary: so many may have a capital letter that the tokenizer never gives
FOREIGN = 0.5  # the share of these from which English tests say little about an encoder


@dataclass(frozen=True)
class Description:
    """What the folder of an encoder says of it.

    config: its config.json; lacking: head ("masked_lm", "next_sentence") -> why its weights hold none that would be
    loaded, without an entry for a head that they hold; has_mask: whether its tokenizer has a mask token; pooling: what
    stands for a sentence; not_applied: what lies in the folder, would change what is measured, and is not read; folder:
    where its weights lie, which may be in a part of the folder; sentence: what sentence-transformers makes the vector
    of a text of, "" for another encoder; beside: the files that this is made from."""

    config: Mapping
    lacking: Mapping[str, str] = field(default_factory=dict)
    has_mask: bool = True
    pooling: str = FIRST_TOKEN
    not_applied: tuple[str, ...] = ()
    folder: Path | None = None
    sentence: str = ""
    beside: tuple[Path, ...] = ()


def describe(folder: Path) -> Description:
    """What the folder of an encoder says. BiasflowError as `stored.check_stored`, and for a tokenizer that puts no
    special tokens around a text."""
    folder = whole_folder_of(folder) or folder
    home = encoder_folder(folder)
    if is_static(folder):
        check_modules(folder)
        about = {"pooling": own_pooling(folder), "sentence": sentence_vector(folder), "folder": home}
        return Description(
            {"model_type": STATIC, HIDDEN[0]: static_table(home)[1][1]},
            dict.fromkeys(HEADS, "it has no layers"),
            has_mask=False,
            beside=tuple(files_beside(folder)),
            **about,
        )
    check_stored(home)
    check_modules(folder)
    config, names = read_json(home / CONFIG), set().union(*headers(home).values())
    reasons = {head: reason for head in HEADS if (reason := lacking(head, config, names))}
    tokenizer, not_applied = tokenizer_of(home), []
    if tokenizer is not None:
        if not puts_around(home, tokenizer) and not sign_of_decoder(config):
            raise BiasflowError(f"{home}: the tokenizer puts no special tokens around a text, {AROUND}")
        not_applied += _case_not_applied(tokenizer)
        if settings_of(home).get("do_lower_case") and not lowers(tokenizer):
            not_applied.append(f"lower case (do_lower_case of {SETTINGS}), but in its own vectors of sentences")
    if base := adapter_of(home):
        not_applied.append(f"the adapter of {base} ({ADAPTER}); to measure both, {MERGE}")
    vector, beside = sentence_vector(folder), tuple(files_beside(folder))
    about = (has_mask(home), own_pooling(folder), tuple(not_applied), home, vector, beside)
    return Description(config, reasons, *about)


def hub_entry(folder: Path, names: Collection[str]) -> dict[str, object]:
    """The keys that the entry of an encoder of the hub has: its heads, and its pooling where it is a sentence encoder.

    folder: with what its repository says of it, without its weights; names: those of its weights. BiasflowError for
    an encoder that no job could use."""
    check_config(folder / CONFIG)
    config, before, pooling = read_json(folder / CONFIG), wrapping_of(names), own_pooling(folder)
    names = {name.removeprefix(before) for name in names}
    heads = {head: not lacking(head, config, names) for head in HEADS}
    return heads | ({"pooling": pooling} if sentence_vector(folder) or pooling != FIRST_TOKEN else {})


def classes_of(config: Mapping) -> list[str]:
    """The names of a classifier's classes, by their numbers: those of config.json, or what transformers calls them."""
    names = config.get("id2label") or [f"LABEL_{number}" for number in range(config.get("num_labels", 2))]
    return [str(names[key]) for key in sorted(names, key=int)] if isinstance(names, Mapping) else names


def check_classifier(about: Description) -> None:
    """BiasflowError unless an encoder has a head that was trained to choose one of two or more labels, as many as
    config.json names."""
    config, classes, where = about.config, classes_of(about.config), f"{about.folder}: "
    kind, problem, fault = config["model_type"], config.get("problem_type"), ""
    if problem == "regression" or len(classes) < 2:
        fault = "its head predicts a number (regression), and no label; name a classifier of labels"
    elif problem == "multi_label_classification":
        fault = f"it gives a text several labels (problem_type {problem}); one label a text is needed"
    elif len({name.lower() for name in classes}) < len(classes):
        fault = f"two of its labels have one name, capitals apart ({', '.join(classes)}); mend id2label of {CONFIG}"
    elif config.get("classifier_pooling") == "late":
        fault = "it averages logits (classifier_pooling late), so no vector stands for a text; it cannot be measured"
    if fault:
        raise BiasflowError(where + fault)
    shapes = {name: shape for header in headers(about.folder).values() for name, (_, shape) in header.items()}
    layers = FAMILIES[kind].classifier if kind in FAMILIES else ("classifier",)
    if (about.folder / HEAD).is_file():
        shapes, layers = (
            {f"head.{name}": shape for name, (_, shape) in header_of(about.folder / HEAD).items()},
            ["head"],
        )
    for layer in layers:
        rows = next((shape[0] for name, shape in shapes.items() if f".{name}".endswith(f".{layer}.weight")), None)
        if rows is None:
            raise BiasflowError(
                f"{where}the weights lack {layer}.weight, and transformers would make up a classification head; name "
                "the folder of a fine-tuned classifier"
            )
    if rows != len(classes):
        raise BiasflowError(
            f"{where}the head has {rows} outputs, and id2label of {CONFIG} {len(classes)} labels; mend id2label"
        )


def _case_not_applied(tokenizer) -> list[str]:
    """In words, that a tokenizer and its vocabulary do not agree on capital letters; [] where they do."""
    pieces = [piece for piece in tokenizer.get_vocab(with_added_tokens=False) if not SPECIAL.fullmatch(piece)]
    n = sum(any(map(_is_capital, piece)) for piece in pieces)
    advice = (
        f'write "do_lower_case": {json.dumps(not lowers(tokenizer))} into {TOKENIZER} if the encoder was trained so'
    )
    if lowers(tokenizer) and n > TAKEN * len(pieces):
        share = f"{n:,} of {len(pieces):,} pieces of the vocabulary ({n / len(pieces):.0%}) have some"
        return [
            f"capital letters: {share} and never come up, because the tokenizer writes texts in lower case; {advice}"
        ]
    if not lowers(tokenizer) and pieces and not n:
        return [f"lower case: the tokenizer keeps capital letters, and no piece of the vocabulary has one; {advice}"]
    return []


def _is_capital(letter: str) -> bool:
    """Whether it is a capital letter, and not the sign of a byte (as Ġ in RoBERTa's vocabulary)."""
    return letter.isupper() and (letter.isascii() or ord(letter) >= 0x180)


def english_split(folder: Path) -> float:
    """The share of common English words (those of CEAT's tests) that an encoder's vocabulary splits or lacks; NaN where
    no file of its tokenizer can be read here."""
    words = read_text_csv(ENGLISH)["word"].unique()
    tokenizer = tokenizer_of(folder)
    return math.nan if tokenizer is None else len(split_words(tokenizer, words)) / len(words)


def table_row(folder: str | Path) -> dict[str, object]:
    """The row of an encoder in encoders.csv: COLUMNS without its name; "" for what config.json does not say.

    parameters: how many numbers the weights hold; heads: "yes" or "no", whether the weights hold them, or "ours" where
    biasflow gave them to the encoder; head_loss: of masked tokens that were held out from the training of such a head,
    in nats; sha256: of the file of weights, of several with spaces between."""
    folder = Path(folder)
    about, files = describe(folder), headers(folder)
    config = about.config
    ours = config.get(ABOUT, {"heads": [], "loss_before": {}, "loss_after": {}})
    heads = {head: "ours" if head in ours["heads"] else "no" if head in about.lacking else "yes" for head in HEADS}
    return {
        "architecture": " ".join(config.get("architectures") or [config.get("model_type", "")]),
        "layers": size_of(config, DEPTH) or "",
        "width": size_of(config, HIDDEN) or "",
        "parameters": sum(math.prod(shape) for header in files.values() for _, shape in header.values()),
        **{f"{head}_head": value for head, value in heads.items()},
        **{f"head_{when}": ours[when].get("masked_lm", "") for when in ("loss_before", "loss_after")},
        "english_words_split": round(english_split(about.folder), 3),
        "sentence_vector": about.sentence,
        "sha256": " ".join(map(sha256, files)),
    }
