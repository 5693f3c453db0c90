"""Paper A's measures of an encoder under each eraser, as tidy scores: pronouns, associations, perplexity."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.corpora.densray_sets import OccupationSet
from scripts.biasflow.corpora.seat import AssociationTest, examples_of, in_templates
from scripts.biasflow.encoders.edit import collect
from scripts.biasflow.erasers import densray
from scripts.biasflow.erasers.eraser import Eraser
from scripts.biasflow.metrics.association import random_partitions, weat
from scripts.biasflow.metrics.nli import CLASSES, nli_scores
from scripts.biasflow.metrics.occtmp import occtmp
from scripts.biasflow.metrics.perplexity import pseudo_perplexity
from scripts.biasflow.readouts.embed import embed_sets
from scripts.biasflow.readouts.losses import masked_lm_perplexity, pseudo_log_likelihoods
from scripts.biasflow.readouts.masked_words import phrase_log_probabilities, word_log_probabilities
from scripts.biasflow.tasks.glue.task import predict
from scripts.biasflow.tasks.nli.task import TEXTS, chunks_of_occupations
from scripts.biasflow.text.occupation_pairs import OccupationPairs

NONE, ALL, LAST = "none", "all", "last"
EXACT_UP_TO, SAMPLES = 1_000_000, 100_000


@dataclass(frozen=True)
class Method:
    """One row of the paper's tables: an eraser's name, where it is active, and the edits (place, eraser)."""

    method: str
    setting: str
    edits: tuple[tuple[str, Eraser], ...] = ()


def methods_of(erasers: Mapping[str, Mapping[str, Eraser]], layers: Mapping[str, str]) -> list[Method]:
    """The untouched encoder, then each method at its places: all layers, or the last one.

    erasers: method -> place ("layer[0]", ... first to last) -> eraser; layers: method -> "all" or "last"."""
    return [
        Method(NONE, ""),
        *(Method(name, layers[name], edits_of_method(fitted, layers[name])) for name, fitted in erasers.items()),
    ]


def edits_of_method(fitted: Mapping[str, Eraser], layers: str) -> tuple[tuple[str, Eraser], ...]:
    """The edits (place, eraser) at all layers, or at the last one alone."""
    places = sorted(fitted, key=lambda place: int(place.removeprefix("layer[").removesuffix("]")))
    return tuple((place, fitted[place]) for place in (places if layers == ALL else places[-1:]))


def one_layer_at_a_time(method: str, fitted: Mapping[str, Eraser]) -> list[Method]:
    """The method at each of its places alone."""
    return [Method(method, place, (edit,)) for edit in edits_of_method(fitted, ALL) for place in edit[:1]]


def occtmp_scores(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sets: Mapping[str, OccupationSet],
    methods: Sequence[Method],
) -> pd.DataFrame:
    """OCCTMP under every method, by set: columns task ("occtmp:<set>"), method, setting, metric, value."""
    rows = []
    for name, one in sets.items():
        probabilities = phrase_log_probabilities if one.pieces else word_log_probabilities
        for each in methods:
            log_p = probabilities(model, tokenizer, one.sentences, one.pronouns, edits=each.edits)
            score = asdict(occtmp(*log_p.T))
            del score["n"]
            rows += [(f"occtmp:{name}", each.method, each.setting, metric, value) for metric, value in score.items()]
    return pd.DataFrame(rows, columns=["task", "method", "setting", "metric", "value"])


def association_scores(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    word_tests: Mapping[str, AssociationTest],
    sentence_tests: Mapping[str, AssociationTest],
    methods: Sequence[Method],
    *,
    sentence_pooling: str = "cls",
    batch_size: int = 64,
    seed: int = 0,
) -> pd.DataFrame:
    """Association tests under every method: task ("association:<test>"), method, setting, metric, variant, value.

    word_tests: sets of words; they are put into paper A's templates, and a word's vector is the mean of its pieces
    (ddof 0, strict ties, as in its code). sentence_tests: sets of sentences, with `sentence_pooling` (ddof 1, ties
    counted, as May et al. 2019). Where a test has more than EXACT_UP_TO partitions, SAMPLES random ones are drawn once
    for all methods. Metrics: effect_size, p_value, partitions, exact (1 or 0); variant: the pooling."""
    kinds = (
        (word_tests, "target", {"ddof": 0, "ties": "strict"}),
        (sentence_tests, sentence_pooling, {"ddof": 1, "ties": "inclusive"}),
    )
    rows = []
    for tests, pooling, reading in kinds:
        if not tests:
            continue
        shared = {name: _shared_partitions(test, seed) for name, test in tests.items()}
        targets = examples_of(tests) if pooling == "target" else None
        sentences = examples_of({name: in_templates(test) for name, test in tests.items()}) if targets else None
        for each in methods:
            vectors = embed_sets(
                model,
                tokenizer,
                sentences or examples_of(tests),
                targets=targets,
                pooling=pooling,
                batch_size=batch_size,
                device=next(model.parameters()).device,
                edits=each.edits,
            )
            for name in tests:
                found = weat(
                    *(vectors[name, role] for role in "XYAB"),
                    exact_up_to=EXACT_UP_TO,
                    partitions=shared[name],
                    **reading,
                )
                values = {
                    "effect_size": found.effect_size,
                    "p_value": found.p_value,
                    "partitions": found.partitions,
                    "exact": found.exact,
                }
                keys = (f"association:{name}", each.method, each.setting)
                rows += [(*keys, metric, pooling, float(value)) for metric, value in values.items()]
    return pd.DataFrame(rows, columns=["task", "method", "setting", "metric", "variant", "value"])


def _shared_partitions(test: AssociationTest, seed: int) -> np.ndarray | None:
    """The random partitions of a test that is too large to go over all; None if it is not."""
    size, n = len(test.X.examples), len(test.X.examples) + len(test.Y.examples)
    ways = np.prod([(n - i) / (size - i) for i in range(size)])
    return random_partitions(n, size, SAMPLES, seed) if ways > EXACT_UP_TO else None


def perplexity_scores(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    text: str,
    sentences: Sequence[str],
    methods: Sequence[Method],
    *,
    mask_seeds: Sequence[int],
    max_length: int | None,
    batch_size: int,
) -> pd.DataFrame:
    """Masked perplexity of `text` for every mask seed, and pseudo-perplexity of `sentences` (none: left out), under
    every method: columns method, setting, metric, variant, seed (of the masks), value."""
    rows = []
    for each in methods:
        found = masked_lm_perplexity(
            model, tokenizer, text, seeds=mask_seeds, max_length=max_length, batch_size=batch_size, edits=each.edits
        )
        for row in found.itertuples():
            seed = str(row.mask_seed)
            rows += [
                (each.method, each.setting, "perplexity", "", seed, row.perplexity),
                (each.method, each.setting, "batch_perplexity", "released", seed, row.batch_perplexity),
                (each.method, each.setting, "tokens", "", seed, row.tokens),
            ]
        if len(sentences):
            likelihoods = pseudo_log_likelihoods(model, tokenizer, sentences, edits=each.edits)
            value = pseudo_perplexity(likelihoods["pseudo_log_likelihood"], likelihoods["tokens"])
            rows.append((each.method, each.setting, "pseudo_perplexity", "", "", value))
    if not rows:
        raise BiasflowError("perplexity: there is no method to measure")
    return pd.DataFrame(rows, columns=["method", "setting", "metric", "variant", "seed", "value"])


def nli_scores_of_methods(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    occupations: OccupationPairs,
    test: pd.DataFrame,
    methods: Sequence[Method],
) -> pd.DataFrame:
    """Paper B's NLI scores of a fine-tuned encoder under every method: method, setting, metric, variant, value."""
    number = {label: i for i, label in enumerate(CLASSES)}

    def classes(pairs: pd.DataFrame, each: Method) -> np.ndarray:
        predicted = predict(model, tokenizer, pairs, texts=TEXTS, edits=each.edits)
        return np.array([number[label] for label in predicted], dtype=np.uint8)

    pairs = pd.concat(
        [pd.DataFrame(dict(zip(TEXTS, part, strict=True))) for part in chunks_of_occupations(occupations)]
    )
    scores = nli_scores(
        [(each.method, each.setting) for each in methods],
        np.stack([classes(pairs, each).reshape(occupations.shape) for each in methods]),
        np.stack([classes(test, each) for each in methods]),
        test["label"].tolist(),
    )
    return scores.rename(columns={"level": "method", "settings": "setting"})


def token_scores(
    model: nn.Module, tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str], place: str, eraser: Eraser
) -> list[tuple[list[tuple[str, float]], float]]:
    """The DensRay score of every piece of every sentence at `place` of the untouched encoder, and of the sentence.

    A sentence's score is the mean over its pieces; special tokens are left out of both. See `densray.scores`."""
    found = []
    for sentence in sentences:
        batch = tokenizer(sentence, return_tensors="pt", return_special_tokens_mask=True, truncation=True).to(
            model.device
        )
        words = ~batch.pop("special_tokens_mask")[0].bool().cpu()
        states = collect(model, [batch], [place])[place]
        scores = densray.scores(eraser, states)[words]
        pieces = [tokenizer.decode([number]).strip() for number in batch["input_ids"][0].cpu()[words].tolist()]
        found.append((list(zip(pieces, scores.tolist(), strict=True)), float(scores.mean())))
    return found
