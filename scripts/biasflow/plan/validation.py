"""Checks a value against a JSON Schema and says in one line what is wrong with it."""

import contextlib
import difflib
import math
from collections.abc import Mapping

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

OF_KIND = ("const", "enum", "type")  # what tells that another alternative was meant
TYPES = {  # of a JSON Schema, in words
    "object": "keys with values",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def _is_integer(checker, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(checker, value: object) -> bool:
    return _is_integer(checker, value) or (isinstance(value, float) and math.isfinite(value))


# JSON has neither .nan nor .inf, and 3.0 is an integer to it: no job can count with these.
_TYPES = Draft202012Validator.TYPE_CHECKER.redefine_many({"integer": _is_integer, "number": _is_number})
Validator = extend(Draft202012Validator, type_checker=_TYPES)


def fault(value: object, schema: Mapping, *, key: str = "", formats: FormatChecker | None = None) -> str | None:
    """What is wrong with a value, in one line that names the key; None where it follows the schema.

    key: where the value stands in the configuration. formats: what strings with a `format` must be; the message of the
    error that one raises is shown."""
    errors = Validator(schema, format_checker=formats).iter_errors(value)
    error = max(errors, key=_relevance, default=None)
    return None if error is None else _explain(_innermost(error), key)


def _relevance(error: ValidationError):
    # An unknown key is the likeliest cause of whatever else is wrong beside it.
    return (error.validator == "additionalProperties", -len(error.absolute_path))


def _innermost(error: ValidationError) -> ValidationError:
    """What is wrong within the alternative that was meant: of several, the one whose kind of value it is."""
    below = list(error.context or ())
    meant = [item for item in below if item.relative_path] or [item for item in below if item.validator not in OF_KIND]
    return _innermost(max(meant, key=_relevance)) if meant else error


def _explain(error: ValidationError, key: str) -> str:
    where = ".".join([*([key] if key else []), *map(str, error.absolute_path)])
    if error.validator == "additionalProperties":
        allowed = sorted(error.schema.get("properties", {}))
        unknown = next(name for name in error.instance if name not in allowed)
        name = f"{where}.{unknown}" if where else str(unknown)
        close = difflib.get_close_matches(str(unknown), allowed, n=1)
        if close:
            return f"unknown key {name!r}; did you mean {close[0]!r}?"
        source = error.instance.get("source") if "source" in allowed else None  # an encoder has the keys of its source
        beside = (
            f" beside source: {source} (if an earlier --configfile sets it, edit a copy of that file instead)"
            if source
            else ""
        )
        return f"unknown key {name!r}{beside}; known: {', '.join(allowed)}"
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        about = error.schema.get("properties", {}).get(missing, {}).get("description", "")
        write = f"; write {missing}: ({about})" if about else ""
        return f"key {f'{where}.{missing}' if where else missing!r} is missing{write}"
    message = _AGAINST.get(error.validator, lambda error: error.message)(error)
    outer = error
    while outer.parent is not None and not outer.relative_path:  # an alternative of the same value
        outer = outer.parent
    described = outer.schema.get("description") or error.schema.get("description", "")
    return f"key {where!r}: {message}{_as_text(error)}" + (f" ({described})" if described else "")


def _of_another_type(error: ValidationError) -> str:
    allowed = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    wanted = " or ".join(TYPES[name] for name in allowed if name in TYPES)
    optional = ", or leave the key out" if "null" in allowed else ""
    value = error.instance
    if value is None:
        return f"it is empty; write {wanted}, or leave the key out"
    if "array" in allowed and not isinstance(value, dict):
        return f"{value!r} is no list; write [{value}]"
    if allowed == ["string"] and not isinstance(value, (dict, list)):
        return f"{value} is no text; put it in quotes, or on the command line give it a letter"
    return f"{value!r} is not {wanted}; write {wanted}{optional}"


def _twice(error: ValidationError) -> str:
    value = next(value for number, value in enumerate(error.instance) if value in error.instance[:number])
    return f"{value!r} appears twice; leave one"


def _too_long(error: ValidationError) -> str:
    begin = f"{error.instance[:20]}..."
    return f"{begin!r} has {len(error.instance)} characters; give at most {error.validator_value}"


_AGAINST = {  # what is wrong with a value, by the keyword of JSON Schema that it is against
    "type": _of_another_type,
    "uniqueItems": _twice,
    "minItems": lambda error: f"there are {len(error.instance)} values; name at least {error.validator_value}",
    "minProperties": lambda error: f"it has {len(error.instance)} keys; write at least {error.validator_value}",
    "minimum": lambda error: f"{error.instance} is too small; write {error.validator_value} or more",
    "maximum": lambda error: f"{error.instance} is too large; write {error.validator_value} or less",
    "format": lambda error: str(error.cause),
    "maxLength": _too_long,
    "pattern": lambda error: f"{error.instance!r} is not allowed",
}


def _as_text(error: ValidationError) -> str:
    """What to write in place of a number or truth value that was given as text."""
    if error.validator in OF_KIND and isinstance(error.instance, str):
        if error.instance.lower() in ("true", "false", "null"):
            return "; it is text: leave out the quotes"
        with contextlib.suppress(ValueError):
            number = f"{float(error.instance):g}"
            if "e" in number and "." not in number:
                number = number.replace("e", ".0e")
            return f"; it is text: write {number} without quotes, in a file (in lists of --config all values are text)"
    return ""
