"""Coreference resolution (paper C): how an encoder and a scorer are trained together on documents in CoNLL files.

What is saved is the encoder with scorer.safetensors beside it; `model.load_coreference` opens it, `model.predict` asks
it for clusters, `heads` trains scorers anew on it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from biasflow.base.records import digest_of_each
from biasflow.corpora.conll import Corpus, Document, read_conll, without_singletons
from biasflow.encoders.device import flushed_denormals, mark_trained, resolve_device
from biasflow.encoders.edit import edited
from biasflow.encoders.load import load_encoder
from biasflow.strategies import Strategy
from biasflow.tasks.coreference.loop import CoreferenceTraining, Part
from biasflow.tasks.coreference.model import CoreferenceModel, Examples, Recipe, TokenVectors, new_scorer
from biasflow.tasks.coreference.segments import SpecialTokens, with_words
from biasflow.training.checkpoints import checkpoints
from biasflow.training.task import fit_method, origin, save_training


def train(
    encoder_folder: str | Path,
    folder: str | Path,
    work: str | Path,
    data: Mapping[str, Sequence[Path]],
    *,
    strategy: str,
    seed: int,
    recipe: Mapping[str, object],
    device: str = "cpu",
    method: Mapping | None = None,
    adaptation: Mapping | None = None,
) -> dict:
    """Train encoder and scorer on the CoNLL files of the role `train`, debiased by the strategy; the files of the role
    `validation` choose the epoch, and stay as they are. Fills `folder`; returns what happened.

    strategy, adaptation: name and other fields of `strategies.Strategy`; recipe: the fields of `model.Recipe`; method:
    one that is active in every forward pass (`training.task.fit_method`). `work`: a folder for checkpoints, from which
    a killed run goes on to the same weights (as in `finetune.finetune`), and which is removed at the end.
    BiasflowError: whatever these refuse, checkpoints of another configuration, a loss that is not finite; then nothing
    is written to `folder`.

    What happened: validation_scores and validation_score (CoNLL F1 in [0, 1] by epoch, and of the one kept), epoch,
    steps, mentions_kept (the share of the gold mentions of validation that pruning kept, then), train and validation
    (documents), cut (documents that were trained on in windows), repeated (see `read_conll`), singletons (clusters of
    one mention, left out), and how many tokens the strategy changed."""
    known, asked = Strategy(strategy, **adaptation or {}), Recipe.of(recipe)
    corpora = {role: [read_conll(path) for path in data[role]] for role in ("train", "validation")}
    documents, validation = (_documents(corpora[role]) for role in ("train", "validation"))
    changed: Mapping[str, int] = {}
    if debias := known.part("debias"):
        debiased = debias(strategy, documents, **known.options)
        documents, changed = debiased.documents, debiased.counts
    with flushed_denormals():
        encoder, tokenizer = load_encoder(encoder_folder, head="none", device=resolve_device(device))
        scorer = new_scorer(encoder.config.hidden_size, asked.scorer, seed).to(encoder.device)
        trained = known.adapt(CoreferenceModel(encoder, scorer, asked.reading))
        pieces = asked.reading.segmenter(trained, tokenizer)([*documents, *validation])
        split = len(documents)
        train_pieces, dev = with_words(pieces[:split]), Examples(validation, pieces[split:])
        carried = fit_method(trained.eval(), tokenizer, method)
        decided = {"recipe": asdict(asked), "seed": seed, "method": carried.claim(), "strategy": asdict(known)}
        decided["data"] = [digest_of_each(document.text for document in part) for part in (documents, validation)]
        decided |= origin(encoder_folder, trained.device, [__file__, known.part("__file__")])
        parts = [
            Part(encoder, asked.encoder_rate, asked.warmup, asked.weight_decay),
            Part(scorer, asked.task_rate),
        ]
        vectors = TokenVectors(encoder, SpecialTokens.of(tokenizer))
        with checkpoints(work, decided) as work:
            options = {"recipe": asked, "seed": seed, "work": work}
            with edited(trained, carried.edits):
                facts = CoreferenceTraining(trained, scorer, vectors, parts, train_pieces, dev, **options).facts()
            known.finish(trained)
            facts |= {"seed": seed, "train": len(documents), "validation": len(validation)}
            facts |= {"cut": sum(document.n_segments > asked.most_segments for document in train_pieces)}
            facts |= {**_mended([*corpora["train"], *corpora["validation"]]), **changed}
            mark_trained(trained)
            return save_training(folder, trained.to("cpu"), tokenizer, facts, carried)


def _documents(corpora: Sequence[Corpus]) -> list[Document]:
    return [document for corpus in corpora for document in corpus.documents]


def _mended(corpora: Sequence[Corpus]) -> dict[str, int]:
    """Mentions that reading found repeated, and clusters of one mention, left out."""
    clusters = [cluster for document in _documents(corpora) for cluster in document.clusters]
    return {
        "repeated": sum(corpus.repeated for corpus in corpora),
        "singletons": len(clusters) - len(without_singletons(clusters)),
    }
