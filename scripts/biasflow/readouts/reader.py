"""A model with its tokenizer and the methods that it is read under: what every readout of a model begins with."""

import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

from biasflow.base.errors import BiasflowError
from biasflow.base.left_out import LeftOut
from biasflow.base.tabular import write_parquet
from biasflow.encoders.batches import Result, longest_input, over_batches, shortened
from biasflow.encoders.device import resolve_device
from biasflow.encoders.first_token import dtype_on
from biasflow.encoders.load import Head, load_model
from biasflow.encoders.sentence_encoder import Kind, SentenceEncoder, sentence_encoder
from biasflow.encoders.taps import depth, name_of
from biasflow.encoders.tokens import Tokens, tokenise
from biasflow.methods.fitted import NONE, Active, Fitted, load
from biasflow.methods.passes import Reports, add_report, passes
from biasflow.methods.sweep import check_reports, sentence_vectors
from biasflow.readouts.files import array_on_disk, under_methods
from biasflow.readouts.source import Source, load_for
from biasflow.readouts.states import LAYERS, PLAIN, VECTORS, all_reaching, applied, of_settings, parted

UNTOUCHED = load(None, [NONE])


@dataclass(frozen=True)
class Reader:
    """A model in evaluation mode, its tokenizer, and the methods fitted to it; `reports` says what these did so far,
    `truncation` how many `texts` were read, and how many were `cut`, `left_out` which items could not be measured.

    batch_size: how many texts go through the model at once, if the GPU's memory holds them; it changes the speed
    alone."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    fitted: Fitted = UNTOUCHED
    batch_size: int = 64
    reports: Reports = field(default_factory=dict)
    truncation: Counter = field(default_factory=Counter)
    left_out: LeftOut = field(default_factory=LeftOut)

    def __post_init__(self) -> None:
        if not self.axis:
            raise BiasflowError(f"no method to read the model under; name one ({NONE!r} for the untouched model)")

    @property
    def axis(self) -> tuple[tuple[str, str], ...]:
        """(method, setting), in the order of the first axis of whatever is read."""
        return self.fitted.axis

    @cached_property
    def methods(self) -> tuple[Active, ...]:
        """Every method in every setting, along the axis."""
        return tuple(self.fitted.every_setting())

    @property
    def longest_input(self) -> int:
        """How many tokens the model can take, special ones included."""
        return longest_input(self.model, self.tokenizer)

    def tokenised(self, *texts: Sequence[str], max_length: int | None = None) -> Tokens:
        """Texts, or pairs of texts (two lists), as tokens. What is longer than max_length, or than the model can take,
        is cut (of a pair the longer text) and counted in `truncation`."""
        tokens = tokenise(self.tokenizer, *texts, max_length=shortened(max_length, self.model, self.tokenizer))
        self.truncation.update(cut=int(tokens.cut.sum()), texts=len(tokens))
        return tokens

    def reaching(self, **seen: bool) -> "Reader":
        """Return the reader without the edits that cannot change what is seen: the last layer's states, of words or of
        first tokens, or sentence vectors (see `states.reaching`).

        BiasflowError for a method that has no other: it would be listed, and change nothing."""
        return replace(self, fitted=all_reaching(self.fitted, depth(self.model), **seen))

    @contextlib.contextmanager
    def storing(
        self, output: Path, n: int, dtype: str | None = None, width: int | None = None
    ) -> Iterator[tuple[Callable[[Sequence[int], np.ndarray], None], dict[str, object]]]:
        """Write n vectors under every method of the reader's, as `states.States` reads them: a function that takes
        numbers of rows and their vectors [methods, rows, hidden], and the file's meta, to be filled in.

        dtype: by default float16 from a GPU, where they are computed in half precision, and float32 otherwise; width:
        by default that of a token's state. The file is there, whole, at the end. BiasflowError for vectors that are not
        finite in it."""
        dtype = dtype or str(dtype_on(self.model.device)).removeprefix("torch.")
        shape = (len(self.axis), n, width or self.model.config.hidden_size)
        with array_on_disk(output, VECTORS, shape, dtype, self.axis) as (vectors, meta):
            meta[LAYERS] = depth(self.model)

            def keep(rows: Sequence[int], states: np.ndarray) -> None:
                if not (np.abs(states) <= np.finfo(dtype).max).all():
                    name = name_of(self.model)
                    raise BiasflowError(
                        f"{name}: states of its last layer are not finite in {dtype}; check its training"
                    )
                vectors[:, rows] = states

            yield keep, meta

    def under_each(self, forward: Callable[..., torch.Tensor], *inputs: object, whole: bool = False) -> np.ndarray:
        """forward(*inputs), which runs the model on one batch, under every method: [methods, ...]. See `passes`."""
        with self._reported() as reports:
            outputs = passes(self.model, self.methods, lambda: forward(*inputs), reports, whole=whole)
            return torch.stack(outputs).cpu().numpy()

    def sentence_vectors(self, batch: BatchEncoding) -> torch.Tensor:
        """What the classification layer reads under every method, [methods, batch, hidden]. See `methods.sweep`."""
        with self._reported() as reports:
            return sentence_vectors(self.model, batch, self.fitted, reports)

    @contextlib.contextmanager
    def _reported(self) -> Iterator[Reports]:
        """What edits did in a batch; it counts when all of the batch is read: one that is too large is read again."""
        reports: Reports = {}
        yield reports
        for report in reports.values():
            add_report(self.reports, report)

    def each_over(
        self,
        encoded: BatchEncoding,
        forward: Callable[[BatchEncoding, Sequence[int]], torch.Tensor],
        description: str,
        *,
        parts: Collection[str | None],
    ) -> Iterator[np.ndarray]:
        """The vectors forward(batch, its row numbers) of all rows of `encoded`, made of the last layer's states, under
        one method after the other, each [rows, ..., hidden].

        parts: the last edits of a method that act on these vectors, and not in the model (`states.parted`). An affine
        map of all states is the same map of their mean, if the weights of it have the sum 1."""
        edits = [parted(active, depth(self.model), parts) for active in self.methods]
        inside = [replace(one, edits=in_model) for one, (in_model, _) in zip(self.methods, edits, strict=True)]
        read_off = {(one.method, one.setting) if one.edits else PLAIN: one for one in inside}
        read_off |= {PLAIN: Active(NONE)} if PLAIN in read_off else {}
        reader = replace(self, fitted=of_settings(read_off.values()))

        def vectors(rows: list[int], batch: BatchEncoding) -> np.ndarray:
            return reader.under_each(forward, batch, rows)

        order, read = zip(*self.batches(vectors, encoded, description), strict=True)
        stored = torch.from_numpy(np.concatenate(read, axis=1)[:, np.argsort(np.concatenate(order))])
        by_method = dict(zip(reader.axis, stored, strict=True))
        for one, (_, behind) in zip(inside, edits, strict=True):
            X = by_method[(one.method, one.setting) if one.edits else PLAIN]
            yield (applied(replace(one, edits=behind), X, self.reports) if behind else X).numpy()

    def sentences(self, texts: Sequence[str], kind: Kind = "") -> np.ndarray:
        """Return `each_sentences` of all methods, float32 [methods, texts, d]."""
        return np.stack([*self.each_sentences(texts, kind)])

    def each_sentences(self, texts: Sequence[str], kind: Kind = "") -> Iterator[np.ndarray]:
        """The vectors that sentence-transformers makes of texts under one method after the other, float32 [texts, d].

        kind: which of the folder's prompts stands before each. Texts that are cut are counted in `truncation`."""
        for vectors in self.each_at_sentence(texts, kind):
            yield self.sentence_encoder.finished(torch.from_numpy(vectors)).contiguous().numpy()

    def each_at_sentence(self, texts: Sequence[str], kind: Kind = "") -> Iterator[np.ndarray]:
        """The same at the place `sentence`: before they are normalised, and cut to fewer dimensions."""
        encoder = self.sentence_encoder
        tokens = self.tokenised([encoder.prompt(kind) + text for text in texts])

        def of_batch(batch: BatchEncoding, rows: Sequence[int]) -> torch.Tensor:
            return encoder.vectors([texts[row] for row in rows], kind)

        encoded = tokens.of_all(range(len(tokens)))
        return self.each_over(encoded, of_batch, "sentence vectors", parts=encoder.parts)

    @cached_property
    def sentence_encoder(self) -> SentenceEncoder:
        """The sentence encoder around the model; AbsentError where its folder holds none."""
        return sentence_encoder(self.model)

    def batches(
        self,
        read: Callable[[list[int], BatchEncoding], Result],
        encoded: BatchEncoding,
        description: str | None = None,
        *,
        times: int = 1,
    ) -> Iterator[tuple[list[int], Result]]:
        """(row numbers, read(row numbers, padded batch on the model's device)): see `over_batches`; times: as many as
        usual at once."""
        options = {"batch_size": times * self.batch_size, "description": description}
        return over_batches(read, encoded, self.model, self.tokenizer, **options)

    def write(self, output: Path, items: pd.DataFrame, **values: np.ndarray) -> dict[str, object]:
        """Write the table of a readout, `items` under every method with `values` [methods, items]; return `facts`."""
        write_parquet(under_methods(self.axis, items, **values), output)
        return self.facts()

    def facts(self) -> dict[str, object]:
        """The device, one row per edit of what it did, how many texts were cut, if any could be, and which items were
        left out; the log has that, too. BiasflowError if an edit did nothing (design rule 11)."""
        facts = {"device": str(self.model.device), "edits": check_reports(self.reports, self.fitted)}
        return facts | self.truncated() | self.left_out.facts()

    def truncated(self) -> dict[str, int]:
        """How many texts were cut, of how many, as facts and in the log; nothing where no text was tokenised."""
        cut, texts = self.truncation["cut"], self.truncation["texts"]
        if cut:
            line = "%d of %d texts are longer than max_length, or than the encoder takes, and were cut"
            logging.getLogger("biasflow").warning(line, cut, texts)
        return {"texts": texts, "truncated": cut} if texts else {}


def open_reader(source: Source, head: Head, **options: int) -> Reader:
    """The model of `source` with that head, and the methods that it is to be read under; options: batch_size."""
    device = resolve_device(source.device)
    model, tokenizer = load_model(source.model_folder, source.training, head=head, device=device)
    return Reader(model, tokenizer, load_for(source), **options)
