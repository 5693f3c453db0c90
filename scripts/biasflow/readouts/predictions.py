"""Predicted classes of a fine-tuned encoder under every method: one byte a prediction, however many there are."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from transformers import BatchEncoding

from biasflow.base.by_name import module_named
from biasflow.base.errors import BiasflowError
from biasflow.base.progress import Progress
from biasflow.encoders import taps
from biasflow.encoders.batches import Result
from biasflow.readouts.files import OWN, PROBABILITIES, RETRAINED, TRUNCATED, load_arrays, save_arrays
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source
from biasflow.readouts.sweep_heads import Heads, check_classes, classes_of, load_heads
from biasflow.training.examples import Examples

CHUNK = 8192  # examples that are in memory as text at a time


def read(
    source: Source,
    output: Path,
    *,
    task: str,
    max_length: int | None = None,
    batch_size: int = 64,
    given: bool = False,
    **options,
) -> dict:
    """Write what the fine-tuned encoder says of every example under every method: array `own`, [methods, *shape], class
    numbers as uint8 (float32 where it predicts numbers); with a file of the role `heads` (readouts.sweep_heads, of the
    same model and methods) array `retrained`, too.

    task: the full name of the task's module, whose `examples(source.data, **options)` says what is asked. max_length:
    tokens of the longest example, as the encoder was trained (None: as many as it takes); what is longer is cut.
    given: whether the classifier is the user's, whose own labels are the classes that `examples` is given, and whose
    probabilities are kept, too: array `probabilities` [methods, *shape, classes], float32.
    The file says of itself: classes, gold (class numbers; null where there are none), ids (of texts that have copies
    behind them), the options, and under `truncated` of each head how many texts were cut, of how many: of `own` those
    that are predicted, of `retrained` those that it was trained on.
    BiasflowError: a classifier of other classes, predictions that are NaN, heads of other methods, a method that does
    nothing."""
    reader = open_reader(source, "classification", batch_size=batch_size)
    of_model = {"classes": classes_of(reader)} if given else {}
    examples = module_named(task).examples(source.data, **of_model, **options)
    check_classes(reader, examples)
    heads = load_heads(source.file("heads"), reader) if "heads" in source.data else None
    predicted = predict(reader, examples, heads=heads, max_length=max_length, probabilities=given)
    arrays = {name: array.reshape(-1, *examples.shape, *array.shape[2:]) for name, array in predicted.items()}
    truncated = {OWN: [reader.truncation["cut"], reader.truncation["texts"]]}
    if heads:
        truncated[RETRAINED] = load_arrays(source.file("heads")).meta[TRUNCATED]
    about = {"classes": examples.classes, "gold": examples.gold, TRUNCATED: truncated}
    about |= {"ids": examples.ids} if examples.ids else {}
    save_arrays(output, arrays, reader.axis, **about, **options)
    return reader.facts()


def batches(
    read: Callable[[BatchEncoding], Result], reader: Reader, examples: Examples, max_length: int | None = None
) -> Iterator[tuple[np.ndarray, Result]]:
    """Yield (numbers of the examples, read(padded batch)) of all examples, with a chunk of them as text at a time.

    Input that is longer than max_length, or than the encoder takes, is cut from the longer text."""
    counted = Progress(len(examples), "predictions")
    for start in range(0, len(examples), CHUNK):
        texts = examples.texts(start, min(start + CHUNK, len(examples)))
        tokens = reader.tokenised(*texts, max_length=max_length)
        for rows, values in reader.batches(lambda _, batch: read(batch), tokens.of_all(range(len(tokens)))):
            yield start + np.asarray(rows), values
            counted.advance(len(rows))


@torch.inference_mode()
def predict(
    reader: Reader,
    examples: Examples,
    *,
    heads: Heads | None = None,
    max_length: int | None = None,
    probabilities: bool = False,
) -> dict[str, np.ndarray]:
    """Head -> [methods, n]: the class number of the largest logit (uint8), or the number (float32), of all examples;
    where `probabilities` are asked for, these [methods, n, classes] of the model's own head.

    The sentence vectors of a batch serve all heads. Memory above the model: one chunk of text, one batch of vectors and
    the result. BiasflowError for predictions that are NaN."""
    size = (len(reader.axis), len(examples))
    kind = np.uint8 if examples.classes else np.float32
    predictions = {name: np.empty(size, kind) for name in (OWN, *([RETRAINED] if heads else []))}
    if probabilities:
        predictions[PROBABILITIES] = np.empty((*size, len(examples.classes)), np.float32)
    for numbers, vectors in batches(reader.sentence_vectors, reader, examples, max_length):
        logits = {OWN: taps.classify(reader.model, vectors)} | ({RETRAINED: heads.logits(vectors)} if heads else {})
        for name, values in logits.items():
            if values.isnan().any():
                raise BiasflowError(f"{taps.name_of(reader.model)}: the predictions are NaN; train it again.")
            predictions[name][:, numbers] = (values.argmax(-1) if examples.classes else values[..., 0]).cpu().numpy()
        if probabilities:
            predictions[PROBABILITIES][:, numbers] = logits[OWN].softmax(-1).cpu().numpy()
    return predictions
