"""Which changes of a configuration are told before finished results are made again, and which are only additions."""

import pytest

from biasflow.plan.changed import changes

BEFORE = {
    "run": "mine",
    "mirror": None,
    "encoders": {"mine": {"path": "A", "corpus": ["planted"]}},
    "methods": {"leace": [{"eraser": "leace"}]},
    "tasks": {"nli": {"finetuning": {"epochs": 1}}},
    "files": {},
    "limit": None,
    "metrics": {"weat": {"tests": ["C6"]}, "strength": {"tops": [0.1]}},
    "ask": {"inside": {"methods": ["none", "leace"], "seeds": [0]}},
}


def now(part: str, value: object) -> dict:
    """BEFORE with another value of a key, with dots."""
    top, _, rest = part.partition(".")
    above = BEFORE.get(top, {})
    for name in reversed(rest.split(".") if rest else []):
        value = {name: value}
    return BEFORE | {top: _laid_over(above, value)}


def _laid_over(one: object, other: object) -> object:
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return other
    return one | {key: _laid_over(one.get(key), value) for key, value in other.items()}


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("encoders.mine.path", "B", 'was "A", is "B"'),
        ("encoders.mine.corpus", ["planted", "text.txt"], 'was ["planted"], is ["planted", "text.txt"]'),
        ("encoders.mine.dose", 0.5, "was absent, is 0.5"),
        ("tasks.nli.finetuning.epochs", 2, "was 1, is 2"),
        ("files.stereoset-dev", "mine.json", 'was absent, is "mine.json"'),
        ("limit", 100, "was null, is 100"),
        ("methods.leace", [{"eraser": "leace"}, {"eraser": "sal"}], "was"),
        ("metrics.weat.tests", ["C7"], 'was ["C6"], is ["C7"]'),
        ("metrics.strength.tops", [0.1, 0.5], "was [0.1], is [0.1, 0.5]"),
        ("ask.inside.methods", ["none"], 'was ["none", "leace"], is ["none"]'),
        ("run", "other", None),
        ("mirror", "m", None),
        ("encoders.other", {"path": "B"}, None),
        ("methods.sal", [{"eraser": "sal"}], None),
        ("tasks.bios", {}, None),
        ("metrics.weat.tests", ["C7", "C6"], None),
        ("metrics.weat.tests", None, None),
        ("metrics.weat.own", {"mine": {}}, None),
        ("ask.inside.methods", ["leace", "none", "sal"], None),
        ("ask.inside.seeds", [0, 1], None),
        ("ask.more", {"methods": ["none"]}, None),
        ("papers.orgad2022", {}, None),
    ],
)
def test_what_is_told(key, value, told):
    found = list(changes(BEFORE, now(key, value)))
    assert [name for name, _ in found] == ([key] if told else [])
    assert not told or found[0][1].startswith(told)
