"""An association test in the language of the planted corpus: its answer is known."""

from biasflow.corpora.seat import AssociationTest, ExampleSet
from biasflow.planted.world import load_world

PLANTED = "planted"
WORDS = 8  # of each kind: 12,870 partitions of the targets, so that the test is exact


def planted_test() -> AssociationTest:
    """Are the occupations of women closer to feminine words than those of men are?

    X, Y: the WORDS occupations with the largest and with the smallest share of women (of equal ones the first listed);
    A, B: feminine and masculine nouns, in pairs. In an encoder of the planted corpus the effect should be positive,
    the more so the larger its bias, and about 0 at bias 0."""
    world = load_world()
    by_share = sorted(world.occupations, key=lambda name: -world.shares[name])
    masculine, feminine = zip(*world.nouns[:WORDS], strict=True)
    return AssociationTest(
        PLANTED,
        X=ExampleSet("occupations of women", tuple(by_share[:WORDS])),
        Y=ExampleSet("occupations of men", tuple(by_share[-WORDS:])),
        A=ExampleSet("feminine", feminine),
        B=ExampleSet("masculine", masculine),
    )
