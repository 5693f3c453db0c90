"""biasflow: measures of gender bias inside and outside BERT-family encoders. Knows nothing of Snakemake.

For other people's programs: `fit`, `edit`, `fold`, `places`, `swap_gender`, and the modules of `biasflow.metrics` and
`biasflow.erasers`. Importing biasflow loads neither torch nor pandas: a name is loaded when it is first used."""

from importlib import import_module

_MODULES = {
    "edit": "library",
    "fit": "library",
    "fold": "library",
    "places": "library",
    "swap_gender": "text.gender_swap",
}
__all__ = ["edit", "fit", "fold", "places", "swap_gender"]


def __dir__():
    return sorted({*globals(), *__all__})


def __getattr__(name: str):
    if name not in _MODULES:
        raise AttributeError(f"module 'biasflow' has no attribute {name!r}")
    return getattr(import_module(f"biasflow.{_MODULES[name]}"), name)
