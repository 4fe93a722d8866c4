"""The functions that an expression may call, with the number of arguments that each takes."""

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from wonder.language.expressions import (
    containment,
    date_functions,
    formatting,
    json_functions,
    math_functions,
    patterns,
    text_functions,
)
from wonder.language.expressions.math_functions import logarithm, of_one, of_two, rounding


class Function(NamedTuple):
    """A function over values, and the fewest and most arguments it takes (None: any number)."""

    call: Callable[..., Any]
    fewest: int
    most: int | None


_TEXT: Final = {
    "char": Function(text_functions.char, 0, None),
    "concat": Function(text_functions.concat, 1, None),
    "concat_ws": Function(text_functions.concat_ws, 2, None),
    "format": Function(formatting.printf, 0, None),
    "glob": Function(patterns.glob, 2, 2),
    "hex": Function(text_functions.hex_, 1, 1),
    "instr": Function(text_functions.instr, 2, 2),
    "length": Function(text_functions.length, 1, 1),
    "like": Function(patterns.like, 2, 3),
    "lower": Function(text_functions.lower, 1, 1),
    "ltrim": Function(text_functions.ltrim, 1, 2),
    "octet_length": Function(text_functions.octet_length, 1, 1),
    "printf": Function(formatting.printf, 0, None),
    "quote": Function(text_functions.quote, 1, 1),
    "replace": Function(text_functions.replace, 3, 3),
    "rtrim": Function(text_functions.rtrim, 1, 2),
    "substr": Function(text_functions.substr, 2, 3),
    "substring": Function(text_functions.substr, 2, 3),
    "subtype": Function(text_functions.subtype, 1, 1),
    "trim": Function(text_functions.trim, 1, 2),
    "typeof": Function(text_functions.typeof, 1, 1),
    "unicode": Function(text_functions.unicode, 1, 1),
    "unistr": Function(text_functions.unistr, 1, 1),
    "unistr_quote": Function(text_functions.unistr_quote, 1, 1),
    "upper": Function(text_functions.upper, 1, 1),
}

_MATH: Final = {
    "abs": Function(math_functions.abs_, 1, 1),
    "acos": Function(of_one(math.acos), 1, 1),
    "acosh": Function(of_one(math.acosh), 1, 1),
    "asin": Function(of_one(math.asin), 1, 1),
    "asinh": Function(of_one(math.asinh), 1, 1),
    "atan": Function(of_one(math.atan), 1, 1),
    "atan2": Function(of_two(math.atan2), 2, 2),
    "atanh": Function(of_one(math_functions.atanh), 1, 1),
    "ceil": Function(rounding(math.ceil), 1, 1),
    "ceiling": Function(rounding(math.ceil), 1, 1),
    "cos": Function(of_one(math.cos), 1, 1),
    "cosh": Function(of_one(math_functions.cosh), 1, 1),
    "degrees": Function(of_one(math_functions.degrees), 1, 1),
    "exp": Function(of_one(math_functions.exp), 1, 1),
    "floor": Function(rounding(math.floor), 1, 1),
    "ln": Function(logarithm(math.log), 1, 1),
    "log": Function(math_functions.log, 1, 2),
    "log10": Function(logarithm(math.log10), 1, 1),
    "log2": Function(logarithm(math.log2), 1, 1),
    "mod": Function(of_two(math.fmod), 2, 2),
    "pi": Function(math_functions.pi, 0, 0),
    "pow": Function(of_two(math_functions.power), 2, 2),
    "power": Function(of_two(math_functions.power), 2, 2),
    "radians": Function(of_one(math_functions.radians), 1, 1),
    "round": Function(math_functions.round_, 1, 2),
    "sign": Function(math_functions.sign, 1, 1),
    "sin": Function(of_one(math.sin), 1, 1),
    "sinh": Function(of_one(math_functions.sinh), 1, 1),
    "sqrt": Function(of_one(math.sqrt), 1, 1),
    "tan": Function(of_one(math.tan), 1, 1),
    "tanh": Function(of_one(math.tanh), 1, 1),
    "trunc": Function(rounding(math.trunc), 1, 1),
}

_JSON: Final = {
    "json": Function(json_functions.json, 1, 1),
    "json_array": Function(json_functions.json_array, 0, None),
    "json_array_insert": Function(json_functions.json_array_insert, 0, None),
    "json_array_length": Function(json_functions.json_array_length, 1, 2),
    "json_error_position": Function(json_functions.json_error_position, 1, 1),
    "json_extract": Function(json_functions.json_extract, 0, None),
    "json_insert": Function(json_functions.json_insert, 0, None),
    "json_object": Function(json_functions.json_object, 0, None),
    "json_patch": Function(json_functions.json_patch, 2, 2),
    "json_pretty": Function(json_functions.json_pretty, 1, 2),
    "json_quote": Function(json_functions.json_quote, 1, 1),
    "json_remove": Function(json_functions.json_remove, 0, None),
    "json_replace": Function(json_functions.json_replace, 0, None),
    "json_set": Function(json_functions.json_set, 0, None),
    "json_type": Function(json_functions.json_type, 1, 2),
    "json_valid": Function(json_functions.json_valid, 1, 2),
}

DATE_FUNCTIONS: Final = {
    "date": Function(date_functions.date, 1, None),
    "datetime": Function(date_functions.datetime, 1, None),
    "julianday": Function(date_functions.julianday, 1, None),
    "strftime": Function(date_functions.strftime, 2, None),
    "time": Function(date_functions.time, 1, None),
    "timediff": Function(date_functions.timediff, 2, 2),
    "unixepoch": Function(date_functions.unixepoch, 1, None),
}

FUNCTIONS: Final[dict[str, Function]] = {**_TEXT, **_MATH, **_JSON, **DATE_FUNCTIONS}

# Functions that do not see all their arguments as values: the compiler knows them by name.
SPECIAL_FUNCTIONS: Final[dict[str, tuple[int, int | None]]] = {
    "coalesce": (2, None),
    "if": (2, None),
    "ifnull": (2, 2),
    "iif": (2, None),
    "likelihood": (2, 2),
    "likely": (1, 1),
    "max": (2, None),
    "min": (2, None),
    "nullif": (2, 2),
    "unlikely": (1, 1),
}

# Functions that are spelled as operators, in an expression or in a structured condition, and never called by name.
OPERATORS: Final[dict[str, Callable[..., Any]]] = {
    "->": json_functions.arrow,
    "->>": json_functions.double_arrow,
    "contains": containment.contains,
    "element of": containment.is_element,
    "ends with": containment.ends_with,
    "starts with": containment.starts_with,
}

# Texts that make a date function depend on the clock or the time zone of the machine.
IMPURE_TIMES: Final = frozenset({"now", "localtime", "utc"})

# Functions of SQLite that an expression may not call, and why.
_BINARY = "it makes a binary value, and values are JSON"
_CHANCE = "it is random, and a decision must be the same when it is made again"
_DATABASE = "it asks the database, and expressions see only the context"
_AGGREGATE = "it sums up rows of a table, and expressions have none"
FORBIDDEN_FUNCTIONS: Final[dict[str, str]] = {
    **dict.fromkeys(
        [*(name.replace("json", "jsonb", 1) for name in _JSON), "unhex", "zeroblob"],
        _BINARY,
    ),
    **dict.fromkeys(["random", "randomblob"], _CHANCE),
    **dict.fromkeys(
        [
            *["changes", "last_insert_rowid", "load_extension", "sqlite_compileoption_get"],
            *["sqlite_compileoption_used", "sqlite_log", "sqlite_offset", "sqlite_source_id", "sqlite_version"],
            *["total_changes"],
        ],
        _DATABASE,
    ),
    **dict.fromkeys(
        [
            "avg",
            "count",
            "group_concat",
            "json_group_array",
            "json_group_object",
            "median",
            "string_agg",
            "sum",
            "total",
        ],
        _AGGREGATE,
    ),
}
