"""Captions of tables and figures. Imports no pandas: the workflow is planned with them."""

import re


def first_sentence(caption: str) -> tuple[str, str]:
    """The first sentence of a caption, with its full stop, and what follows. "et al. " ends no sentence."""
    first, *rest = re.split(r"(?<!\bet al)\. ", caption, maxsplit=1)
    return first.removesuffix(".") + "." if first else "", "".join(rest)


def shown_in_report(name: str, caption: str) -> dict[str, str]:
    """What the list of a report says of a table or figure: its name, and the first sentence of its caption."""
    return {"name": name, "shows": first_sentence(caption)[0]}
