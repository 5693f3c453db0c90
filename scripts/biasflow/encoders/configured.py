"""An encoder of the configuration: where it comes from, and what is known of it before the first job.

Imports no torch, since every start of the workflow plans with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from biasflow.base.errors import BiasflowError
from biasflow.encoders.described import Description
from biasflow.encoders.families import FAMILIES, HEADS, sign_of_decoder
from biasflow.encoders.recipes import PLANTED_SEARCH
from biasflow.encoders.sentence_transformers import FIRST_TOKEN, STATIC
from biasflow.encoders.stored import (
    DEPTH,
    HIDDEN,
    NO_LIMIT,
    TOKENIZER,
    object_in,
    settings_of,
    size_of,
    stored_files,
    tokenizer_of,
)

_NARROW = 256  # hidden sizes up to this gain nothing from a second thread
_BERT = "bert"  # the model type where config.json names none, and of those that are pre-trained here

PLANTED = "planted"  # the text that is made of the project's own language, and what is of it
EXTERNAL = "external"  # the source of an encoder without weights
ANY = ""  # in place of a metric: files that all metrics of a readout take
FILES = "files"  # the key of an external encoder for the items that were scored, where they are others
PREDICTIONS = "predictions"  # and the key of one for what it predicts of people, in place of the readout `heads`
RANKINGS = "rankings"  # and the key for ranked lists, with files that say something of their documents
VECTORS = "vectors"  # the readout whose given files hold vectors of words or sentences, not scores of items

GIVEN_AS = {"heads": PREDICTIONS}  # readout -> the key of an external encoder, where it has another name


class GivenFile(NamedTuple):
    """A file that stands for a readout of an external encoder. column: the one with the scores, "" where its kind of
    file has one alone."""

    file: str
    column: str = ""


@dataclass(frozen=True)
class Encoder:
    """An encoder as the configuration and its folder describe it.

    about: its part of the configuration; continues: the encoder that it is trained further from, or None; folder: of
    a local one, None where its path needs a mirror and none is given; described: what that folder says, None where it
    is not known; missing: why it cannot be had, or ""; no_documents: why a continued one gets no next-sentence head,
    although it is asked for."""

    name: str
    about: Mapping
    continues: "Encoder | None" = None
    folder: Path | None = None
    described: Description | None = None
    missing: str = ""
    no_documents: str = ""

    @property
    def source(self) -> str:
        return self.about["source"]

    @property
    def is_external(self) -> bool:
        """Whether it has no weights here, and a user's files are read in place of its readouts."""
        return self.source == EXTERNAL

    @property
    def given_files(self) -> dict[str, dict[str, list[GivenFile]]]:
        """Readout -> metric (ANY: all that the readout has) -> the files that stand in its place, of an external
        encoder."""
        files_by_readout: dict[str, dict[str, list[GivenFile]]] = {}
        for readout, files in self.about.items():
            if readout == PREDICTIONS:
                files_by_readout[readout] = {ANY: [GivenFile(file) for file in self.predictions[0]]}
            elif readout == RANKINGS:
                files_by_readout[readout] = {ANY: [GivenFile(file) for file in self.rankings[0]]}
            elif readout not in ("source", FILES):
                by_metric = files if isinstance(files, Mapping) else {ANY: files}
                files_by_readout[readout] = {metric: _files_named(entries) for metric, entries in by_metric.items()}
        return files_by_readout

    def file_of(self, name: str, otherwise: str) -> str:
        """The path of the file that stands for one of the catalogue where items of this encoder are read."""
        return self.about.get(FILES, {}).get(name, otherwise) if self.is_external else otherwise

    def given_for(self, readout: str, metric: str) -> list[GivenFile]:
        """The files that stand for what a metric reads of this encoder; [] if there are none."""
        by_metric = self.given_files.get(GIVEN_AS.get(readout, readout), {})
        return by_metric.get(metric, by_metric.get(ANY, []))

    @property
    def predictions(self) -> tuple[list[str], list[list[object]]]:
        """The files with what an external one predicts of people, and the pairs of groups that are compared; [] where
        it gives none, or says no pairs."""
        about = self.about.get(PREDICTIONS, {})
        about = about if isinstance(about, Mapping) else {"files": about}
        files = about.get("files", [])
        return [files] if isinstance(files, str) else files, about.get("groups", [])

    @property
    def rankings(self) -> tuple[list[str], dict[str, str]]:
        """The files with ranked lists of an external one, and those that say something of documents, by role."""
        files = dict(self.about.get(RANKINGS, {}))
        runs = files.pop("runs", [])
        return [runs] if isinstance(runs, str) else runs, files

    @property
    def local_files(self) -> list[str]:
        """The files of a local encoder that its results depend on, config.json first."""
        return list(map(str, (*stored_files(self.folder), *(self.described.beside if self.described else ()))))

    @property
    def origin(self) -> "Encoder":
        """The encoder that a continued one goes back to; any other is its own origin."""
        return self.continues.origin if self.continues else self

    @property
    def known(self) -> Mapping:
        """The config.json of the encoder that it goes back to; empty where it is not known."""
        return self.origin.described.config if self.origin.described else {}

    @property
    def pooling(self) -> str:
        """What stands for a sentence in it, as its folder says it, or the entry of a hub encoder (which its download
        compares with what comes)."""
        origin = self.origin
        return origin.described.pooling if origin.described else origin.about.get("pooling", FIRST_TOKEN)

    @property
    def is_sentence_encoder(self) -> bool:
        """Whether sentence-transformers makes vectors of texts with it, as far as its folder or its entry says. One
        that is continued from it has no list of modules, unless the recipe trains its vectors."""
        if self.source == "hub":
            return "pooling" in self.about
        if self.continues:
            return self.about["recipe"] == PLANTED_SEARCH
        return bool(self.described and self.described.sentence)

    @property
    def is_static(self) -> bool:
        """Whether it is a table of vectors without layers."""
        return self.known.get("model_type") == STATIC

    @property
    def sentences_alone(self) -> str:
        """Why nothing but its own vectors of sentences is read, "" where more is."""
        return "has no layers" if self.is_static else "is a decoder" if sign_of_decoder(self.known) else ""

    @property
    def has_mask(self) -> bool:
        """Whether its tokenizer has a mask token, as far as can be known before the first job."""
        return self.origin.described is None or self.origin.described.has_mask

    @property
    def not_applied(self) -> tuple[str, ...]:
        """What lies in the folder of a local encoder, would change what is measured, and is not read."""
        return self.described.not_applied if self.described else ()

    @property
    def corpora(self) -> list[str]:
        """The names of the texts that it is pre-trained on in this run; [] for any other encoder."""
        named = self.about.get("corpus", [])
        return [named] if isinstance(named, str) else list(named)

    @property
    def planted(self) -> Mapping | None:
        """The bias, seed and number of documents of the embedded corpus that it was trained on, in this run or before;
        None for any other encoder."""
        return self.about if PLANTED in self.corpora else self.about.get("planted")

    @property
    def is_planted(self) -> bool:
        """Whether it was trained on the embedded corpus, so that the embedded tests and texts fit it."""
        return self.origin.planted is not None

    def lacks_head(self, head: str) -> str:
        """Why it has no next-sentence ("next_sentence") or no masked-LM head ("masked_lm"), "" if it has one, as far as
        can be known before the first job: a local encoder's weights say it, a hub encoder's entry, an external one has
        no weights at all, our own have both; a continued one has a masked-LM head always (plan.facts checks it)."""
        if self.described:
            return self.described.lacking.get(head, "")
        if self.source == "hub":
            return "" if self.about[head] else f"its key {head} is false"
        if self.continues and self.about["recipe"] == PLANTED_SEARCH:
            return "its recipe trains no heads"
        if self.continues:
            return "" if head == "masked_lm" or self.about["next_sentence"] else "its key next_sentence is false"
        return "it has no weights" if self.is_external else ""

    def has_head(self, head: str) -> bool:
        """Whether it has a head, as `lacks_head` says."""
        return not self.lacks_head(head)

    @property
    def new_heads(self) -> list[str]:
        """The heads ("masked_lm", "next_sentence") that it, or one that it was continued from, got in this run."""
        if not self.continues:
            return []
        gained = [head for head in HEADS if not self.continues.has_head(head)]
        return [head for head in HEADS if head in (*gained, *self.continues.new_heads) and self.has_head(head)]

    @property
    def model_type(self) -> str | None:
        """The architecture that config.json names, where that can be known before the first job, else None."""
        is_known = self.origin.described is not None or self.origin.source == "pretrain"
        return self.known.get("model_type", _BERT if is_known else None)

    @property
    def depth(self) -> int | None:
        """The number of layers, where it can be known before the first job."""
        return self.origin.about.get("layers") or size_of(self.known, DEPTH)

    @property
    def width(self) -> int | None:
        """The dimensions of a token's vector, where they can be known before the first job."""
        return self.origin.about.get("hidden") or size_of(self.known, HIDDEN)

    @property
    def is_narrow(self) -> bool:
        """Whether it is known to be so small that its jobs take little more than their start."""
        return self.width is not None and self.width <= _NARROW

    @property
    def positions(self) -> int | None:
        """The most tokens that it takes, where they can be known before the first job."""
        if self.origin.source == "pretrain":
            return self.origin.about["max_length"]
        longest, family = self.known.get("max_position_embeddings"), FAMILIES.get(self.known.get("model_type"))
        return longest and longest - (self.known.get("pad_token_id", 1) + 1 if family and family.reserved else 0)

    def too_long(self, texts: Sequence[str]) -> int:
        """How many of some texts have more tokens than it takes, where that can be known before the first job."""
        folder = self.described.folder
        tokenizer, settings = tokenizer_of(folder), settings_of(folder).get("max_seq_length")
        longest = settings or object_in(folder / TOKENIZER).get("model_max_length") or NO_LIMIT
        longest = min(longest, self.positions or NO_LIMIT)
        some = [text for text in texts if len(text.encode()) >= longest - 1]  # a token has a byte or more
        if tokenizer is None or not some:
            return 0
        return sum(len(tokens) > longest for tokens in tokenizer.encode_batch(some))


def _files_named(entries: object) -> list[GivenFile]:
    """The files that the configuration names: one or a list, each a path, or a path with a column of scores."""
    return [
        GivenFile(**entry) if isinstance(entry, Mapping) else GivenFile(entry)
        for entry in (entries if isinstance(entries, list) else [entries])
    ]


def not_planted(key: str, encoder: str) -> BiasflowError:
    """Return the error for a key that names the embedded text for an encoder that never saw it."""
    return BiasflowError(
        f"config: key '{key}': planted, but encoder {encoder} was not trained on the planted corpus; "
        "name another text, or leave it out"
    )
