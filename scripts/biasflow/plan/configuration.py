"""The configuration: checked against its schema, completed with the schema's defaults, errors in one line each."""

import copy
import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from scripts.biasflow.base.errors import BiasflowError

PARTS = ("projective", "nli", "densray", "internal")  # of the configuration that list encoders


def load_schema(path: str | Path) -> dict:
    """Read a JSON Schema (draft 2020-12) that is written as YAML."""
    return yaml.safe_load(Path(path).read_text(encoding="utf-8"))


def resolve(config: Mapping, schema: Mapping) -> dict:
    """A copy of `config` with all defaults filled in; BiasflowError naming the key if it does not follow the schema."""
    resolved = copy.deepcopy(dict(config))
    _fill(resolved, schema, schema)
    error = max(Draft202012Validator(schema).iter_errors(resolved), key=_relevance, default=None)
    if error is not None:
        raise BiasflowError(f"config: {_explain(_innermost(error))}")
    _cross_check(resolved)
    return resolved


def _relevance(error: ValidationError):
    # An unknown key is the likeliest cause of whatever else is wrong beside it.
    return (error.validator == "additionalProperties", -len(error.absolute_path))


def _innermost(error: ValidationError) -> ValidationError:
    """What is wrong within the alternative that was meant: of several, the one whose kind of value it is."""
    meant = [below for below in error.context or () if below.validator not in ("const", "enum", "type")]
    return _innermost(max(meant, key=_relevance)) if meant else error


def _subschemas(value, schema: Mapping, root: Mapping) -> Iterator[Mapping]:
    """The schemas that apply to `value`: the one given, its $ref, those of its alternatives that are objects by $ref,
    and the branches of `allOf` whose `if` holds."""
    for described in (schema, *schema.get("anyOf", [])):
        if "$ref" in described:
            yield from _subschemas(value, root["$defs"][described["$ref"].rsplit("/", 1)[1]], root)
    yield schema
    for branch in schema.get("allOf", []):
        if "if" in branch and Draft202012Validator({**branch["if"], "$defs": root.get("$defs", {})}).is_valid(value):
            yield from _subschemas(value, branch["then"], root)


def _fill(value, schema: Mapping, root: Mapping) -> None:
    if not isinstance(value, dict):
        return
    for part in list(_subschemas(value, schema, root)):
        for key, below in part.get("properties", {}).items():
            if key not in value and "default" in below:
                value[key] = copy.deepcopy(below["default"])
            if key in value:
                _fill(value[key], below, root)
        if isinstance(part.get("additionalProperties"), Mapping):
            for key in value:
                if key not in part.get("properties", {}):
                    _fill(value[key], part["additionalProperties"], root)


def _explain(error: ValidationError) -> str:
    where = ".".join(str(step) for step in error.absolute_path)
    if error.validator == "additionalProperties":
        allowed = sorted(error.schema.get("properties", {}))
        unknown = next(key for key in error.instance if key not in allowed)
        key = f"{where}.{unknown}" if where else str(unknown)
        close = difflib.get_close_matches(str(unknown), allowed, n=1)
        return f"unknown key {key!r}" + (f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(allowed)}")
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        return f"key {f'{where}.{missing}' if where else missing!r} is missing"
    described = error.schema.get("description", "")
    return f"key {where!r}: {error.message}" + (f" ({described})" if described else "")


def _cross_check(config: Mapping) -> None:
    """What a schema cannot say: names that refer to one another."""
    encoders = config["encoders"]
    nli = config["nli"]
    if not any(config[part]["encoders"] for part in PARTS) and not config.get("calibration"):
        keys = ", ".join(f"'{part}.encoders'" for part in PARTS)
        raise BiasflowError(f"config: keys {keys} are empty, and there is no calibration: nothing to measure")
    lists = [(part, "encoders") for part in PARTS] + [("densray", "chinese")]
    for part, names in lists:
        for position, name in enumerate(config[part][names]):
            if name not in encoders:
                key = f"{part}.{names}.{position}"
                raise BiasflowError(f"config: key {key!r}: {name!r} is not one of the encoders: {', '.join(encoders)}")
    _check_planted_texts(config, encoders)
    _check_occupation(config["internal"])
    if nli["selection"] not in nli["selections"]:
        known = ", ".join(nli["selections"])
        raise BiasflowError(f"config: key 'nli.selection': {nli['selection']!r} is not one of the selections: {known}")
    for name, encoder in encoders.items():
        if encoder["source"] == "pretrain" and encoder["hidden"] % encoder["heads"]:
            heads, hidden = encoder["heads"], encoder["hidden"]
            raise BiasflowError(f"config: key 'encoders.{name}.heads': {heads} heads do not divide hidden {hidden}")


def _check_occupation(internal: Mapping) -> None:
    """What would be found only after hours of fine-tuning, or not at all."""
    fractions = internal["probe"]["fractions"]
    if sorted(fractions) != fractions or fractions[-1] != 100:
        raise BiasflowError(f"config: key 'internal.probe.fractions': {fractions} must rise to 100, the whole")
    if internal["data"] == "planted" and internal["labour"] is not None:
        raise BiasflowError(
            "config: key 'internal.labour': planted biographies have planted shares of women; leave it out, or name "
            "files in internal.data"
        )


def _check_planted_texts(config: Mapping, encoders: Mapping) -> None:
    """The embedded text is made for an encoder that was trained on such text."""
    parts = [("densray", "contexts"), ("densray", "perplexity")]
    parts += [("internal", "ceat")] if config["internal"]["ceat"]["tests"] else []
    for paper, part in parts:
        for name in config[paper]["encoders"]:
            if config[paper][part]["text"] == "planted" and encoders[name].get("corpus") != "planted":
                raise BiasflowError(
                    f"config: key '{paper}.{part}.text': planted, but encoder {name} was not trained on the planted "
                    "corpus; name another text"
                )
