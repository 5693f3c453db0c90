"""Whoever asks for more gets jobs for what is new: those that a run has finished keep their inputs and parameters."""

from dataclasses import replace
from typing import NamedTuple

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.plan.asked import Part, in_parts, read_asked, remember
from biasflow.plan.blocks import blocks_of
from biasflow.plan.cells import plan
from biasflow.plan.changed import changes as changed_keys
from biasflow.plan.checks import check_asked
from biasflow.plan.compiled import compiled
from biasflow.plan.configuration import resolve
from biasflow.plan.jobs import Jobs, Plan
from biasflow.plan.setup import Setup
from biasflow.registry import rule_of
from tests.unit.plan.configs import CATALOGUE, SCHEMA, changed, digest_of, facts_of

REAL = {"task": "bios", "trainings": ["finetuned", "pretrained"], "seeds": [0, 1], "strategies": ["plain"]}
ASK = {
    "inside": {"encoders": ["own", "real"], "methods": ["none", "leace"], "metrics": ["occtmp", "weat"]},
    "bios": {**REAL, "encoders": ["own", "real"], "methods": ["none", "leace"], "metrics": ["fairness", "compression"]},
    "nli": {"encoders": ["own"], "task": "nli", "methods": ["none", "leace"], "metrics": ["accuracy"]},
}
BIOS = {"files": ["bias-in-bios-dev"], "small": "drop"}
BASE = changed(("ask", ASK), ("tasks.bios.data", BIOS), ("encoders.real.path", "somewhere"))


class Run(NamedTuple):
    plan: Plan
    jobs: Jobs


def run_of(config: dict, earlier: Run | None = None) -> Run:
    """A run; earlier: the one before it in the same folder."""
    resolved, asked = resolve(config, SCHEMA), ()
    facts = facts_of(resolved, hidden_size=768)
    if earlier:
        asked = tuple(Part(b.name, b.asked, b.group, b.methods, b.metrics) for b in earlier.plan.blocks)
    setup = Setup(resolved, replace(facts, asked=asked))
    found = plan(setup)
    check_asked(found)
    return Run(found, compiled(setup, found, CATALOGUE))


def jobs(run: Run) -> dict[tuple, str]:
    """Rule and wildcards of dear jobs, of the data of tasks and of scores -> all that would run them again."""
    tables = ("scores", "describe", "plan", "matrix", "paper_")
    kept = [job for job in run.jobs if not job.rule.startswith(tables)]
    return {(job.rule, *job.wildcards): digest_of(job) for job in kept}


MORE = {"encoders": ["own", "real"], "task": "bios", "methods": ["none", "leace", "inlp"], "metrics": ["fairness"]}
SPLITS = ("splits", "bios")  # tries all seeds, in seconds; nothing waits for it but new trainings
OF_SEEDS = {(rule_of("together"), "own", "pretrained", "bios"), (rule_of("probes"), "real", "pretrained", "bios")}
OF_STRATEGIES = {(rule_of(name), "real", "pretrained", "bios") for name in ("heads", "first_token")}
# What is added, and what is made again for it. A run that asks for something new of an untouched encoder on a task's
# data, its splits or its strategies, reads it again: seconds, and none of it is trained or fitted.
SCORED = {("score", name, "pretrained", "bios") for name in ("own", "real")}  # of readings of all seeds or strategies
ADDED = {
    "a seed": ([("ask.bios.seeds", [0, 1, 2])], {SPLITS, *OF_SEEDS, *SCORED}),
    "a strategy": (
        [("ask.bios.strategies", ["plain", "with-leace", "scrubbing", "subsampling"])],
        {SPLITS, *OF_SEEDS, *OF_STRATEGIES, *SCORED},
    ),
    "a method": ([("ask.bios.methods", ["densray", "none", "leace"])], set()),
    "metrics": (
        [
            ("ask.bios.metrics", ["fairness", "compression", "ceat"]),
            ("ask.inside.metrics", ["occtmp", "weat", "perplexity", "bec_pro"]),
        ],
        set(),
    ),
    "a metric of a readout that is there": ([("ask.nli.metrics", ["nli_fairness", "accuracy"])], set()),
    "a method and a metric": (
        [("ask.nli.metrics", ["accuracy", "weat"]), ("ask.nli.methods", ["none", "leace", "inlp"])],
        set(),
    ),
    "a block": ([("ask.more", MORE)], set()),
    "a block in front": ([("ask", {"more": MORE, **ASK})], set()),
    "papers": ([("papers.orgad2022.encoders", ["own"]), ("papers.liang2020.encoders", ["own", "real"])], {SPLITS}),
    "another order": ([("ask.bios.methods", ["leace", "none"]), ("ask.inside.metrics", ["weat", "occtmp"])], set()),
    "an encoder": (
        [
            ("encoders.other", {"source": "pretrain", "corpus": "planted"}),
            ("ask.bios.encoders", ["other", "own", "real"]),
        ],
        set(),
    ),
    "nothing": ([], set()),
}


@pytest.mark.parametrize("what", ADDED)
def test_what_is_finished_keeps_its_inputs_and_parameters(what):
    changes, made_again = ADDED[what]
    first = run_of(BASE)
    before, after = jobs(first), jobs(run_of(changed(*changes, config=BASE), first))
    assert set(before) <= set(after)
    assert {key for key in before if before[key] != after[key]} == made_again
    assert [*changed_keys(resolve(BASE, SCHEMA), resolve(changed(*changes, config=BASE), SCHEMA))] == []


def test_parts_are_remembered(tmp_path):
    path = tmp_path / "run/asked.json"
    assert read_asked(path) == ()
    first = blocks_of(resolve(BASE, SCHEMA))
    remember(path, in_parts(first, ()), ())
    bigger = changed(("ask.nli.methods", ["none", "leace", "pca"]), config=BASE)
    again = in_parts(blocks_of(resolve(bigger, SCHEMA)), read_asked(path))
    remember(path, again, read_asked(path))
    known = read_asked(path)
    assert [(part.name, part.block) for part in known] == [*((name, name) for name in ASK), ("nli+1", "nli")]
    assert known[-1] == Part("nli+1", "nli", "nli+1", ("pca",), ("accuracy",))
    assert in_parts(blocks_of(resolve(bigger, SCHEMA)), known) == again

    metrics = ["occtmp", "weat", "perplexity"]  # one is added: it is all that the methods lack
    added = in_parts(blocks_of(resolve(changed(("ask.inside.metrics", metrics), config=BASE), SCHEMA)), known)[-1]
    assert (added.name, added.methods, added.metrics) == ("inside+1", ("none", "leace"), ("perplexity",))

    alone = changed(("ask", {"bios": ASK["bios"]}), config=BASE)  # what is not asked for now is not forgotten
    remember(path, in_parts(blocks_of(resolve(alone, SCHEMA)), known), known)
    assert read_asked(path) == known

    path.write_text('[{"name": "nli"}]')
    with pytest.raises(BiasflowError, match=r"asked\.json .*delete it"):
        read_asked(path)
