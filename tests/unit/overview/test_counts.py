"""Every count in a sentence of the page is that of the table below it: made-up runs of several kinds are rendered and
read."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

from biasflow.overview.contents import contents
from biasflow.overview.overview import write_page
from biasflow.plan.methods import control_of
from biasflow.results.matrix import matrix
from biasflow.results.scores import concatenate, tidy
from tests.unit.overview import made_up

METHODS = ["none", "a", "b", "c", "a-random0", "b-random0"]
BIASES = {  # metric -> part, variant, neutral value
    "weat_effect_size": ("-", "target", 0),
    "strength": ("top=10%", "-", 0),
    "distance": ("top=10%", "-", 0),  # makes no claim
    "gest_stereotype_rate": ("all", "base10", 1),
    "compression": ("-", "paper-bits-best", 1),
}


def random_run(seed, *, methods=METHODS, seeds=("-",), datasets=5, missing=0.3):
    """Scores drawn at random, of which a share has no interval, or one without width."""
    rng = np.random.default_rng(seed)
    rows = []
    for method in methods:
        for number in seeds:
            about = {"method": method, "seed": number}
            for metric, (part, variant, neutral) in BIASES.items():
                for dataset in range(1 + rng.integers(datasets) if method == "none" else datasets):
                    value, half = neutral + rng.normal(scale=0.5), rng.exponential(0.4)
                    half = rng.choice([half, 0, np.nan], p=[1 - missing, missing / 2, missing / 2])
                    about_it = {"metric": metric, "part": part, "variant": variant, "dataset": f"d{dataset}", "n": 40}
                    rows.append(about | about_it | {"value": value, "low": value - half, "high": value + half})
            value, half = rng.choice([10, 10.1, 13]), rng.exponential(0.2)
            cost = {"metric": "perplexity", "part": "-", "variant": "-", "dataset": "text", "n": 90}
            rows.append(about | cost | {"value": value, "low": value - half, "high": value + half})
    keys = {"task": "bios", "strategy": "plain", "head": "own"} if seeds != ("-",) else {}
    scored = tidy(pd.DataFrame(rows), encoder="bert", **keys)
    planned = made_up.plan(scored)
    return matrix(scored, planned), planned, scored


def nearly_constant():
    """A classifier that gives 34 of 36 people one label, and methods that leave it so."""
    measures = [("tpr_gap_sum", "-"), ("independence", "-"), ("separation", "absdiff"), ("sufficiency", "absdiff")]
    beside = {"accuracy": 20 / 36, "majority_share": 0.5, "majority_p": 0.309, "largest_label_share": 34 / 36}
    rows = [{"metric": name, "variant": variant, "value": 0.0, "low": 0.0, "high": 0.0} for name, variant in measures]
    rows += [{"metric": name, "variant": "-", "value": value} for name, value in beside.items()]
    rows[len(measures)] |= {"low": 0.39, "high": 0.71}
    frame = pd.concat([pd.DataFrame(rows).assign(method=method, n=36) for method in ("none", "a", "a-random0")])
    keys = {"task": "bios", "strategy": "plain", "seed": "0", "head": "own", "dataset": "bios-raw"}
    scored = tidy(frame, encoder="bert", **keys)
    planned = made_up.plan(scored)
    return matrix(scored, planned), planned, scored


def family():
    scored = concatenate(made_up.scores(encoder=f"e{number}") for number in range(4))
    planned = made_up.plan(scored)
    return matrix(scored, planned), planned, scored, dict.fromkeys(scored["encoder"], "e0")


RUNS = {
    "small": made_up.run,
    "wide": made_up.many,
    "nearly constant": nearly_constant,
    "seeds of encoders": family,
    "many methods": lambda: random_run(0, methods=[*METHODS, *(f"m{number}" for number in range(12))]),
    "two seeds": lambda: random_run(1, seeds=("0", "1")),
    "four seeds": lambda: random_run(2, seeds=("0", "1", "2", "3")),
    "without intervals": lambda: random_run(3, missing=1.0),
    **{f"random {number}": lambda number=number: random_run(number) for number in range(4, 6)},
}


def text(html: str) -> str:
    return " ".join(unescape(re.sub("<[^>]+>", " ", re.sub("</?a[^>]*>", "", html))).split())


def rows_of(html: str) -> dict[str, list[str]]:
    """Name of a row -> the texts of its cells, without what stands there in small print."""
    rows = re.findall(r'<tr[^>]*><th scope="row"[^>]*>(.*?)</th>(.*?)</tr>', html, re.DOTALL)
    cells = {text(name): re.findall(r"<td[^>]*>(.*?)</td>", rest, re.DOTALL) for name, rest in rows}
    return {
        name: [text(re.sub("<small.*?</small>", "", cell, flags=re.DOTALL)) for cell in of]
        for name, of in cells.items()
    }


def verdict_counts(verdict: str) -> tuple[int, int, int]:
    """Of a row: how many tests show bias, how many are judged, and how many are not."""
    shown, judged, unjudged = re.fullmatch(
        r"(?:bias shown in (\d+) of (\d+))?(?:; )?(?:no claim of (\d+))?|.*", verdict
    ).groups()
    if shown is None:
        return int(verdict == "bias shown"), int(verdict != "no claim"), int(verdict == "no claim")
    return int(shown), int(judged), int(unjudged or 0)


@pytest.fixture(params=RUNS, scope="module")
def answers(request, tmp_path_factory):
    """(left half, right half) of each answer of the page of a run, as HTML."""
    path = tmp_path_factory.mktemp("counts") / "index.html"
    run = RUNS[request.param]()
    found = contents(*run)
    more = {"glossary": made_up.words(run[0]), "commit": "", "papers": [], "tables": {}, "files": "", "ledger": []}
    write_page(found, path, about=made_up.about_them(found.encoders), run="counts", **more)
    short = path.read_text("utf-8").split('<section id="short"')[1].split("</section>")[0]
    return [answer.split("Does a method help") for answer in short.split('<div class="answer">')[1:]]


def test_scores_that_show_bias_are_those_of_the_rows(answers):
    for left, _ in answers:
        counts = [verdict_counts(cells[3]) for cells in rows_of(left).values()]
        shown, judged, unjudged = map(sum, zip(*counts, strict=True))
        said = text(left)
        if match := re.search(r"(\d+) of (\d+) scores shows? bias|None of (\d+) scores", said):
            assert (int(match[1] or 0), int(match[2] or match[3])) == (shown, judged)
        elif "The only score" in said:
            assert judged == 1 and ("The only score shows bias" in said) == (shown == 1)
        else:
            assert "nothing is claimed" in said and judged == 0
        assert ("no claim, because" in said) == bool(unjudged)


def test_measures_without_a_claim_are_named_with_the_tests_that_have_none(answers):
    for left, _ in answers:
        sentence = text(left).split("Measure Score")[0]
        for label, cells in rows_of(left).items():
            _, judged, unjudged = verdict_counts(cells[3])
            if unjudged and judged:
                parts = re.findall(rf"{re.escape(label)} \((\d+) of (\d+) tests\)", sentence)
                assert sum(int(n) for n, _ in parts) == unjudged
                assert {int(total) for _, total in parts} == {judged + unjudged}
            elif judged:
                assert not re.search(rf"{re.escape(label)}(?: \([^)]*\))?(?: and [^.]*)?: no claim", sentence)


def test_methods_that_help_and_keep_quality_are_those_of_the_rows(answers):
    for _, right in answers:
        rows = rows_of(right)
        controls = {name for name in rows if control_of(name) is not None}
        moved = {
            name: [int(cell.split(" of ")[0]) for cell in cells[2:4] if " of " in cell] for name, cells in rows.items()
        }
        helps = {name for name, counts in moved.items() if counts and counts[0] > counts[1]}
        keep = {name for name, cells in rows.items() if cells[0] == "keeps quality"}
        methods, said = set(rows) - controls, text(right.split("<table")[0])
        if match := re.search(r"(\d+) of (\d+) methods move", said):
            assert (int(match[1]), int(match[2])) == (len(helps - controls), len(methods))
            untested = re.search(r"\((\d+) not tested\)", said)
            assert int(untested[1] if untested else 0) == sum(not moved[name] for name in methods)
        if match := re.search(r"(\d+) of these (\d+) keeps? quality", said):
            assert (int(match[1]), int(match[2])) == (len(helps & keep - controls), len(helps - controls))
        if match := re.search(r"(\d+) of (\d+) controls", said):
            assert (int(match[1]), int(match[2])) == (len(helps & controls), len(controls))
        for pattern, quality in (
            (r"(\d+) loses? quality", "loses quality"),
            (r"for (\d+) the score", "no claim"),
            (r"for (\d+) the interval", "quality unclear"),
            (r"for (\d+) no cost", "cost not measured"),
        ):
            if match := re.search(pattern, said.partition("every cost at most")[2]):
                assert int(match[1]) == sum(rows[name][0] == quality for name in methods)
        if match := re.search(r"among the (\d+) compared methods", said):
            assert int(match[1]) == len(keep - controls)


def test_a_row_counts_the_measures_that_it_names(answers):
    for left, right in answers:
        judging = {label for label, cells in rows_of(left).items() if verdict_counts(cells[3])[1]}
        for cells in rows_of(right).values():
            for cell in cells[2:4]:
                if match := re.fullmatch(r"(\d+) of (\d+)(?:: (.*))?", cell):
                    names = re.sub(r" \(\d+ of \d+\)", "", match[3] or "").split(", ") if match[3] else []
                    assert int(match[1]) == len(names) <= int(match[2]) <= len(judging) and set(names) <= judging


def test_intervals_over_items_are_not_of_so_many_seeds(answers):
    for left, _ in answers:
        for sizes in re.findall(r"over the items of each test \(([^)]*)\)", text(left)):
            assert re.fullmatch(r"[\d,]+(?: to [\d,]+)? items", sizes)


def test_nothing_is_claimed_of_a_nearly_constant_classifier():
    found = contents(*nearly_constant())
    (answer,) = found.answers
    assert answer.bias.startswith("No score of bias can be judged here") and "majority class" in answer.bias
    assert {row.verdict for row in answer.rows} == {"no claim"} and len(answer.rows) == 4
    assert {row.quality for row in answer.methods} == {"no claim"} and "keep" not in answer.helps.split(
        "shown to keep"
    )[0]
    accuracy = {cells[0].beside for _, _, cells in found.sections[0].heat.rows}
    assert accuracy == {"majority 0.500, largest label 0.944"}
    assert not any("keeps quality" in line or "None of" in line for line in found.summary)
