"""Microseconds for checking values against schemas, and for what is done with schemas when a definition is created."""

from collections.abc import Callable
from timeit import Timer
from typing import Any

from wonder.language.schemas import assignable, compile_defaults, compile_validator, schema_faults, shape_at
from wonder.language.values import encode_json

ADDRESS = {
    "type": "object",
    "required": ["street", "city", "country"],
    "properties": {
        "street": {"type": "string", "minLength": 1, "maxLength": 100},
        "city": {"type": "string", "minLength": 1},
        "country": {"enum": ["DE", "FR", "GB", "US"]},
        "postcode": {"type": "string", "pattern": "^[0-9A-Z -]{3,10}$"},
    },
}
ORDER: dict[str, Any] = {
    "type": "object",
    "required": ["id", "customer", "lines"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "customer": {
            "type": "object",
            "required": ["name", "email"],
            "properties": {
                "name": {"type": "string"},
                "email": {"type": "string"},
                "home": {"$ref": "#/$defs/address"},
                "work": {"anyOf": [{"$ref": "#/$defs/address"}, {"type": "null"}]},
            },
        },
        "lines": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["sku", "count", "price"],
                "properties": {
                    "sku": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"},
                    "count": {"type": "integer", "minimum": 1},
                    "price": {"type": "number", "minimum": 0},
                    "gift": {"type": "boolean", "default": False},
                },
            },
        },
        "note": {"type": ["string", "null"], "default": None},
    },
    "$defs": {"address": ADDRESS},
}
HOME = {"street": "1 Long Street of the Old Harbour", "city": "Hamburg", "country": "DE", "postcode": "20095"}
VALUE: dict[str, Any] = {
    "id": 4711,
    "customer": {"name": "Ann Example", "email": "ann@example.org", "home": HOME, "work": dict(HOME)},
    "lines": [{"sku": f"ABC-{1000 + n}", "count": n + 1, "price": 9.5 * n, "gift": n % 2 == 0} for n in range(12)],
    "note": "leave it with the neighbours if nobody opens the door",
}


def measure() -> list[tuple[str, float]]:
    """Give a label and the microseconds of one call, the best of several rounds."""
    assert 1_000 <= len(encode_json(VALUE)) <= 1_100
    validator, fill = compile_validator(ORDER), compile_defaults(ORDER)
    wrong = VALUE | {"lines": [*VALUE["lines"], {"sku": "x"}]}
    assert validator.is_valid(VALUE)
    assert not validator.is_valid(wrong)
    target = ORDER | {"title": "another"}
    return [
        ("validating a document of 1 KB", _microseconds(lambda: validator.is_valid(VALUE))),
        ("explaining 1 KB that does not fit", _microseconds(lambda: validator.faults(wrong))),
        ("filling defaults into 1 KB", _microseconds(lambda: fill(VALUE))),
        ("finding all faults of its schema", _microseconds(lambda: schema_faults(ORDER))),
        ("compiling its validator, checks included", _microseconds(lambda: compile_validator(ORDER))),
        ("the shape at a path of three names", _microseconds(lambda: shape_at(ORDER, ["customer", "work", "city"]))),
        ("assignability of two such schemas", _microseconds(lambda: assignable(ORDER, target))),
    ]


def _microseconds(call: Callable[[], object]) -> float:
    timer = Timer(call)
    count, _ = timer.autorange()
    return min(timer.repeat(5, max(1, count // 5))) / max(1, count // 5) * 1e6


if __name__ == "__main__":
    for label, microseconds in measure():
        print(f"{microseconds:10.2f} µs  {label}")
