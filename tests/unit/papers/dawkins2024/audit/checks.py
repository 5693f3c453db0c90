"""A check of the audit: one claim, what is printed, what the printed tables give, and whether they agree."""

from dataclasses import dataclass

from biasflow.papers.ledger import AGREES, DISAGREES
from biasflow.results.rounding import DECIMALS, Range, around, rounded
from tests.unit.papers.dawkins2024.audit.printed import Printed

NOT_COMPUTABLE, NOTE = "not computable", "note"


@dataclass(frozen=True)
class Check:
    """One claim under one reading: what is printed, what the tables give, and whether they agree."""

    claim: str
    where: str
    reading: str
    printed: str
    recomputed: str
    verdict: str
    detail: str = ""


def check(
    claim: str, where: str, printed: str, recomputed: str, *, agrees: bool, reading: str = "", detail: str = ""
) -> Check:
    """A claim that the tables confirm or refute."""
    return Check(claim, where, reading, printed, recomputed, AGREES if agrees else DISAGREES, detail)


def not_computable(claim: str, where: str, printed: str, why: str) -> Check:
    """A claim that the printed digits can neither confirm nor refute."""
    return Check(claim, where, "", printed, "", NOT_COMPUTABLE, why)


def note(claim: str, where: str, printed: str, meant: str, why: str) -> Check:
    """A slip of notation: nothing is computed, but a reader who takes it as printed goes astray."""
    return Check(claim, where, "", printed, meant, NOTE, why)


def check_number(
    claim: str,
    where: str,
    printed: float,
    recomputed: Range,
    *,
    decimals: int = DECIMALS,
    reading: str = "",
    detail: str = "",
) -> Check:
    """A printed number against a range; the recomputed value is shown with one decimal more."""
    unrounded = rounded(printed, decimals)
    agrees = unrounded.meets(recomputed)
    if agrees and not unrounded.meets(around(recomputed.value)):
        detail = "; ".join(filter(None, [detail, "agrees only because the inputs are rounded"]))
    shown = f"{printed:.{decimals}f}", f"{recomputed.value:.{decimals + 1}f}"
    return check(claim, where, *shown, agrees=agrees, reading=reading, detail=detail)


def check_count(printed: Printed, name: str, recomputed: int, *, reading: str = "", detail: str = "") -> Check:
    """A count of the text, which must be equal."""
    said, where = printed.count(name), printed.claim(name)["where"]
    return check(name, where, str(said), str(recomputed), agrees=said == recomputed, reading=reading, detail=detail)
