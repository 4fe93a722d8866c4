"""Asks a person on a terminal for a value, field by field, as a JSON Schema describes it.

What the schema says in a way that has no simple question (a type that depends on others) is asked for as JSON.
"""

import json
import sys
from collections.abc import Callable
from typing import Any, Final

from wonder.cli.output import color, visible, visible_json, visible_lines
from wonder.language.schemas import Validator, ValueFault, compile_validator, describe
from wonder.language.values import BadValue, parse_json, show_path

Read = Callable[[str], str]

_YES, _NO = ("y", "yes", "true"), ("n", "no", "false")
_DEPTH_MAX: Final = 20
LEFT_OUT: Final = object()
"""What an optional field is if a person gives no value for it."""


class Asker:
    """Asks with one function that reads a line, and prints what is wrong with an answer."""

    def __init__(self, schema: Any, read: Read = input) -> None:
        self._document, self._read = schema, read
        self._whole = compile_validator(schema)

    def ask(self) -> Any:
        """Ask for the whole value until it fits; raises EOFError or KeyboardInterrupt if the person gives up."""
        while True:
            value = self._value(self._document, "answer", required=True, depth=0)
            faults = self._whole.faults(value)
            if not faults:
                return value
            self._complain(faults)

    def confirm(self, value: Any) -> bool:
        """Show a value, and ask whether it is to be sent."""
        print(visible_json(value))
        return bool(self._choice("send this answer? [Y/n] ", {"": True, **_words()}, "y or n"))

    def _value(self, schema: Any, name: str, *, required: bool, depth: int) -> Any:
        schema = self._resolved(schema)
        if not isinstance(schema, dict) or depth > _DEPTH_MAX:
            return self._json(schema, name, required)
        kind = schema.get("type")
        if "const" in schema:
            return schema["const"]
        if isinstance(options := schema.get("enum"), list) and options:
            return self._enum(schema, name, options, required)
        if isinstance(kind, list) and "null" in kind and len(kind) == 2:
            other = next(one for one in kind if one != "null")
            found = self._value({**schema, "type": other}, name, required=False, depth=depth)
            return None if found is LEFT_OUT and required else found
        if kind == "object" or (kind is None and isinstance(schema.get("properties"), dict)):
            return self._object(schema, name, required, depth)
        if kind == "array" and isinstance(schema.get("items"), dict):
            return self._array(schema, name, required, depth)
        match kind:
            case "boolean":
                return self._boolean(schema, name, required)
            case "integer" | "number":
                return self._line(schema, name, required, _number, "a number")
            case "string":
                return self._line(schema, name, required, str, "text")
            case "null":
                return None
        return self._json(schema, name, required)

    def _object(self, schema: dict[str, Any], name: str, required: bool, depth: int) -> Any:
        properties = schema.get("properties") or {}
        if not properties:
            return self._json(schema, name, required)
        if depth:
            self._explain(schema, name)
            if not required and not self._boolean({"default": False}, f"give {name}?", required=True):
                return LEFT_OUT
        needed = schema.get("required") or ()
        prefix = f"{name}." if depth else ""
        found = {}
        for key, inner in properties.items():
            value = self._value(inner, f"{prefix}{key}", required=key in needed, depth=depth + 1)
            if value is not LEFT_OUT:
                found[key] = value
        return found

    def _array(self, schema: dict[str, Any], name: str, required: bool, depth: int) -> Any:
        self._explain(schema, name)
        items = self._resolved(schema["items"])
        found: list[Any] = []
        is_simple = isinstance(items, dict) and items.get("type") in ("string", "integer", "number")
        while True:
            place = f"{name}[{len(found) + 1}]"
            if is_simple:
                value = self._value(items, f"{place} (empty line: no more)", required=False, depth=depth + 1)
                if value is LEFT_OUT:
                    break
            else:
                if not self._boolean({"default": False}, f"add {place}?", required=True):
                    break
                value = self._value(items, place, required=True, depth=depth + 1)
            found.append(value)
        if not found and not required:
            return schema.get("default", LEFT_OUT)
        return found

    def _enum(self, schema: dict[str, Any], name: str, options: list[Any], required: bool) -> Any:
        self._explain(schema, name)
        for number, option in enumerate(options, 1):
            print(f"  {number}  {visible(_shown(option))}")
        words = {str(number): option for number, option in enumerate(options, 1)}
        # What is written counts before a number: options may be numbers themselves.
        words |= {_shown(option): option for option in options}
        empty = self._empty(schema, required)
        return self._choice(f"{name}{self._hint(schema, required)}: ", words | empty, f"1 to {len(options)}")

    def _boolean(self, schema: dict[str, Any], name: str, required: bool) -> Any:
        self._explain(schema, name)
        default = schema.get("default")
        choices = {True: "[Y/n]", False: "[y/N]"}.get(default, "[y/n]") if isinstance(default, bool) else "[y/n]"
        optional = "" if required or isinstance(default, bool) else " (empty line: leave it out)"
        return self._choice(f"{name} {choices}{optional} ", {**_words(), **self._empty(schema, required)}, "y or n")

    def _choice(self, prompt: str, words: dict[str, Any], expected: str) -> Any:
        while True:
            given = self._read(visible(prompt)).strip()
            for word in (given, given.lower()):
                if word in words:
                    return words[word]
            print(color("error", f"  {visible(given)!r} is not possible; write {expected}"))

    def _line(self, schema: dict[str, Any], name: str, required: bool, parse: Callable[[str], Any], noun: str) -> Any:
        self._explain(schema, name)
        empty, validator = self._empty(schema, required), self._validator(schema)
        while True:
            given = self._read(visible(f"{name}{self._hint(schema, required)}: "))
            if not given.strip() and empty:
                return empty[""]
            try:
                value = parse(given)
            except ValueError:
                print(color("error", f"  {visible(given)!r} is not {noun}"))
                continue
            faults = validator.faults(value)
            if not faults:
                return value
            self._complain(faults)

    def _json(self, schema: Any, name: str, required: bool) -> Any:
        shown = schema if isinstance(schema, dict) else {}
        print(
            color(
                "dim", f"  {visible(name)}: JSON that fits {visible(describe(schema) if schema != {} else 'anything')}"
            )
        )
        return self._line(shown, f"{name} (JSON)", required, _parsed, "JSON")

    def _explain(self, schema: dict[str, Any], name: str) -> None:
        """Print what the author says about a field."""
        for text in (schema.get("title"), schema.get("description")):
            if isinstance(text, str) and text:
                print(color("dim", f"  {visible_lines(text)}"))

    def _hint(self, schema: dict[str, Any], required: bool) -> str:
        if "default" in schema:
            return f" [{_shown(schema['default'])}]"
        return "" if required else " (empty line: leave it out)"

    def _empty(self, schema: dict[str, Any], required: bool) -> dict[str, Any]:
        """What an empty line means: the default, or that the field is left out; nothing for one that is required."""
        if "default" in schema:
            return {"": schema["default"]}
        return {} if required else {"": LEFT_OUT}

    def _validator(self, schema: dict[str, Any]) -> Validator:
        """Check a part with the definitions that its document has."""
        whole = self._document if isinstance(self._document, dict) else {}
        shared = {key: whole[key] for key in ("$defs", "definitions") if key in whole}
        return compile_validator({**shared, **schema})

    def _resolved(self, schema: Any) -> Any:
        """Follow references inside the document; what can't be followed is asked for as JSON."""
        for _ in range(_DEPTH_MAX):
            ref = schema.get("$ref") if isinstance(schema, dict) else None
            if not isinstance(ref, str) or not ref.startswith("#/"):
                return schema
            found = self._document
            for part in ref[2:].split("/"):
                found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
            if found is None:
                return schema
            schema = found
        return {}

    def _complain(self, faults: list[ValueFault]) -> None:
        for fault in faults[:5]:
            where = f"{show_path(fault.path)}: " if fault.path else ""
            print(color("error", f"  {visible(where + fault.message)}"))


def is_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _words() -> dict[str, Any]:
    return {**dict.fromkeys(_YES, True), **dict.fromkeys(_NO, False)}


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(text: str) -> Any:
    value = _parsed(text)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else int(text)  # which raises what is expected


def _parsed(text: str) -> Any:
    try:
        return parse_json(text)
    except BadValue:
        raise ValueError(text) from None
