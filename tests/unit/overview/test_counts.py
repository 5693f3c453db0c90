"""What the page says in words is what its rows say: made-up runs of several kinds are rendered and read."""

import re
from dataclasses import replace
from html import unescape
from itertools import groupby

import numpy as np
import pandas as pd
import pytest

from biasflow.overview.about import Copy
from biasflow.overview.contents import contents
from biasflow.overview.helps import Change
from biasflow.overview.judgements import HELPS, VIABLE
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


def test_scores_that_show_bias_are_those_of_the_rows(page):
    found, said, *_ = page
    for model, words in zip(found.models, said, strict=True):
        judged = sorted((row for row in model.biases if row.judged), key=lambda row: row.group)
        assert ("nothing is claimed" in words) == (bool(model.biases) and not judged)
        assert ("No score has full evidence" in words) == (bool(judged) and judged[0].group > 0)
        for group, rows in groupby(judged, key=lambda row: row.group):
            shown = [row.shown for row in rows]
            of = f"{sum(shown)} of the {len(shown)} scores" if any(shown) else f"the {len(shown)} scores"
            first = f"{'Bias' if any(shown) else 'No bias'} is shown by {'the only score' if len(shown) == 1 else of}"
            later = (
                f"Of {len(shown)} with {'less evidence' if group == 2 else 'evidence in part'}, {sum(shown) or 'none'}"
            )
            assert (first if group == judged[0].group else f"{later} show") in words
        silent = [row for row in judged if not row.shown]
        borderline = [row for row in silent if row.borderline]
        large = sum(row.may_miss_large for row in silent if row not in borderline)
        told = re.search(r"(\d+) shows? none, which", words)
        assert (told and int(told[1])) == (len(silent) if large or borderline else None)
        assert (f"{large} too imprecise to tell" in words) == bool(large)
        assert (f"{len(borderline)} borderline ({', '.join(row.name for row in borderline[:1])}" in words) == bool(
            borderline
        )
        unjudged = len(model.biases) - len(judged)
        assert (f"Not judged: {unjudged}" in words) == (0 < unjudged < len(model.biases))


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


def test_methods_that_help_are_said_with_what_they_do_and_take(page):
    found, said, *_ = page
    for model, words in zip(found.models, said, strict=True):
        for row in model.effective:
            helped, tried = ({*names} & {*model.biased} for names in ([one.name for one in row.helped], row.tried))
            assert helped and helped <= tried and row.is_method and not row.left[0] > 0.9
            only = len(helped) == len(tried) == len(model.biased) == 1
            of = "the only biased score" if only else f"{len(helped)} of {len(tried)} biased scores"
            assert re.search(rf"{row.name}[^.;]* helps? {of}", words)
            assert ("o method that helps keeps quality" in words) == (
                {row.quality for row in model.effective} == {"loses quality"}
            )
        for row in model.beside:
            assert row.cost in words and ("no other cost" in words or row.quality in words)
        assert bool(model.effective) == bool(re.search(r"helps? (the only|\d+ of \d+) biased", words))
        changed = [(row.name, *changes) for row, changes in model.outcomes if model.beside]
        assert all(f"{name} " in words for name, *_ in changed)
        helping = sum(bool(one and one.helps) for _, *changes in changed for one in changes)
        assert len(re.findall(r"helps, (?:past neutral|still biased|bias no longer shown)", words)) == helping


def test_the_first_screen_has_at_most_eighty_words(page):
    *_, first, _, _ = page
    assert 20 < len(first.split()) <= 80, first


def test_help_of_scores_that_are_less_evidence_is_said_as_such_and_they_are_marked(tmp_path):
    run = made_up.with_less_evidence()
    found = contents(*run)
    (model,) = found.models
    helped = [Change("Winogender r", 0.3, 0.1, says=HELPS)]
    methods = [replace(row, changes=helped) if row.name == "leace" else row for row in model.methods]
    found = replace(found, models=[replace(model, methods=methods)])
    html = write(found, run[0], tmp_path / "index.html")
    said = text(html.split('<div class="pictures">')[1].split("</div>")[0])
    assert (
        "scores with doubts or less evidence are helped" in said
        and "by the only score with full evidence: GEST" in said
    )
    assert "GEST rate: less biased than 5 and more biased than 3 of 9 published models" in said  # 1.3 [1.25, 1.35]
    assert "Winogender r (less evidence) 0.30" in text(html) and "GEST rate (less evidence)" not in text(html)
    assert re.search(r"Winogender r <small>less evidence", html) and "bias shown (less evidence)" in text(html)


@pytest.mark.parametrize(
    ("perplexity", "helps"),
    [(10.0, "the only biased score with full evidence"), (5590.0, "1 of 2 biased scores")],
)
def test_what_helps_says_what_is_less_evidence_and_names_the_best_without_a_control(tmp_path, perplexity, helps):
    run = made_up.with_less_evidence(perplexity)
    found = contents(*run)
    (model,) = found.models
    (leace,) = (row for row in model.methods if row.name == "leace")
    changes = [Change("GEST rate", 1.3, 1.1, says=HELPS), Change("Winogender r", 0.3, 0.2)]
    leace = replace(leace, changes=changes, quality=VIABLE, left=(0.5, 0.4, 0.6))
    for left, said in ((0.3, "free leaves 30 %, but has no control of five draws"), (0.495, None)):
        free = replace(leace, name="free", control="", changes=[], left=(left, 0.1, 0.6))
        page = write(replace(found, models=[replace(model, methods=[free, leace])]), run[0], tmp_path / "index.html")
        words = text(page.split('<div class="pictures">')[1].split("</div>")[0])
        assert f"leace helps {helps}" in words
        assert ("no other cost was measured" in words) == (perplexity == 10)  # of a weak head none counts
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
