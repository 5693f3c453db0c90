"""The interventions of Dawkins et al. (2024, sec. 4): five levels, 76 settings, and the edits that each one makes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from scripts.biasflow.base.errors import BiasflowError

if TYPE_CHECKING:  # the workflow is planned with the names of the settings, and without torch
    from scripts.biasflow.erasers.eraser import Eraser

LEVELS = ("base", "sentence-debias", "sent", "layer-12", "layer-11", "layer-11+attention")

# Where a subspace is fitted. "Last" and "before" are the last and the second-to-last layer of any encoder: 12 and 11
# in BERT-base. `sentence-debias` lies at the same place as `pooled`; its subspace comes from its own templates.
POOLED, SENTENCE_DEBIAS, LAST, BEFORE = "pooled", "sentence-debias", "last", "before"
ATTENTION = ("query", "key", "value")
SUBSPACES = (POOLED, SENTENCE_DEBIAS, LAST, BEFORE, *ATTENTION)


@dataclass(frozen=True, order=True)
class Projection:
    """How a subspace is removed: n (0 hard, 1 weighted by explained variance) and c (1: the second direction too)."""

    n: int
    c: int = 0

    def of(self, eraser: "Eraser") -> "Eraser":
        return eraser.with_setting(weighted=bool(self.n), components=1 + self.c)


@dataclass(frozen=True)
class Setting:
    """One row of the paper's table 7. None means that there is no intervention at that place."""

    level: str
    pooled: Projection | None = None
    last: Projection | None = None
    before: Projection | None = None

    @property
    def attention(self) -> bool:
        return self.level == "layer-11+attention"

    @property
    def settings(self) -> str:
        """The tuple as printed: (n_11, c_11, n_12, c_12, n_p) as far as the level goes."""
        if self.level in ("base", "sentence-debias"):
            return ""
        layers = [projection for projection in (self.before, self.last) if projection]
        return (
            ",".join(str(value) for p in layers for value in (p.n, p.c)) + ("," if layers else "") + str(self.pooled.n)
        )

    def upstream(self, subspace: str) -> str:
        """Which earlier interventions are active when `subspace` is reached: the key of a sequentially fitted one."""
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


def all_settings() -> list[Setting]:
    """The 76 rows in the order of table 7: 1 + 1 + 2 + 8 + 32 + 32."""
    pooled = [Projection(n) for n in (0, 1)]
    layer = [Projection(n, c) for n, c in product((0, 1), (0, 1))]
    rows = [Setting("base"), Setting("sentence-debias", Projection(0))]
    rows += [Setting("sent", p) for p in pooled]
    rows += [Setting("layer-12", p, last) for last, p in product(layer, pooled)]
    for level in ("layer-11", "layer-11+attention"):
        rows += [Setting(level, p, last, before) for before, last, p in product(layer, layer, pooled)]
    return rows


def setting_named(name: str) -> Setting:
    """The setting that `name_of_setting` calls so; BiasflowError if none of the 76 does."""
    for setting in all_settings():
        if name_of_setting(setting) == name:
            return setting
    raise BiasflowError(
        f"setting {name!r} is none of the 76; write level and settings, e.g. 'sent 0' or 'layer-12 0,1,0'"
    )


def name_of_setting(setting: Setting) -> str:
    """A setting as one word or two: "base", "sent 0", "layer-11+attention 0,0,1,0,1"."""
    return f"{setting.level} {setting.settings}".strip()


def settings_in_training(config: Mapping) -> dict[str, str]:
    """The settings that are fine-tuned with their interventions: name in paths -> name of the setting.

    BiasflowError for a name that is none of the 76, or that has no intervention."""
    nli = config["nli"]
    if "during_finetuning" not in nli["when"]:
        return {}
    if nli["during_settings"] is None:
        chosen = [setting for setting in all_settings() if setting.level != "base"]
    else:
        chosen = [setting_named(name) for name in nli["during_settings"]]
    if any(setting.level == "base" for setting in chosen):
        raise BiasflowError("config: key 'nli.during_settings': base has no intervention; leave it out")
    return {name_of_setting(s).replace(" ", "_").replace(",", "-"): name_of_setting(s) for s in chosen}


@dataclass(frozen=True)
class Subspaces:
    """Fitted subspaces by (name, upstream). With `sequential` false every upstream is "plain"."""

    erasers: Mapping[tuple[str, str], "Eraser"]
    sequential: bool = False

    def at(self, subspace: str, setting: Setting) -> "Eraser":
        """The eraser of `subspace` in `setting`, with the setting's n and c (attention heads: one dimension, hard)."""
        upstream = setting.upstream(subspace) if self.sequential else "plain"
        if (subspace, upstream) not in self.erasers:
            raise BiasflowError(f"no subspace was fitted for {subspace} after {upstream}; fit the subspaces again")
        projection = Projection(0) if subspace in ATTENTION else getattr(setting, place_of(subspace))
        return projection.of(self.erasers[subspace, upstream])

    def active(self, setting: Setting) -> dict[str, "Eraser"]:
        """Every eraser that `setting` applies, by subspace, in the order in which the model meets them."""
        names = list(ATTENTION) if setting.attention else []
        names += [name for name in (BEFORE, LAST) if getattr(setting, name)]
        if setting.pooled:
            names.append(SENTENCE_DEBIAS if setting.level == "sentence-debias" else POOLED)
        return {name: self.at(name, setting) for name in names}


def place_of(subspace: str) -> str:
    """The field of `Setting` that says how a subspace is removed."""
    return POOLED if subspace == SENTENCE_DEBIAS else subspace
