"""Tables 1 to 4: example sentences with the probabilities of our untouched models."""

import hashlib

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.shipped import shipped
from biasflow.base.tabular import read_parquet, read_text_csv
from biasflow.metrics.stereoset import ANTI, STEREOTYPE, UNRELATED, triple_distances, triple_strengths
from biasflow.papers.dawkins2024 import grid
from biasflow.papers.frames import RUN, Run
from biasflow.papers.rows import NOTE
from biasflow.results.scores import NONE
from biasflow.results.tables import merge_published

_SENTENCES = shipped("papers/dawkins2024/examples.csv")
_OTHER_LABEL = {STEREOTYPE: ANTI, ANTI: STEREOTYPE, UNRELATED: UNRELATED}
_EXAMPLE = ["example", "chosen", "triple", "swapped", "sentence_a", "sentence_b", "label"]
_MENDED = ["example", "triple", "authors_triple", "change", "label", "original_context", "original_next_sentence"]
_MENDED += ["p_original", "authors_context", "authors_next_sentence", "p_authors", "p_difference"]
_CHANGES = "stereoset-changes"


def digest(context: str, next_sentence: str) -> str:
    """Return 12 hex digits that stand for two sentences in the published files, which hold no sentence of StereoSet."""
    return hashlib.sha256(f"{context}\n{next_sentence}".encode()).hexdigest()[:12]


def printed_examples(printed: pd.DataFrame) -> pd.DataFrame:
    """The printed triples of tables 1, 3 and 4 with their numbers: a row per sentence, the columns of examples.csv and
    p, s and d."""
    sentences, keys = _printed_sentences("1", "3", "4"), ["table", "example", "label", "swapped"]
    numbers = printed.pivot_table(index=keys, columns="metric", values="value")[["p", "s", "d"]].reset_index()
    numbers = numbers.assign(table=numbers["table"].str.removeprefix("table "))
    rows = sentences.merge(numbers, on=keys, how="left", validate="one_to_one")
    return rows.assign(swapped=rows["swapped"] == "True")


def _printed_sentences(*tables: str) -> pd.DataFrame:
    sentences = read_text_csv(_SENTENCES)
    return sentences[sentences["table"].isin(tables)]


def examples_of(run: Run, number: int) -> pd.DataFrame:
    """Table 1, 3 or 4 for every encoder and stimuli set that was read, see `examples`. A note names the others."""
    published, tables, missing = printed_examples(run.printed), {}, []
    stimuli = {name: read_text_csv(path) for name, path in run.files.get("stimuli", {}).items()}
    for encoder in run.options["encoders"]:
        read = {name: _untouched(run, encoder, name) for name in stimuli}
        compared = encoder in grid.papers_encoders(run)
        shown = {
            (encoder, name): examples(
                number, _sampled(run, stimuli[name], probabilities), probabilities, published, compared=compared
            )
            for name, probabilities in read.items()
            if probabilities is not None
        }
        tables |= shown
        missing += [] if shown else [f"Encoder {encoder} {grid.not_run(run, encoder, grid.INSIDE)}."]
    empty = pd.DataFrame(columns=_EXAMPLE)
    table = pd.concat(tables, names=grid.BLOCK).reset_index(grid.BLOCK).reset_index(drop=True) if tables else empty
    table.attrs[NOTE] = " ".join(missing)
    return table


def _sampled(run: Run, stimuli: pd.DataFrame, probabilities: pd.DataFrame) -> pd.DataFrame:
    """The stimuli that were read: of a run with a `limit` not all."""
    return stimuli[stimuli["triple"].isin(probabilities["triple"])] if "sample" in run.options else stimuli


def _untouched(run: Run, encoder: str, stimuli: str) -> pd.DataFrame | None:
    """p(NS) of the untouched model: triple, label, swapped, p; None where it was not read."""
    path = run.files.get("next_sentence", {}).get(f"{encoder}/{stimuli}")
    if path is None:
        return None
    read = read_parquet(path)
    return read.loc[read["method"] == NONE, ["triple", "label", "swapped", "p"]].astype({"triple": str})


def examples(
    table: int, stimuli: pd.DataFrame, probabilities: pd.DataFrame, published: pd.DataFrame, *, compared: bool = True
) -> pd.DataFrame:
    """The example rows of table 1, 3 or 4 with the Base model's p(NS), and s (table 3) or d (table 4).

    `probabilities`: triple, label, swapped, p of the untouched model. The printed examples are found by their text, the
    column `digest` of `published`; `compared`: whether the numbers printed of them stand beside ours. One that the
    stimuli lack in any of its sentences is replaced by rule: table 1 the smallest |p(stereotype) - p(anti)| among
    triples predicted right (or among all), table 3 the smallest |s| and the largest s, table 4 the largest d; the first
    in the stimuli's order if several are equal."""
    printed = published[published["table"] == str(table)]
    sentences = _base_sentences(stimuli, probabilities)
    blocks = []
    for name, (triple, chosen) in _choose(table, sentences, printed).items():
        block = printed[printed["example"] == name].assign(triple=triple, chosen=chosen)
        blocks.append(block if compared and chosen == grid.PRINTED else block.assign(p=np.nan, s=np.nan, d=np.nan))
    rows = pd.concat(blocks, ignore_index=True)
    keys = ["example", "triple", "swapped", "label"]
    ours = rows[["chosen", *keys]].merge(sentences, on=keys[1:], how="left", validate="many_to_one")
    values = ["p", *{3: ["s"], 4: ["d"]}.get(table, [])]
    return merge_published(ours[[*_EXAMPLE, *values]], rows, on=keys, values=values)


def table2(run: Run) -> pd.DataFrame:
    """Return the sentences that the authors dropped or mended, with p(NS) before and after (unswapped), see
    `mended`."""
    changes, tables = run.files.get(_CHANGES, {}).get(_CHANGES), [pd.DataFrame(columns=["encoder"])]
    for encoder in run.options["encoders"]:
        before, after = (_untouched(run, encoder, stimuli) for stimuli in (grid.SWAPPED, grid.AUTHORS))
        if changes is not None and before is not None and after is not None:
            table = mended(read_text_csv(changes), before, after, _printed_sentences("2"))
            tables.append(table.assign(encoder=encoder, status=RUN))
    needs = f"it needs the stimuli {grid.AUTHORS} and {grid.SWAPPED}"
    table = grid.with_absent(run, pd.concat(tables), run.options["encoders"], grid.INSIDE, needs)
    return table.reindex(columns=["encoder", *_MENDED, "status"])


def mended(
    changes: pd.DataFrame, original: pd.DataFrame, authors: pd.DataFrame, published: pd.DataFrame
) -> pd.DataFrame:
    """Return `changes` (triple, authors_triple, change, label, original_context, original_next_sentence,
    authors_context, authors_next_sentence) with p(NS) of the two wordings and their difference.

    `original`, `authors`: triple, label, swapped, p of the untouched model on the two stimuli sets. `published`:
    example and digest of the sentences that the paper prints; a column `example` marks these."""
    texts = zip(changes["original_context"], changes["original_next_sentence"], strict=True)
    examples = published.set_index("digest")["example"]
    table = changes.assign(example=[examples.get(digest(*pair), "") for pair in texts])
    for column, triple, probabilities in (("p_original", "triple", original), ("p_authors", "authors_triple", authors)):
        unswapped = probabilities[~probabilities["swapped"]][["triple", "label", "p"]]
        unswapped = unswapped.rename(columns={"triple": triple, "p": column})
        table = table.merge(unswapped, on=[triple, "label"], how="left", validate="many_to_one")
    return table.assign(p_difference=table["p_authors"] - table["p_original"])[_MENDED]


def _base_sentences(stimuli: pd.DataFrame, probabilities: pd.DataFrame) -> pd.DataFrame:
    """One row per sentence pair, swapped ones too: triple, swapped, label (of that triple), sentences, p, s, d."""
    stimuli = stimuli.astype({"triple": str})
    swapped = stimuli.drop(columns=["context", "next_sentence"])
    swapped = swapped.rename(columns=lambda column: column.removeprefix("swapped_"))
    both = pd.concat([stimuli.assign(swapped=False), swapped.assign(swapped=True)], join="inner")
    both = both.merge(probabilities, on=["triple", "label", "swapped"], how="left", validate="one_to_one")
    if both["p"].isna().any():
        row = both[both["p"].isna()].iloc[0]
        raise BiasflowError(f"triple {row['triple']} ({row['label']}): no p(NS) of the Base model; score the stimuli")
    both.loc[both["swapped"], "label"] = both.loc[both["swapped"], "label"].map(_OTHER_LABEL)
    p = both.set_index(["triple", "label", "swapped"])["p"].unstack(["label", "swapped"])
    p["s", ""] = triple_strengths(p[STEREOTYPE, False], p[ANTI, False], p[STEREOTYPE, True], p[ANTI, True])
    p["d", ""] = triple_distances(p[UNRELATED, False], p[UNRELATED, True])
    both = both.assign(s=both["triple"].map(p["s", ""]), d=both["triple"].map(p["d", ""]))
    both = both.rename(columns={"context": "sentence_a", "next_sentence": "sentence_b"})
    return both[["triple", "swapped", "label", "sentence_a", "sentence_b", "p", "s", "d"]]


def _choose(table: int, sentences: pd.DataFrame, printed: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Example -> (triple, how it was chosen: `printed` or the rule)."""
    present = _printed_triples(sentences, printed)
    taken, chosen = set(present.values()), {}
    for name, (rule, order) in zip(printed["example"].unique(), _rules(table, sentences), strict=True):
        triple = present.get(name) or next((triple for triple in order if triple not in taken), None)
        if triple is None:
            examples = printed["example"].nunique()
            raise BiasflowError(f"table {table}: too few triples in the stimuli for {examples} examples; give more")
        taken.add(triple)
        chosen[name] = (triple, grid.PRINTED if name in present else rule)
    return chosen


def _printed_triples(sentences: pd.DataFrame, printed: pd.DataFrame) -> dict[str, str]:
    """Example -> the triple that has all of its printed sentences, word for word, with the same labels."""
    pairs = zip(sentences["sentence_a"], sentences["sentence_b"], strict=True)
    digests = sentences.assign(digest=[digest(*pair) for pair in pairs])
    matches = printed.merge(digests[["triple", "label", "swapped", "digest"]], on=["label", "swapped", "digest"])
    counts = matches.groupby(["example", "triple"], sort=False).size().reset_index(name="n")
    complete = counts[counts["n"] == counts["example"].map(printed["example"].value_counts())]
    return dict(zip(complete["example"], complete["triple"], strict=True))


def _rules(table: int, sentences: pd.DataFrame) -> list[tuple[str, list[str]]]:
    """Per printed example: the rule in words, and the triples in its order."""
    triples = sentences.drop_duplicates("triple").set_index("triple")
    if table == 3:
        small, large = triples["s"].abs(), triples["s"]
        return [("smallest |s|", _ascending(small)), ("largest s", _ascending(-large))]
    if table == 4:
        return [("largest d", _ascending(-triples["d"]))] * 2
    p = sentences[~sentences["swapped"]].set_index(["triple", "label"])["p"].unstack().reindex(triples.index)
    right = (p[STEREOTYPE] > 0.5) & (p[ANTI] > 0.5) & (p[UNRELATED] < 0.5)
    gap = (p[STEREOTYPE] - p[ANTI]).abs()
    rule = "smallest |p(stereotype) - p(anti)|" + (" of the triples predicted right" if right.any() else "")
    return [(rule, _ascending(gap[right] if right.any() else gap))]


def _ascending(values: pd.Series) -> list[str]:
    return list(values.sort_values(kind="stable").index)
