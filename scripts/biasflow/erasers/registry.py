"""The erasers by name. A new one is a module with `fit(pairs, *, components, **options) -> Eraser` and a line here."""

from collections.abc import Callable

from scripts.biasflow.erasers import pca
from scripts.biasflow.erasers.eraser import Eraser

ERASERS: dict[str, Callable[..., Eraser]] = {
    "pca": pca.fit,
}
