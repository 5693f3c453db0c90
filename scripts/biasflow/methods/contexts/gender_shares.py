"""How much gender is in the hidden states of gendered words, place by place."""

import pandas as pd

from scripts.biasflow.erasers import densray
from scripts.biasflow.methods.contexts.states import ContextStates


def gender_shares(states: ContextStates) -> pd.DataFrame:
    """`densray.gender_share` of each place: columns place, head (empty outside attention), share."""
    rows = []
    for place in states.places:
        masculine, feminine = states.by_gender(place)
        heads = [("", masculine, feminine)]
        if masculine.dim() == 3:
            heads = zip(range(masculine.shape[1]), masculine.unbind(1), feminine.unbind(1), strict=True)
        rows += [(place, str(head), densray.gender_share(*vectors)) for head, *vectors in heads]
    return pd.DataFrame(rows, columns=["place", "head", "share"])
