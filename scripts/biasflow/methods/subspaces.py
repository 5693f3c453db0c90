"""Fitting, saving and loading the gender subspaces of one encoder at every place where the paper intervenes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn
from transformers import PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.progress import progress
from scripts.biasflow.encoders import taps
from scripts.biasflow.encoders.batches import encode, length_sorted
from scripts.biasflow.encoders.edit import PLACES, collect, edited, edits_of
from scripts.biasflow.erasers.eraser import Eraser
from scripts.biasflow.erasers.registry import ERASERS
from scripts.biasflow.methods.grid import (
    ATTENTION,
    BEFORE,
    LAST,
    POOLED,
    SENTENCE_DEBIAS,
    Setting,
    Subspaces,
    all_settings,
)
from scripts.biasflow.text.sentence_pairs import check_pairs

COMPONENTS = {POOLED: 1, SENTENCE_DEBIAS: 1, LAST: 2, BEFORE: 2, **dict.fromkeys(ATTENTION, 1)}


class PairStates:
    """The hidden states of sentence pairs in one model, at any place and under any edits."""

    def __init__(
        self,
        model: nn.Module,
        tokenizer: PreTrainedTokenizerBase,
        pairs: pd.DataFrame,
        *,
        batch_size: int,
        device="cpu",
    ):
        if pairs.empty:
            raise BiasflowError("no sentence pair to fit a subspace to")
        self.model = model
        self.batches = list(self._batches(tokenizer, pairs, batch_size, device))

    @staticmethod
    def _batches(tokenizer, pairs: pd.DataFrame, batch_size: int, device) -> Iterator[Mapping[str, torch.Tensor]]:
        # A batch holds the masculine members, then the feminine ones of the same pairs: equal lengths align them.
        masculine, feminine = (encode(tokenizer, pairs[member]) for member in ("masculine", "feminine"))
        both = zip(
            length_sorted(masculine, tokenizer, batch_size=batch_size, device=device),
            length_sorted(feminine, tokenizer, batch_size=batch_size, device=device),
            strict=True,
        )
        for (_, first), (_, second) in both:
            yield {key: torch.cat([first[key], second[key]]) for key in first}

    def at(self, places: Sequence[str], edits: Iterable[tuple[str, Eraser]] = ()) -> dict[str, torch.Tensor]:
        """place -> [n, 2, ...]: the states of the n pairs (or aligned tokens), masculine first, with `edits` active."""
        found: dict[str, list[torch.Tensor]] = {place: [] for place in places}
        with edited(self.model, edits):
            for batch in self.batches:
                for place, states in collect(self.model, [batch], places).items():
                    found[place].append(torch.stack(states.chunk(2), dim=1))
        return {place: torch.cat(parts) for place, parts in found.items()}


def available(model: nn.Module) -> list[str]:
    """The subspaces that can be fitted in this model: those whose place it has."""

    def has(subspace: str) -> bool:
        try:
            taps.tap(model, PLACES[subspace])
        except BiasflowError:
            return False
        return True

    return [subspace for subspace in PLACES if has(subspace)]


def fit_subspaces(
    states: PairStates,
    sentence_debias_states: PairStates,
    *,
    eraser: str = "pca",
    options: Mapping[str, object] | None = None,
    sequential: bool = False,
) -> Subspaces:
    """Fit the subspaces of all places (Dawkins et al. 2024, sec. 4).

    sequential=False: all on the plain model, in one pass over the pairs. sequential=True: each on the model with the
    interventions that come before it already active, so that there is one per distinct upstream setting."""
    if eraser not in ERASERS:
        raise BiasflowError(f"eraser {eraser!r} is not known; biasflow has {', '.join(ERASERS)}")

    def fit(name: str, pairs: torch.Tensor) -> Eraser:
        return ERASERS[eraser](pairs, components=COMPONENTS[name], **(options or {}))

    names = available(states.model)
    plain = states.at([PLACES[name] for name in names if name != SENTENCE_DEBIAS])
    fitted = {(name, "plain"): fit(name, plain[PLACES[name]]) for name in names if name != SENTENCE_DEBIAS}
    if SENTENCE_DEBIAS in names:
        place = PLACES[SENTENCE_DEBIAS]
        fitted[SENTENCE_DEBIAS, "plain"] = fit(SENTENCE_DEBIAS, sentence_debias_states.at([place])[place])
    if not sequential:
        return Subspaces(fitted)

    # Earlier places first: the edits before LAST and POOLED use the subspaces fitted before them.
    for name in (name for name in (BEFORE, LAST, POOLED) if name in names):
        upstreams = _upstreams(name)
        for upstream, setting in progress(
            upstreams.items(), total=len(upstreams), description=f"fit {name} in sequence"
        ):
            edits = edits_of(setting, Subspaces(fitted, sequential=True))
            fitted[name, upstream] = fit(name, states.at([PLACES[name]], edits)[PLACES[name]])
    return Subspaces(fitted, sequential=True)


def fit_to_templates(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    templates: Mapping[str, pd.DataFrame],
    *,
    encoder: str,
    batch_size: int,
    device: torch.device | str = "cpu",
    **fitting,
) -> tuple[Subspaces, pd.DataFrame]:
    """`fit_subspaces` on the pairs of `templates` (see `load_sentence_pairs`) that the encoder's tokenizer can use.

    Also returns all pairs with the columns set, kept and reason. `encoder` is the name that errors use."""

    def tokens(sentences: Sequence[str]) -> list[list[int]]:
        return encode(tokenizer, sentences)["input_ids"]

    checked = {name: check_pairs(pairs, tokens, encoder=encoder) for name, pairs in templates.items()}
    states = [
        PairStates(model, tokenizer, checked[name].query("kept"), batch_size=batch_size, device=device)
        for name in ("interventions", "sentence-debias")
    ]
    report = pd.concat(checked, names=["set"]).reset_index(level="set").reset_index(drop=True)
    return fit_subspaces(*states, **fitting), report


def _upstreams(name: str) -> dict[str, Setting]:
    """The distinct sets of interventions that come before the place of `name`, each as a setting without the rest."""
    settings = [s for s in all_settings() if s.level != "sentence-debias" and getattr(s, name) is not None]
    upstreams = {setting.upstream(name): setting.until(name) for setting in settings}
    return {key: setting for key, setting in upstreams.items() if key != "plain"}


def variance_table(subspaces: Subspaces) -> pd.DataFrame:
    """One row per fitted direction: subspace, upstream, head (empty outside attention), component, variance share."""
    rows = []
    for (name, upstream), eraser in subspaces.erasers.items():
        weights = eraser.weights.reshape(-1, eraser.components)
        for head, values in enumerate(weights.tolist()):
            head_name = str(head) if eraser.weights.dim() > 1 else ""
            rows += [(name, upstream, head_name, component, value) for component, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["subspace", "upstream", "head", "component", "explained_variance"])


def save_subspaces(subspaces: Subspaces, path: str | Path) -> None:
    """Write the subspaces as safetensors."""
    tensors = {}
    for (name, upstream), eraser in subspaces.erasers.items():
        tensors.update(eraser.state(f"{name}/{upstream}"))
    save_file(tensors, path, metadata={"sequential": str(subspaces.sequential).lower()})


def load_subspaces(path: str | Path) -> Subspaces:
    """Read subspaces written by `save_subspaces`; a truncated or foreign file is a BiasflowError that names it."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
            sequential = (file.metadata() or {}).get("sequential") == "true"
    except (SafetensorError, OSError) as error:
        raise BiasflowError(f"{path}: not a whole safetensors file ({error}); delete it and run again") from error
    names = [key.removesuffix("/basis") for key in tensors if key.endswith("/basis")]
    erasers = {tuple(name.split("/", 1)): Eraser.from_state(tensors, name) for name in names}
    return Subspaces(erasers, sequential)
