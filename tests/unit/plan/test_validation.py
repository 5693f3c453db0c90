"""Messages about values that do not follow the schema: each says what to write."""

import datetime

import pytest

from biasflow.plan.validation import fault

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "ask": {"type": "object"},
        "run": {"type": "string"},
        "limit": {"type": ["integer", "null"], "minimum": 50},
        "metrics": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 1},
        "rate": {"type": "number"},
        "n": {"type": "integer", "maximum": 9},
    },
}
SOURCED = {"type": "object", "additionalProperties": False, "properties": {"source": {}, "id": {}}}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("ask", None, "it is empty; write keys with values, or leave the key out"),
        ("metrics", "weat", "'weat' is no list; write [weat]"),
        ("metrics", ["weat", "seat", "weat"], "'weat' appears twice; leave one"),
        ("metrics", [], "there are 0 values; name at least 1"),
        ("limit", "many", "'many' is not a whole number; write a whole number, or leave the key out"),
        ("limit", 10, "10 is too small; write 50 or more"),
        ("n", 10, "10 is too large; write 9 or less"),
        ("n", "7", "'7' is not a whole number; write a whole number; it is text: write 7 without quotes, in a file"),
        ("run", datetime.date(2024, 11, 1), "2024-11-01 is no text; put it in quotes"),
        ("run", 3, "3 is no text; put it in quotes, or on the command line give it a letter"),
        ("rate", "1e-5", "it is text: write 1.0e-05 without quotes"),
    ],
)
def test_a_wrong_value(key, value, said):
    message = fault({key: value}, SCHEMA)
    assert message.startswith(f"key '{key}': ") and said in message


def test_a_key_of_another_source_names_the_source():
    message = fault({"source": "hub", "id": "x", "path": "y"}, SOURCED, key="encoders.mine")
    assert message.startswith("unknown key 'encoders.mine.path' beside source: hub (if an earlier --configfile sets it")
    assert message.endswith("known: id, source")


def test_of_several_faults_an_unknown_key_is_told():
    assert fault({"rate": "much", "limits": 3}, SCHEMA).startswith("unknown key 'limits'")
