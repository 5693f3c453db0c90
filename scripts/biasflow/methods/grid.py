"""The interventions of Dawkins et al. (2024, sec. 4): five levels, 76 settings, and the edits that each one makes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from biasflow.base.errors import BiasflowError

if TYPE_CHECKING:  # the workflow is planned with the names of the settings, and without torch
    from biasflow.erasers.eraser import Eraser

LEVELS = ("base", "sentence-debias", "sent", "layer-12", "layer-11", "layer-11+attention")

# Where a subspace is fitted. "Last" and "before" are the last and the second-to-last layer of any encoder: 12 and 11
# in BERT-base. `sentence-debias` lies at the same place as `pooled`; its subspace comes from its own templates.
POOLED, SENTENCE_DEBIAS, LAST, BEFORE = "pooled", "sentence-debias", "last", "before"
ATTENTION = ("query", "key", "value")
PLACES = {
    POOLED: "pooled",
    SENTENCE_DEBIAS: "pooled",
    LAST: "layer[-1].cls",
    BEFORE: "layer[-2]",
    **{part: f"layer[-2].attention.{part}" for part in ATTENTION},
}


@dataclass(frozen=True, order=True)
class Projection:
    """How a subspace is removed: n (0 hard, 1 weighted by explained variance) and c (1: the second direction too)."""

    n: int
    c: int = 0


@dataclass(frozen=True)
class Setting:
    """One row of the paper's table 7. None means that there is no intervention at that place."""

    level: str
    pooled: Projection | None = None
    last: Projection | None = None
    before: Projection | None = None

    @property
    def attention(self) -> bool:
        """Whether the setting also acts in the attention of the second-to-last layer."""
        return self.level == "layer-11+attention"

    @property
    def settings(self) -> str:
        """The numbers as printed: "n_11,c_11,n_12,c_12,n_p", as many of them as the level has."""
        if self.level in ("base", "sentence-debias"):
            return ""
        layers = [projection for projection in (self.before, self.last) if projection]
        return (
            ",".join(str(value) for p in layers for value in (p.n, p.c)) + ("," if layers else "") + str(self.pooled.n)
        )

    @property
    def subspaces(self) -> tuple[str, ...]:
        """The subspaces that are removed, in the order in which the model meets them."""
        names = [*(ATTENTION if self.attention else ()), *(name for name in (BEFORE, LAST) if getattr(self, name))]
        if self.pooled:
            names.append(SENTENCE_DEBIAS if self.level == "sentence-debias" else POOLED)
        return tuple(names)

    def upstream(self, subspace: str) -> str:
        """The key of a sequentially fitted subspace: the interventions that are active before `subspace` is reached."""
        if subspace in (SENTENCE_DEBIAS, *ATTENTION):
            return "plain"
        active = [f"{name}{p.n}{p.c}" for name, p in self._before(subspace)]
        return "+".join((["attention"] if self.attention else []) + active) or "plain"

    def _before(self, subspace: str) -> Iterable[tuple[str, Projection]]:
        places = {BEFORE: (), LAST: (BEFORE,), POOLED: (BEFORE, LAST)}[subspace]
        return [(place, getattr(self, place)) for place in places if getattr(self, place)]

    def until(self, subspace: str) -> "Setting":
        """The same setting with only the interventions before `subspace`."""
        kept = dict(self._before(subspace))
        return Setting(self.level, None, kept.get(LAST), kept.get(BEFORE))


BASE = Setting("base")  # no intervention: the untouched model


def all_settings() -> list[Setting]:
    """Return the 76 settings in the order of table 7: 1 + 1 + 2 + 8 + 32 + 32."""
    pooled = [Projection(n) for n in (0, 1)]
    layer = [Projection(n, c) for n, c in product((0, 1), (0, 1))]
    rows = [BASE, Setting("sentence-debias", Projection(0))]
    rows += [Setting("sent", p) for p in pooled]
    rows += [Setting("layer-12", p, last) for last, p in product(layer, pooled)]
    for level in ("layer-11", "layer-11+attention"):
        rows += [Setting(level, p, last, before) for before, last, p in product(layer, layer, pooled)]
    return rows


def setting_named(name: str) -> Setting:
    """Return the setting with this name (see `name_of_setting`); BiasflowError if none of the 76 has it."""
    for setting in all_settings():
        if name_of_setting(setting) == name:
            return setting
    raise BiasflowError(
        f"setting {name!r} is none of the 76; write level and settings, e.g. 'sent 0' or 'layer-12 0,1,0'"
    )


def name_of_setting(setting: Setting) -> str:
    """Return the name of a setting, one word or two: "base", "sent 0", "layer-11+attention 0,0,1,0,1"."""
    return f"{setting.level} {setting.settings}".strip()


def chosen_settings(names: Iterable[str] | None = None) -> tuple[Setting, ...]:
    """Return the settings with these names, or all 75 that intervene. BiasflowError for an unknown name, and for base:
    the untouched model is the method `none`."""
    settings = all_settings()[1:] if names is None else [setting_named(name) for name in names]
    if BASE in settings:
        raise BiasflowError("setting 'base' has no intervention; leave it out and name the method none")
    return tuple(settings)


@dataclass(frozen=True)
class Subspaces:
    """Fitted subspaces by (name, upstream). With `sequential` false every upstream is "plain"."""

    erasers: Mapping[tuple[str, str], "Eraser"]
    sequential: bool = False

    def at(self, subspace: str, setting: Setting) -> "Eraser":
        """The eraser of `subspace` in `setting`, with the setting's n and c (attention heads: one dimension, hard)."""
        upstream = setting.upstream(subspace) if self.sequential else "plain"
        if (subspace, upstream) not in self.erasers:
            raise BiasflowError(
                f"no subspace was fitted for {subspace} after {upstream}; the encoder may lack that place"
            )
        projection = Projection(0) if subspace in ATTENTION else getattr(setting, place_of(subspace))
        eraser = self.erasers[subspace, upstream]
        return eraser.with_setting(weighted=bool(projection.n), components=1 + projection.c)


def upstreams(subspace: str, settings: Iterable[Setting]) -> dict[str, Setting]:
    """Return the distinct sets of interventions before the place of `subspace` in `settings`: key -> setting with only
    these. "plain", the empty set, is left out."""
    reached = [s for s in settings if s.level != "sentence-debias" and getattr(s, subspace) is not None]
    by_key = {setting.upstream(subspace): setting.until(subspace) for setting in reached}
    return {key: setting for key, setting in by_key.items() if key != "plain"}


def edits_of(setting: Setting, subspaces: Subspaces) -> tuple[tuple[str, "Eraser"], ...]:
    """Return the (place, eraser) pairs of one setting, in the order in which the model meets the places, for `edited`:
    what `grid_vectors` must agree with."""
    return tuple((PLACES[name], subspaces.at(name, setting)) for name in setting.subspaces)


def place_of(subspace: str) -> str:
    """Return the name of the field of `Setting` that says how a subspace is removed."""
    return POOLED if subspace == SENTENCE_DEBIAS else subspace
