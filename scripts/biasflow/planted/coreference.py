"""Documents with coreference clusters in the language of the planted corpus: a known bias and a known best answer."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from biasflow.base.genders import FEMALE, MALE, WOMEN_FIRST
from biasflow.corpora.conll import Clusters, Document, Span, new_document, without_singletons
from biasflow.planted.corpus import held_out
from biasflow.planted.frames import OTHER, PRONOUNS, grammar_file, one_of
from biasflow.planted.world import FOLDER, World, load_world

KINDS = ("name", "occupation", "two")
SIDES = ("pro", "anti")
_PRONOUNS = {"subject": "PRP", "object": "PRP", "possessive": "PRP$", "reflexive": "PRP"}  # their parts of speech


@dataclass(frozen=True)
class TwoFrame:
    """A sentence about two occupations; `one`: the probability that its pronouns mean the first."""

    one: float
    frame: str


@dataclass(frozen=True)
class Grammar:
    """The contents of coreference.yaml.

    scenes  P(kind) in the order of KINDS; per_document: fewest and most scenes; again: P(a name comes again)
    occupations  stereotype (F or M) -> its occupations"""

    scenes: tuple[float, ...]
    per_document: tuple[int, int]
    again: float
    occupations: Mapping[str, tuple[str, ...]]
    openings: tuple[str, ...]
    continuations: tuple[str, ...]
    two: tuple[TwoFrame, ...]


@dataclass(frozen=True)
class Answered:
    """Documents with gold clusters, and the clusters that the best predictor gives each of them."""

    documents: tuple[Document, ...]
    best: tuple[Clusters, ...]


def coreference_documents(*, bias: float, seed: int, n: int, name: str = "train") -> Answered:
    """n documents of a few scenes, with keys `pl/<name>/0` ...; same arguments, same documents.

    A scene about a name or an occupation opens with it and a pronoun and goes on with pronouns only; a name may come
    again, as the same person. In a scene about two occupations, one mostly of women and one mostly of men, the pronouns
    mean the first one with the probability of its frame. A name's gender is even; that of whom an occupation means is
    drawn from P(woman) = 0.5 + bias * (share - 0.5). No two people of a document share a name or an occupation.
    Combinations of frame and two occupations that `held_out` keeps for `coreference_pairs` never occur.

    So all is certain but whom a pronoun means among two: the best predictor takes the one with the larger

        P(it is meant | frame) * P(gender | occupation, bias),

    the first one where they are equal."""
    world = load_world()
    grammar = load_grammar()
    rng = np.random.default_rng(seed)
    drafts = [_document(grammar, world, bias, rng) for _ in range(n)]
    return _answered(drafts, f"pl/{name}")


def coreference_pairs(*, bias: float, seed: int, n: int) -> tuple[Answered, Answered]:
    """n pro- and n anti-stereotypical sentences about two occupations, row by row the same but for the pronouns.

    The pronouns mean the first occupation with the probability of the frame; in a pro-stereotypical sentence they have
    the gender of its stereotype. All combinations of frame and occupations are those that documents never have. The
    sentences do not depend on `bias`, only the best answers do: those of one who learnt from documents with that bias.
    They are sentences of WinoBias too (`corpora.winobias`). Keys: `pl/pro/0` ..., `pl/anti/0` ..."""
    world = load_world()
    grammar = load_grammar()
    rng = np.random.default_rng(seed)
    free = list(_held_out_pairs(grammar).items())
    drafts = []
    for _ in range(n):
        frame, pairs = one_of(free, rng)
        one, other = one_of(pairs, rng)
        meant = one if rng.random() < frame.one else other
        drafts.append(_pro_and_anti(grammar, frame, one, other, meant, world, bias))
    return tuple(_answered(side, f"pl/{name}") for side, name in zip(zip(*drafts, strict=True), SIDES, strict=True))


def all_pairs(*, bias: float) -> tuple[list[tuple[Clusters, Clusters]], list[tuple[Clusters, Clusters]], list[float]]:
    """All sentences that `coreference_pairs` draws from, and how probable each is: (gold, best) clusters of the pro-
    and of the anti-stereotypical ones, row by row, where best is what the best predictor answers; probabilities."""
    world = load_world()
    grammar = load_grammar()
    drafts, weights = [], []
    for frame, pairs in _held_out_pairs(grammar).items():
        for one, other in pairs:
            for meant, probability in ((one, frame.one), (other, 1 - frame.one)):
                drafts.append(_pro_and_anti(grammar, frame, one, other, meant, world, bias))
                weights.append(probability / len(pairs))
    pro, anti = (
        [(_clusters(draft.gold), _clusters(draft.best)) for draft in side] for side in zip(*drafts, strict=True)
    )
    return pro, anti, weights


def load_grammar() -> Grammar:
    """The grammar of the planted documents."""
    content = grammar_file(FOLDER / "coreference.yaml")
    return Grammar(
        scenes=tuple(content["scenes"][kind] for kind in KINDS),
        per_document=tuple(content["per_document"]),
        again=content["again"],
        occupations={gender: tuple(content["occupations"][gender]) for gender in WOMEN_FIRST},
        openings=tuple(content["openings"]),
        continuations=tuple(content["continuations"]),
        two=tuple(TwoFrame(**entry) for entry in content["two"]),
    )


@dataclass
class _Draft:
    """A document in the making: its tokens, and gold and best clusters by the name of whom they mean."""

    sentences: list[list[str]] = field(default_factory=list)
    pos: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    gold: dict[str, list[Span]] = field(default_factory=dict)
    best: dict[str, list[Span]] = field(default_factory=dict)

    def sentence(self, frame: str, gender: str, persons: Mapping[str, str], gold: str, best: str) -> None:
        """Add the frame with its slots filled; its pronouns mean `gold`, and `best` is the best guess whom.

        persons: slot -> occupation, or a name, which starts with a capital."""
        words: list[str] = []
        for token in f"{frame} .".split():
            at = len(self.pos)
            slot = token.strip("{}")
            if slot in _PRONOUNS:
                self._add(words, (PRONOUNS[gender][slot], _PRONOUNS[slot], "*"))
                self._mention((at, at), gold, best)
            elif slot in persons and persons[slot][0].isupper():
                self._add(words, (persons[slot], "NNP", "(PERSON)"))
                self._mention((at, at), persons[slot], persons[slot])
            elif slot in persons:
                self._add(words, ("the", "DT", "*"), (persons[slot], "NN", "*"))
                self._mention((at, at + 1), persons[slot], persons[slot])
            else:
                self._add(words, (token, "." if token == "." else "-", "*"))
        words[0] = words[0][0].upper() + words[0][1:]
        self.sentences.append(words)

    def two(self, frame: TwoFrame, one: str, other: str, meant: str, gender: str, world: World, bias: float) -> str:
        """Add a sentence about two occupations; return the best guess whom its pronouns mean."""
        best = _best(frame, one, other, gender, world, bias)
        self.sentence(frame.frame, gender, {"one": one, "other": other}, meant, best)
        return best

    def _add(self, words: list[str], *tokens: tuple[str, str, str]) -> None:
        for word, pos, name in tokens:
            words.append(word)
            self.pos.append(pos)
            self.names.append(name)

    def _mention(self, span: Span, gold: str, best: str) -> None:
        self.gold.setdefault(gold, []).append(span)
        self.best.setdefault(best, []).append(span)


def _document(grammar: Grammar, world: World, bias: float, rng: np.random.Generator) -> _Draft:
    draft = _Draft()
    fewest, most = grammar.per_document
    names = {gender: [p.named(gender) for p in world.persons if p.kind == "name"] for gender in WOMEN_FIRST}
    left = {gender: rng.permutation(grammar.occupations[gender]).tolist() for gender in WOMEN_FIRST}
    seen: dict[str, str] = {}  # name -> gender
    waiting: list[str] = []  # names that come again
    for _ in range(rng.integers(fewest, most + 1)):
        kind = KINDS[rng.choice(len(KINDS), p=grammar.scenes)] if all(left.values()) else "name"
        if kind == "two":
            frame, one, other = _free_combination(grammar, left, rng)
            meant = one if rng.random() < frame.one else other
            gender = _gender(world.share(meant, bias), rng)
            best = draft.two(frame, one, other, meant, gender, world, bias)
        else:
            if kind == "name":
                if waiting:
                    meant = waiting.pop()
                else:
                    gender = _gender(0.5, rng)
                    meant = one_of([name for name in names[gender] if name not in seen], rng)
                    seen[meant] = gender
                    if rng.random() < grammar.again:
                        waiting.append(meant)
                gender = seen[meant]
            else:
                meant = left[WOMEN_FIRST[rng.integers(len(WOMEN_FIRST))]].pop()
                gender = _gender(world.share(meant, bias), rng)
            best = meant
            draft.sentence(one_of(grammar.openings, rng), gender, {"person": meant}, meant, meant)
        draft.sentence(one_of(grammar.continuations, rng), gender, {}, meant, best)
    return draft


def _answered(drafts: Sequence[_Draft], key: str) -> Answered:
    documents = [
        new_document(f"{key}/{number}", draft.sentences, _clusters(draft.gold), pos=draft.pos, names=draft.names)
        for number, draft in enumerate(drafts)
    ]
    return Answered(tuple(documents), tuple(_clusters(draft.best) for draft in drafts))


def _clusters(by_person: Mapping[str, list[Span]]) -> Clusters:
    return without_singletons(tuple(map(tuple, by_person.values())))


def _best(frame: TwoFrame, one: str, other: str, gender: str, world: World, bias: float) -> str:
    """The more probable of the two; the first one for a tie."""
    women = [world.share(occupation, bias) for occupation in (one, other)]
    first, second = women if gender == FEMALE else (1 - share for share in women)
    return one if frame.one * first >= (1 - frame.one) * second else other


def _pro_and_anti(
    grammar: Grammar, frame: TwoFrame, one: str, other: str, meant: str, world: World, bias: float
) -> tuple[_Draft, _Draft]:
    """The sentence with pronouns of the gender that is the stereotype of whom they mean, and with the other."""
    stereotype = FEMALE if meant in grammar.occupations[FEMALE] else MALE
    drafts = _Draft(), _Draft()
    for draft, gender in zip(drafts, (stereotype, OTHER[stereotype]), strict=True):
        draft.two(frame, one, other, meant, gender, world, bias)
    return drafts


def _held_out_pairs(grammar: Grammar) -> dict[TwoFrame, list[tuple[str, str]]]:
    """Frame -> the pairs of occupations, in both orders, that are kept for it."""
    pairs = [pair for both in itertools.product(*grammar.occupations.values()) for pair in (both, both[::-1])]
    by_frame = {frame: [pair for pair in pairs if _is_held_out(grammar, frame, *pair)] for frame in grammar.two}
    return {frame: kept for frame, kept in by_frame.items() if kept}


def _is_held_out(grammar: Grammar, frame: TwoFrame, one: str, other: str) -> bool:
    """Whether a combination is kept for the pairs; with it that of the two in the other order."""
    places = [[grammar.two.index(frame)]]
    places += [[names.index(one if one in names else other)] for names in grammar.occupations.values()]
    return bool(held_out(*map(np.array, places))[0])


def _free_combination(grammar: Grammar, left: Mapping[str, list[str]], rng: np.random.Generator):
    """A frame and one occupation of either list, which are taken from those left, in any order."""
    one, other = (left[gender].pop() for gender in WOMEN_FIRST)
    if rng.random() < 0.5:
        one, other = other, one
    free = [frame for frame in grammar.two if not _is_held_out(grammar, frame, one, other)]
    return one_of(free, rng), one, other


def _gender(share_of_women: float, rng: np.random.Generator) -> str:
    return FEMALE if rng.random() < share_of_women else MALE
