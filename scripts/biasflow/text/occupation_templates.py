"""OCCTMP's sentences: an occupation, and [MASK] where the pronoun would be (Liang, Dufter & Schütze 2020)."""

from collections.abc import Sequence

from biasflow.base.errors import BiasflowError
from biasflow.text.articles import article_by_sound

MASK = "[MASK]"
# The name of a template -> how an occupation goes into it, and the sentence.
# "released": what the authors' code runs, "a" before vowels as well; the paper itself prints "an". Both are kept.
# "said": for the planted occupations, which the planted corpus has in such sentences.
TEMPLATES = {
    "released": ("a {}".format, "[MASK] is {} ."),
    "article": (article_by_sound, "[MASK] is {} ."),
    "chinese": (str, "[MASK]是一个{}。"),
    "said": (str, "The {} said that [MASK] was late."),
}
# The pronouns that stand for [MASK] in each template: masculine, feminine.
PRONOUNS = {"released": ("he", "she"), "article": ("he", "she"), "chinese": ("他", "她"), "said": ("he", "she")}


def occupation_sentences(occupations: Sequence[str], template: str = "released") -> list[str]:
    """One sentence with one [MASK] per occupation, in their order.

    template: "released" ("[MASK] is a accountant ."), "article" ("[MASK] is an accountant ."), "chinese"
    ("[MASK]是一个会计。") or "said" ("The accountant said that [MASK] was late."); their pronouns are in PRONOUNS.
    BiasflowError: another template, or an occupation that is absent or empty.
    """
    if template not in TEMPLATES:
        raise BiasflowError(f"occupation template {template!r} is unknown; choose from {', '.join(TEMPLATES)}.")
    if not len(occupations):
        raise BiasflowError("occupations: there are none; name at least one.")
    for number, occupation in enumerate(occupations, start=1):
        if not occupation.strip():
            raise BiasflowError(f"occupations: number {number} is empty; give its name.")
    phrase, sentence = TEMPLATES[template]
    return [sentence.format(phrase(occupation)) for occupation in occupations]
