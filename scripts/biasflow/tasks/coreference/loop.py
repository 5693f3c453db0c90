"""The training of encoder and scorer: one document a step, each with its own learning rate, the development F1 of every
epoch.

What is drawn in a step (order of documents, window, dropout) follows from the seed and the number of the step alone. So
a run that was killed goes on as if it had not been, and scorers trained after one another are those trained alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, Sampler
from transformers import TrainerCallback

from biasflow.tasks.coreference.model import Examples, Recipe, Vectors, antecedent_loss, evaluate, mention_loss
from biasflow.tasks.coreference.scorer import Scorer
from biasflow.tasks.coreference.segments import Pieces
from biasflow.training.loop import EpochSampler, Loop, every_epoch

BETAS = (0.9, 0.999)


def rate_factor(step: int, *, total: int, warmup: float) -> float:
    """Return the share of the learning rate at `step` (from 0): up to 1 over the share `warmup` of the steps, then to
    0."""
    rising = round(warmup * total)
    return step / rising if step < rising else (total - step) / max(1, total - rising)


@dataclass(frozen=True)
class Part:
    """A part of the model with a course of the learning rate and a norm of the gradient of its own. weight_decay: of
    matrices."""

    module: nn.Module
    rate: float
    warmup: float = 0.0
    weight_decay: float = 0.0

    @property
    def parameters(self) -> list[nn.Parameter]:
        """Those that are trained."""
        return [weights for weights in self.module.parameters() if weights.requires_grad]

    def groups(self) -> list[dict[str, object]]:
        """The parameters as groups of an optimiser; biases and the weights of layer norms are vectors."""
        matrices, vectors = ([p for p in self.parameters if (p.dim() > 1) == wanted] for wanted in (True, False))
        decays = ((matrices, self.weight_decay), (vectors, 0.0))
        return [{"params": some, "lr": self.rate, "weight_decay": decay} for some, decay in decays if some]


class Windows(Dataset):
    """What a step is trained on, by epoch and number: a document, or a window of it, and the seed of dropout."""

    def __init__(self, documents: Sequence[Pieces], most_segments: int, seed: int):
        self.documents, self.most_segments, self.seed = documents, most_segments, seed

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, place: tuple[int, int]) -> dict[str, object]:
        epoch, number = place
        # not of [seed, epoch, number]: with number 0 that is the generator of the order
        rng = np.random.default_rng([self.seed, epoch, number, 1])
        window = self.documents[number].random_window(self.most_segments, rng)
        return {"document": window, "dropout": int(rng.integers(2**63))}


class Order(EpochSampler):
    """The documents of an epoch in random order, as (epoch, number)."""

    def __iter__(self):
        order = np.random.default_rng([self.seed, self.epoch]).permutation(len(self))
        return iter([(self.epoch, int(number)) for number in order])


class ClippedApart(TrainerCallback):
    """Clips the norm of the gradient of each part."""

    def __init__(self, parts: Sequence[Part], most: float):
        self.parts, self.most = parts, most

    def on_pre_optimizer_step(self, args, state, control, **kwargs):
        for part in self.parts:
            nn.utils.clip_grad_norm_(part.parameters, self.most)


def scorer_loss(scorer: Scorer, vectors: Vectors, document: Pieces, mention_weight: float) -> torch.Tensor:
    """The loss of the antecedents of a document, and `mention_weight` times that of its mentions."""
    scored = scorer(vectors(document), document)
    loss = antecedent_loss(scored, document)
    return loss + mention_weight * mention_loss(scored, document) if mention_weight else loss


class CoreferenceTraining(Loop):
    """Trains `module`, which holds the scorer and whatever `vectors` needs to be trained with it, in its `parts`.

    train: documents `with_words`; work: a folder for checkpoints."""

    def __init__(
        self,
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
    ):
        self.scorer, self.vectors, self.dev, self.recipe = scorer, vectors, dev, recipe
        total, groups = recipe.epochs * len(train), [(part, group) for part in parts for group in part.groups()]
        optimizer = torch.optim.AdamW([group for _, group in groups], betas=BETAS, eps=recipe.adam_epsilon, fused=True)
        courses = [partial(rate_factor, total=total, warmup=part.warmup) for part, _ in groups]
        super().__init__(
            module,
            Windows(train, recipe.most_segments, seed),
            lambda steps: steps[0],
            name="coreference",
            rates="task_rate or encoder_rate",
            work=work,
            seed=seed,
            steps=total,
            batch_size=1,
            checkpoint_steps=recipe.checkpoint_steps,
            optimizers=(optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, courses)),
            callbacks=[ClippedApart(parts, recipe.clip)],
            trainer={"eval_dataset": dev.documents},
            max_grad_norm=0.0,  # but `ClippedApart`
            remove_unused_columns=False,
            **every_epoch(recipe.keep),
        )

    def facts(self) -> dict[str, object]:
        """Train to the end, and leave the module with the weights that the recipe keeps, in evaluation mode. Return the
        CoNLL F1 in [0, 1] of every epoch and of the one that is kept, and the share of the gold mentions that pruning
        kept, then."""
        facts, evaluated = self.run_epochs(self.recipe.keep)
        self.model.eval()
        return facts | {"validation_metric": "conll_f1", "mentions_kept": evaluated["eval_mentions_kept"]}

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None) -> torch.Tensor:
        torch.manual_seed(inputs["dropout"])
        return scorer_loss(self.scorer, self.vectors, inputs["document"], self.recipe.mention_loss)

    def evaluate(self, *args, **options) -> dict[str, float]:
        """The development F1, and the share of gold mentions that pruning keeps."""
        self.model.eval()
        f1, mentions_kept = evaluate(self.scorer, self.vectors, self.dev)
        metrics = {"eval_score": f1, "eval_mentions_kept": mentions_kept}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> Sampler:
        return Order(len(self.train_dataset), self.args.seed)
