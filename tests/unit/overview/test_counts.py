"""What the page says in words is what its rows say: made-up runs of several kinds are rendered and read."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest

from biasflow.overview.about import Copy
from biasflow.overview.contents import contents
from biasflow.overview.helps import Change
from biasflow.overview.judgements import VIABLE
from biasflow.overview.overview import write_page, write_summary
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
    return made_up.run_of(scored)


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
    return made_up.run_of(scored)


def family():
    scored = concatenate(made_up.scores(encoder=f"e{number}") for number in range(4))
    return *made_up.run_of(scored), dict.fromkeys(scored["encoder"], "e0")


def below_neutral():
    """A WEAT far below 0, and a smaller one above it."""
    rows = [
        {"method": "none", "metric": "weat_effect_size", "variant": "target", "dataset": name, "n": 16, "value": value}
        | {"low": value - 0.2, "high": value + 0.2}
        for name, value in (("d0", -1.5), ("d1", 0.6))
    ]
    scored = tidy(pd.DataFrame(rows), encoder="bert")
    return made_up.run_of(scored)


RUNS = {
    "less evidence": made_up.with_less_evidence,
    "weak head": lambda: made_up.with_less_evidence(5590.0),
    "nearly constant": nearly_constant,
    "seeds of encoders": family,
    "many methods": lambda: random_run(0, methods=[*METHODS, *(f"m{number}" for number in range(12))], datasets=1),
    "four seeds": lambda: random_run(2, seeds=("0", "1", "2", "3"), datasets=2),
    "below neutral": below_neutral,
    "without intervals": lambda: random_run(3, missing=1.0, datasets=2),
}


def text(html: str) -> str:
    return " ".join(unescape(re.sub("<[^>]+>", " ", re.sub("</?a[^>]*>", "", html))).split())


def rendered(run, path):
    found = contents(*run)
    return found, write(found, run[0], path)


def write(found, matrix, path):
    more = {"glossary": made_up.words(matrix), "commit": "", "papers": [], "tables": {}, "files": "", "ledger": []}
    more["differing"] = dict.fromkeys(["stereoset-dev", "wikitext-2-test", "wikitext-2-train"], "serialised anew")
    write_page(found, path, about=made_up.about_them(found.encoders), run="counts", **more)
    return path.read_text("utf-8")


@pytest.fixture(params=RUNS, scope="module")
def page(request, tmp_path_factory):
    """The contents of a run, the texts of each model's pictures, the verdicts in the tables that a reader sees, all
    words of the first screen outside of the pictures, the text for a report, and what pictures of bias say aloud."""
    found, html = rendered(RUNS[request.param](), tmp_path_factory.mktemp("counts") / "index.html")
    verdicts = re.findall(r'data-label="Verdict"[^>]*>((?:no )?bias shown|cannot be judged)', html)
    first = re.sub(r"<details.*?(<summary>.*?</summary>).*?</details>|<svg.*?</svg>", r"\1", _first(html), flags=re.S)
    said = [text(part.split("</div>")[0]) for part in html.split('<div class="pictures">')[1:]]
    report = text(html.split('<section id="report"')[1].split("</section>")[0])
    return found, said, verdicts, text(first), report, re.findall('aria-label="(How biased[^"]*)', html)


def _first(html):
    """From the title to the end of the section with the pictures, without what is printed alone."""
    return re.sub(r'<(p|h2) class="(print|hidden)">.*?</\1>', "", html.split("<header>")[1].split("</section>")[0])


def counted(shown, which):
    """How many there are and how many are shown, as the page says it."""
    return f"{len(shown)}{which}, {sum(shown) or 'none'} show{'s' if sum(shown) < 2 else ''} bias"


def test_scores_that_show_bias_are_those_of_the_rows(page):
    found, said, *_, aloud = page
    for model, words in zip(found.models, said, strict=True):
        judged = [row for row in model.biases if row.judged and not row.less_evidence]
        less_evidence = [row.shown for row in model.biases if row.judged and row.less_evidence]
        told = f"Of {len(less_evidence)} with less evidence, {sum(less_evidence) or 'none'} show"
        if not judged:
            partial = [row.shown for row in model.biases if row.judged and row.partial]
            rest = [row.shown for row in model.biases if row.judged and not row.partial]
            told = "No score has full evidence"
            for which, of in (("", [] if partial else rest), (" with evidence in part", partial)):
                assert (f"; of {counted(of, which)}" in words) == bool(of)
            assert (f". Of {counted(rest, ' with less')}" in words) == bool(partial and rest)
        assert (told in words) == bool(less_evidence)
        assert (f"Not judged: {sum(not row.judged for row in model.biases)}" in " ".join(aloud)) == (
            0 < len(judged + less_evidence) < len(model.biases)
        )
        claimed = judged or [row for row in model.biases if row.judged]
        shown = [row for row in judged if row.shown]
        tests = [row for row in claimed if row.by_interval_alone or row.by_test_alone]
        large = sum(row.may_miss_large and row not in tests for row in claimed)
        said_large = re.search(r"(\d+) show none: (\d+) too imprecise to tell", words)
        others = sum(not row.shown for row in claimed)
        assert (said_large and said_large.groups()) == ((str(others), str(large)) if large else None)
        if told in words and not judged:
            continue
        if match := re.search("The only score(?: with evidence)? (shows|does not)", words):
            assert (len(judged), len(shown)) == (1, match[1] == "shows")
        elif match := re.search(r"(\d+) of (\d+) scores(?: with evidence)? shows? bias", words):
            assert (int(match[1]), int(match[2])) == (len(shown), len(judged))
        elif match := re.search(r"None of (\d+) scores", words):
            assert (0, int(match[1])) == (len(shown), len(judged))
        else:
            assert not judged and (less_evidence or "nothing is claimed" in words or not model.biases)


def test_verdicts_in_the_tables_that_a_reader_sees_are_those_of_the_rows(page):
    found, _, verdicts, *_ = page
    judged = [row.shown for model in found.models for row in model.biases if row.judged]
    assert (verdicts.count("bias shown"), verdicts.count("no bias shown")) == (sum(judged), judged.count(False))


def test_counts_in_the_text_for_a_report_are_those_of_the_tables_that_a_reader_sees(page):
    found, _, verdicts, _, report, _ = page
    less_evidence = sum(row.judged and row.less_evidence for model in found.models for row in model.biases)
    counts = re.findall(r"Scores\. (\d+|None) of (\d+) scores?(?: with evidence)? shows? bias", report)
    judged = sum(int(count[1]) for count in counts)
    assert len(counts) + report.count("Scores. No score has full evidence") == len(found.models)
    assert judged + less_evidence == len(verdicts) - verdicts.count("cannot be judged")
    assert sum(map(int, re.findall(r"No bias is shown by (\d+)", report))) == verdicts.count("no bias shown")


def test_a_method_is_shown_with_what_it_does_and_takes(page):
    found, said, *_ = page
    for model, words in zip(found.models, said, strict=True):
        for row in model.effective[:1]:
            helped = {change.name for change in row.helped} & set(model.biased)
            assert helped and row.is_method and not row.left[0] > 0.9
            tried = set(row.tried) & set(model.biased)
            told = re.search(rf"{row.name} helps (the only|(\d+) of (\d+)) biased scores?", words)
            only = len(helped) == len(model.biased) == 1
            assert helped <= tried and told.groups()[1:] == (
                (None, None) if only else (str(len(helped)), str(len(tried)))
            )
            lacking = ", ".join(name for name in model.biased if name not in tried)
            assert f"(not measured: {lacking})" in words if lacking else "not measured" not in words
            assert np.isnan(row.left[0]) or f"{100 * row.left[0]:.0f} % of the bias left" in words
            assert (row.quality in words or "the rest not known" in words) and row.cost in words
            assert ("o method that helps keeps quality" in words) == (
                {row.quality for row in model.effective} == {"loses quality"}
            )
            assert ("the only cost" in words or "the rest not known" in words) == (row.costs == (1, 1))
        assert bool(model.effective) == bool(re.search(r"helps (the only|\d+ of \d+) biased", words))


def test_the_first_screen_has_at_most_eighty_words(page):
    *_, first, _, _ = page
    assert 20 < len(first.split()) <= 80, first


def test_help_of_scores_that_are_less_evidence_is_said_as_such_and_they_are_marked(tmp_path):
    run = made_up.with_less_evidence()
    found = contents(*run)
    (model,) = found.models
    helped = [Change("Winogender r", 0.3, 0.1)]
    methods = [replace(row, helped=helped) if row.name == "leace" else row for row in model.methods]
    found = replace(found, models=[replace(model, methods=methods)])
    html = write(found, run[0], tmp_path / "index.html")
    said = text(html.split('<div class="pictures">')[1].split("</div>")[0])
    assert (
        "scores with doubts or less evidence are helped" in said and "The only score with evidence shows bias." in said
    )
    assert "GEST rate: less biased than 5 and more biased than 3 of 9 published models" in said  # 1.3 [1.25, 1.35]
    assert "Winogender r (less evidence) 0.30" in text(html) and "GEST rate (less evidence)" not in text(html)
    assert re.search(r"Winogender r <small>less evidence", html) and "bias shown (less evidence)" in text(html)


@pytest.mark.parametrize(
    ("perplexity", "helps"),
    [(10.0, "the only biased score with evidence, GEST rate"), (5590.0, "1 of 2 biased scores, GEST rate")],
)
def test_what_helps_says_what_is_less_evidence_and_names_the_best_without_a_control(tmp_path, perplexity, helps):
    run = made_up.with_less_evidence(perplexity)
    found = contents(*run)
    (model,) = found.models
    (leace,) = (row for row in model.methods if row.name == "leace")
    leace = replace(leace, helped=[Change("GEST rate", 1.3, 1.1)], quality=VIABLE, left=(0.5, 0.4, 0.6))
    for left, said in ((0.3, "free leaves 30 %, but has no control of five draws"), (0.495, None)):
        free = replace(leace, name="free", control="", helped=[], left=(left, 0.1, 0.6))
        page = write(replace(found, models=[replace(model, methods=[free, leace])]), run[0], tmp_path / "index.html")
        words = text(page.split('<div class="pictures">')[1].split("</div>")[0])
        price = "the rest not known" if perplexity == 10 else "Price: keeps"  # no cost counts of a weak head
        assert f"leace helps {helps}" in words and price in words
        assert said in words if said else "free leaves" not in words


@pytest.mark.parametrize(("perplexity", "weak"), [(10.0, False), (5590.0, True)])
def test_scores_of_a_weak_head_are_less_evidence_and_its_costs_do_not_count(tmp_path, perplexity, weak):
    found, html = rendered(made_up.with_less_evidence(perplexity), tmp_path / "index.html")
    (model,) = found.models
    assert [(row.score.weak, row.less_evidence) for row in model.biases] == [(weak, weak), (weak, True)]
    assert [*model.methods[0].prices] == ["perplexity"] * (not weak)
    assert ("<small>read from a weak head" in html) == ("from a weak head)" in text(html)) == weak
    about = made_up.about_them(found.encoders)
    for differing in ((), ("gest", "stereoset-dev")):
        write_summary(found, tmp_path / "summary.txt", about=about, run="a", page="p", differing=differing)
        said = (tmp_path / "summary.txt").read_text("utf-8")
        assert ("weak head of " in said) == weak
        assert ("not the publishers' files byte for byte: gest, stereoset-dev\n" in said) == bool(differing)


def test_a_file_that_is_not_the_publishers_is_named_with_what_is_said_of_it(tmp_path):
    _, html = rendered(made_up.run(), tmp_path / "index.html")
    summary, details = html.split("<header>")[1].split("</header>")[0].split("</summary>")
    assert "test file" not in summary  # each is explained, so none alarms
    assert details.count("serialised anew") == 3


def test_the_same_run_gives_the_same_bytes(tmp_path):
    pages = {rendered(below_neutral(), tmp_path / f"{name}.html")[1] for name in "ab"}
    assert len(pages) == 1


def test_nothing_is_claimed_of_a_nearly_constant_classifier(tmp_path):
    found, html = rendered(nearly_constant(), tmp_path / "index.html")
    (model,) = found.models
    assert not any(row.judged for row in model.biases) and len(model.biases) == 4 and not model.judging
    assert {row.quality for row in model.methods} == {"cannot be judged"} and not model.effective
    assert "majority 0.500, largest label 0.944" in html and "nothing is claimed" in html


def test_a_head_to_be_read_with_care_is_said_on_the_first_screen(tmp_path):
    rows = [
        {"metric": "occtmp_diff", "value": 1.2, "low": 1.1, "high": 1.3},
        {"metric": "occtmp_p_sum", "value": 0.008},
    ]
    scored = tidy(pd.DataFrame(rows).assign(method="none", n=320), encoder="bert", dataset="professions")
    _, html = rendered(made_up.run_of(scored), tmp_path / "index.html")
    assert "Weak head† (probability of both pronouns 0.008)" in text(_first(html))


def test_a_run_of_one_encoder_has_one_name(tmp_path):
    _, html = rendered(made_up.run(), tmp_path / "index.html")
    assert "counts, as pre-trained" in html and "bert, as pre-trained" not in html
    assert re.search("Name in scores.csv</dt><dd>bert", html)


@pytest.mark.parametrize(("part", "offered"), [("heads", True), ("sentence vectors", False)])
def test_the_command_that_keeps_a_method_stands_where_a_copy_has_its_help(part, offered, tmp_path):
    run = made_up.run_of(made_up.helped(made_up.STRENGTH))
    found = contents(*run, copies={"bert": Copy({"leace"}, part)})
    html = write(found, run[0], tmp_path / "index.html")
    assert ("<code>biasflow debias FOLDER --method leace --run counts --to NEW</code>" in html) == offered
    assert ("A debiased copy (biasflow debias) would not lower Strength" in text(html)) != offered


def test_several_encoders_without_a_common_measure_are_said_to_be_not_compared(tmp_path):
    scored = [
        made_up.helped(measure).assign(encoder=name)
        for name, measure in zip("ab", (made_up.WEAT, made_up.SEAT), strict=True)
    ]
    run = made_up.run_of(concatenate(scored))
    found = contents(*run)
    said = "more biased: no measure could be compared, as none was read in the same way"
    page = text(write(found, run[0], tmp_path / "index.html"))
    assert said in page and "More: b, as pre-trained (" in page
    write_summary(found, tmp_path / "summary.txt", about=made_up.about_them(found.encoders), run="two", page="")
    assert said in (tmp_path / "summary.txt").read_text("utf-8")
