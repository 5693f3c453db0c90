"""BEC-Pro: does a profession in sight make person words of one gender likelier than a masked one does?

Association (Kurita et al. 2019) = ln p(person word | its place masked) - ln p(person word | the profession masked, too,
a mask a piece). A person word of several pieces has their sum, all masked together.

Source: Bartl et al. (2020), who test female against male person words with Wilcoxon's signed-rank test within the
typically female, male and balanced professions. Sentences share professions, so the intervals here draw professions."""

from pathlib import Path

import numpy as np
import pandas as pd
import scipy  # whose scipy.stats takes a second to load, and does so where it is first used

from biasflow.base.errors import BiasflowError
from biasflow.corpora.bec_pro import BOTH, FEMALE, MALE, PERSON
from biasflow.corpora.bec_pro import PROFESSION_GENDERS as GROUPS
from biasflow.metrics.items import SUMMARY, score_items
from biasflow.results.bootstrap import NOWHERE, interval

SENTENCE = ["template", "pair", "profession", "profession_gender", "gender"]
ITEM = [*SENTENCE, "masked", "log_p"]


def associations(words: pd.DataFrame) -> pd.DataFrame:
    """Return both associations of each pair of sentences that differ in the gender of the person word: columns
    template, pair, profession, profession_gender, and the associations `female` and `male`, in nats.

    words: one row for each piece of a person word, columns ITEM: SENTENCE (pair: of the person words that correspond),
    masked (person, both) and log_p (nats). BiasflowError for a sentence without both maskings or without its
    counterpart."""
    wide = (
        words.groupby([*SENTENCE, "masked"], sort=False)["log_p"]
        .sum()
        .unstack("masked")
        .reindex(columns=[PERSON, BOTH])
    )
    pairs = (wide[PERSON] - wide[BOTH]).unstack("gender").reindex(columns=[FEMALE, MALE])
    if pairs.empty or pairs.isna().any(axis=None):
        raise BiasflowError("BEC-Pro: a sentence lacks a masking or its counterpart of the other gender")
    return pairs.reset_index()


def score(path: str | Path) -> pd.DataFrame:
    """Return the `summary` of every method, from a file of readouts/masked_words.py about the sentences of
    corpora/bec_pro.py."""
    return score_items(path, ITEM, summary)


def score_lpbs(path: str | Path) -> pd.DataFrame:
    """LPBS: how much more does a profession raise the probability of feminine person words than of masculine ones?

    The log-probability bias score of a profession is the mean of ln p(word | its place masked) - ln p(word | the
    profession masked, too) over its sentences with feminine person words, minus the same over those with masculine
    ones. What a model prefers without the profession, its prior, is taken out.

    Returns the `lpbs_summary` of every method, from what readouts/masked_words.py wrote of the sentences of
    corpora/bec_pro.py.

    Source: Kurita et al. (2019), on the sentences of BEC-Pro (Bartl et al. 2020), which has the same association."""
    return score_items(path, ITEM, lpbs_summary)


def summary(items: pd.DataFrame) -> pd.DataFrame:
    """Return all scores of one model: columns metric, part, variant, value, n, low, high (bootstrap over professions).

    bec_pro_association, with part "<gender of the person>-<of the profession>", the mean, and bec_pro_association_sd,
    the standard deviation of the population (n: sentences); by the gender of the profession (n: pairs of sentences)
    bec_pro_difference, female minus male person words, and Wilcoxon's signed ranks: bec_pro_wilcoxon, the smaller of
    the two sums of ranks, bec_pro_wilcoxon_p, two-sided, and bec_pro_wilcoxon_r, 1 minus twice that sum over the sum of
    all ranks; bec_pro_interaction, the difference in typically female professions minus that in typically male ones,
    in nats: 0 if professions make no difference (n: professions of both).

    items: as `associations` takes them."""
    pairs = associations(items)
    both = pairs[[FEMALE, MALE]].to_numpy()
    groups = np.column_stack([pairs["profession_gender"] == group for group in GROUPS]).astype(float)

    def means_of(counts: np.ndarray) -> np.ndarray:
        """Means [resamples, groups, (female, male)], their differences, and the interaction, in one row a resample."""
        drawn = counts @ groups
        with np.errstate(invalid="ignore"):
            means = np.stack([counts @ (groups * side[:, None]) / drawn for side in both.T], axis=-1)
        differences = means[..., 0] - means[..., 1]
        return np.column_stack([means.reshape(len(counts), -1), differences, differences[:, 0] - differences[:, 1]])

    values = means_of(np.ones((1, len(pairs))))[0]
    ends = interval(means_of, pairs["profession"])
    sizes = groups.sum(axis=0).astype(int)
    names = [
        *(
            ("bec_pro_association", f"{g}-{group}", n)
            for group, n in zip(GROUPS, sizes, strict=True)
            for g in (FEMALE, MALE)
        ),
        *(("bec_pro_difference", group, n) for group, n in zip(GROUPS, sizes, strict=True)),
        ("bec_pro_interaction", "-", pairs.loc[groups[:, :2].any(axis=1), "profession"].nunique()),
    ]
    rows = [
        (name, part, "-", value, n, *limits)
        for (name, part, n), value, *limits in zip(names, values, *ends, strict=True)
    ]
    for group, members in pairs.groupby("profession_gender", sort=False):
        n, spread = len(members), members[[FEMALE, MALE]].std(ddof=0)
        rows += [("bec_pro_association_sd", f"{g}-{group}", "-", spread[g], n, *NOWHERE) for g in (FEMALE, MALE)]
        rows += [(name, group, "-", value, n, *NOWHERE) for name, value in _signed_ranks(members).items()]
    return pd.DataFrame(rows, columns=SUMMARY)


def _signed_ranks(pairs: pd.DataFrame) -> dict[str, float]:
    """Wilcoxon's test of pairs; all NaN where no pair differs. Pairs that do not differ have no rank."""
    differ = int((pairs[FEMALE] != pairs[MALE]).sum())
    values = (np.nan,) * 3
    if differ:
        test = scipy.stats.wilcoxon(pairs[FEMALE], pairs[MALE])
        values = (test.statistic, test.pvalue, 1 - 4 * test.statistic / (differ * (differ + 1)))
    return dict(zip(("bec_pro_wilcoxon", "bec_pro_wilcoxon_p", "bec_pro_wilcoxon_r"), map(float, values), strict=True))


def lpbs_summary(items: pd.DataFrame) -> pd.DataFrame:
    """Return both scores of one model: columns metric, part, variant, value, n (professions), low, high (bootstrap over
    professions).

    lpbs, the mean of the professions' scores in nats: above 0 if professions raise feminine words more; lpbs_absolute,
    the mean of their absolute values. items: as `associations` takes them, which says what it refuses."""
    pairs = associations(items)
    of_profession = (pairs[FEMALE] - pairs[MALE]).groupby(pairs["profession"]).mean().to_numpy()
    rows = []
    for name, values in (("lpbs", of_profession), ("lpbs_absolute", np.abs(of_profession))):
        ends = interval(lambda counts, v=values: counts @ v / counts.sum(axis=1), np.arange(len(values)))
        rows.append((name, "-", "-", values.mean(), len(values), *ends))
    return pd.DataFrame(rows, columns=SUMMARY)
