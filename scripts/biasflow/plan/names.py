"""Names in a configuration that refer to something: known, or one line that says which was meant."""

import difflib
from collections.abc import Mapping, Sequence

from biasflow.base.errors import BiasflowError


def require(name: str, known: Mapping | Sequence, key: str, what: str) -> None:
    """BiasflowError that names the key, and the name that may have been meant, unless `name` is known."""
    if name not in known:
        close = difflib.get_close_matches(str(name), list(known), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(known) or 'none'}"
        raise BiasflowError(f"config: key {key!r}: {name!r} is not one of the {what}; {hint}")
