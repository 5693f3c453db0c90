"""The training loop: one document a step, an optimiser for each part of the model, the development F1 of every epoch.

What is drawn in a step (order of documents, window, dropout) follows from the seed and the number of the step alone. So
a run that was killed goes on as if it had not been, and scorers trained after one another are those trained alone."""

import json
import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from torch import nn

from biasflow.base.errors import BiasflowError, check_choice
from biasflow.base.progress import progress
from biasflow.base.tensors import save_tensors
from biasflow.corpora.conll import Document, without_singletons
from biasflow.tasks.coreference.decisions import NONE, antecedent_loss, gold_clusters, mention_loss
from biasflow.tasks.coreference.f1 import conll_f1
from biasflow.tasks.coreference.model import Reading, Vectors, score, word_clusters
from biasflow.tasks.coreference.scorer import Scorer, Sizes
from biasflow.tasks.coreference.segments import Pieces
from biasflow.training.checkpoints import DivergedError, last_checkpoint, log_resumed, only_checkpoint

BEST, LAST = "best", "last"
STATE = "state.safetensors"  # the file of a checkpoint
MODEL, KEPT, OPTIMIZER = "model/", "kept/", "optimizer/"  # tensors of a checkpoint, by the beginning of their names
BETAS = (0.9, 0.999)
Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Recipe:
    """How to train. The encoder: AdamW with `weight_decay` on matrices, its rate rising from 0 to `encoder_rate` over
    the share `warmup` of the steps, then falling to 0 in a straight line. The scorer: Adam, from `task_rate` to 0.
    `clip`: the largest norm of the gradient, of each of the two.

    scorer, reading  see `scorer.Sizes` and `model.Reading`
    most_segments  a longer document is trained on in windows of so many, drawn anew in every epoch
    mention_loss   weight of `decisions.mention_loss`, beside that of the antecedents
    keep           the epoch with the best development F1 ("best", the first of equal ones), or the "last"
    checkpoint_steps  a checkpoint is also written after so many steps within an epoch"""

    epochs: int
    encoder_rate: float
    task_rate: float
    warmup: float
    weight_decay: float
    adam_epsilon: float
    clip: float
    most_segments: int
    mention_loss: float
    keep: str
    checkpoint_steps: int
    scorer: Sizes
    reading: Reading

    @classmethod
    def of(cls, options: Mapping[str, object]) -> "Recipe":
        """Make a recipe from the options of a configuration, in which `scorer` and `reading` are mappings
        themselves."""
        recipe = cls(**{**options, "scorer": Sizes(**options["scorer"]), "reading": Reading(**options["reading"])})
        check_choice("recipe: keep", recipe.keep, (BEST, LAST))
        return recipe


@dataclass(frozen=True)
class Part:
    """Parameters that share an optimiser, and the course of their learning rate."""

    parameters: Sequence[nn.Parameter]
    optimizer: torch.optim.Optimizer
    rate: float
    warmup: float

    def step(self, number: int, total: int, clip: float) -> None:
        """Make the update of step `number` (from 0) of `total`."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * rate_factor(number, total, self.warmup)
        nn.utils.clip_grad_norm_(self.parameters, clip)
        self.optimizer.step()
        self.optimizer.zero_grad()


def rate_factor(step: int, total: int, warmup: float) -> float:
    """Return the share of the learning rate at `step` (from 0): up to 1 over the share `warmup` of the steps, then to
    0."""
    rising = round(warmup * total)
    return step / rising if step < rising else (total - step) / max(1, total - rising)


def encoder_part(encoder: nn.Module, recipe: Recipe) -> Part:
    """Return the parameters of the encoder with AdamW, which decays only their matrices."""
    parameters = list(encoder.parameters())
    groups = [  # biases and the weights of layer norms are vectors
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": recipe.weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, betas=BETAS, eps=recipe.adam_epsilon, fused=True)
    return Part(parameters, optimizer, recipe.encoder_rate, recipe.warmup)


def scorer_part(scorer: nn.Module, recipe: Recipe) -> Part:
    """Return the parameters of the scorer with Adam."""
    parameters = list(scorer.parameters())
    optimizer = torch.optim.Adam(parameters, betas=BETAS, eps=recipe.adam_epsilon, fused=True)
    return Part(parameters, optimizer, recipe.task_rate, 0.0)


@dataclass(frozen=True)
class Evaluated:
    """f1: the CoNLL F1 in [0, 1]; mentions_kept: the share of the gold mentions among the kept spans."""

    f1: float
    mentions_kept: float


@dataclass(frozen=True)
class Examples:
    """Documents to predict: as they were read, and in pieces."""

    documents: Sequence[Document]
    pieces: Sequence[Pieces]


@dataclass
class Course:
    """The state of a training: the number of steps, the evaluation of every epoch, and the weights kept so far."""

    step: int = 0
    scores: list[Evaluated] = field(default_factory=list)
    kept: Tensors = field(default_factory=dict)

    @property
    def best(self) -> int:
        """The number of the best epoch (the first, for a tie)."""
        return int(np.argmax([evaluated.f1 for evaluated in self.scores]))


def with_words(documents: Sequence[Pieces]) -> list[Pieces]:
    """Return the documents with at least one piece, which can be trained on; BiasflowError if there is none."""
    result = [document for document in documents if len(document)]
    if not result:
        raise BiasflowError("coreference: no document contains a word; give documents with text.")
    return result


def fit(
    module: nn.Module,
    scorer: Scorer,
    vectors: Vectors,
    parts: Sequence[Part],
    train: Sequence[Pieces],
    dev: Examples,
    *,
    recipe: Recipe,
    seed: int,
    work: Path,
) -> Course:
    """Train `module`, which holds the scorer and whatever `vectors` needs to be trained with it; it is left with the
    weights that the recipe keeps, in evaluation mode.

    train: documents `with_words`. `work`: a folder for checkpoints, which are written while it trains, and from which
    it goes on. DivergedError: a loss that is not finite."""
    done = _resume(last_checkpoint(work), module, parts)
    total = recipe.epochs * len(train)
    if done.step:
        log_resumed(done.step, total)
    if len(done.scores) < done.step // len(train):
        _end_epoch(done, module, scorer, vectors, dev, recipe)  # checkpoints are written before it
    for step in progress(range(done.step, total), total=total - done.step, description="coreference: steps"):
        epoch, place = divmod(step, len(train))
        number = int(np.random.default_rng([seed, epoch]).permutation(len(train))[place])
        # not of [seed, epoch, number]: with number 0 that is the generator of the order
        rng = np.random.default_rng([seed, epoch, number, 1])
        document = train[number].random_window(recipe.most_segments, rng)
        torch.manual_seed(int(rng.integers(2**63)))  # of dropout
        loss = _loss(module.train(), scorer, vectors, document, recipe)
        if not math.isfinite(loss.item()):
            raise DivergedError("coreference", loss.item(), step, "task_rate or encoder_rate")
        loss.backward()
        for part in parts:
            part.step(step, total, recipe.clip)
        done.step = step + 1
        ended = place == len(train) - 1
        if ended or done.step % recipe.checkpoint_steps == 0:
            _save(work, module, parts, done)
        if ended:
            _end_epoch(done, module, scorer, vectors, dev, recipe)
    if done.kept:
        module.load_state_dict(done.kept)
    module.eval()
    return done


@torch.inference_mode()
def evaluate(scorer: Scorer, vectors: Vectors, examples: Examples) -> Evaluated:
    """Evaluate how well the scorer finds the clusters of two or more mentions in whole documents."""
    gold = [without_singletons(document.clusters) for document in examples.documents]
    predicted, kept, mentions = [], 0, 0
    for pieces in examples.pieces:
        scored = score(scorer, vectors, pieces)
        predicted.append(word_clusters(scored, pieces))
        kept += int((gold_clusters(scored.spans, pieces) != NONE).sum()) if scored else 0
        mentions += len(pieces.mentions)
    return Evaluated(conll_f1(gold, predicted).average, kept / max(1, mentions))


def _loss(module: nn.Module, scorer: Scorer, vectors: Vectors, document: Pieces, recipe: Recipe) -> torch.Tensor:
    scored = scorer(vectors(document), document)
    loss = antecedent_loss(scored, document)
    return loss + recipe.mention_loss * mention_loss(scored, document) if recipe.mention_loss else loss


def _end_epoch(
    done: Course, module: nn.Module, scorer: Scorer, vectors: Vectors, dev: Examples, recipe: Recipe
) -> None:
    module.eval()
    done.scores.append(evaluate(scorer, vectors, dev))
    if recipe.keep == BEST and done.best == len(done.scores) - 1:
        done.kept = {name: tensor.detach().cpu().clone() for name, tensor in module.state_dict().items()}
    line = "coreference: epoch %d, development F1 %.4f, gold mentions kept %.3f"
    logging.getLogger("biasflow").info(line, len(done.scores), done.scores[-1].f1, done.scores[-1].mentions_kept)


@contextmanager
def flushed_denormals() -> Iterator[None]:
    """In the context, numbers too small for full precision are 0: gradients of saturated softmaxes are full of them,
    and a processor is many times slower on them. Threads that torch started before are not reached: begin with it."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _save(work: Path, module: nn.Module, parts: Iterable[Part], done: Course) -> None:
    tensors = {MODEL + name: tensor for name, tensor in module.state_dict().items()}
    tensors |= {KEPT + name: tensor for name, tensor in done.kept.items()}
    for number, part in enumerate(parts):
        for index, state in part.optimizer.state_dict()["state"].items():
            tensors |= {f"{OPTIMIZER}{number}/{index}/{name}": tensor for name, tensor in state.items()}
    facts = {"step": done.step, "scores": [asdict(evaluated) for evaluated in done.scores]}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with only_checkpoint(work, done.step) as folder:
        save_tensors(tensors, folder / STATE, {"progress": json.dumps(facts)})


def _resume(checkpoint: str | None, module: nn.Module, parts: Sequence[Part]) -> Course:
    """Put module and optimisers where the checkpoint left them; where there is none, at the beginning."""
    if checkpoint is None:
        return Course()
    with safe_open(Path(checkpoint, STATE), "pt") as file:
        facts = json.loads(file.metadata()["progress"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    module.load_state_dict(_named(tensors, MODEL))
    for number, part in enumerate(parts):
        states: dict[int, Tensors] = {}
        for name, tensor in _named(tensors, f"{OPTIMIZER}{number}/").items():
            index, _, key = name.partition("/")
            states.setdefault(int(index), {})[key] = tensor
        groups = part.optimizer.state_dict()["param_groups"]
        part.optimizer.load_state_dict({"state": states, "param_groups": groups})
    return Course(facts["step"], [Evaluated(**evaluated) for evaluated in facts["scores"]], _named(tensors, KEPT))


def _named(tensors: Mapping[str, torch.Tensor], beginning: str) -> Tensors:
    return {name.removeprefix(beginning): tensor for name, tensor in tensors.items() if name.startswith(beginning)}
