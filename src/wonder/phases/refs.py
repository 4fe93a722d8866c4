"""Refs: texts such as `@fetch.output.users[0].name`, and the paths that they mean (PHS-2).

Only a whole text is a ref, and `@@x` is the text `@x`. Names may hold anything: of several steps the one with the
longest name that fits is meant, and a property whose name holds a dot, a bracket or a quote stands in double quotes, as
in `@a.output."b.c"`.
"""

import re
from collections.abc import Collection
from typing import Final, Literal, NamedTuple

from wonder.definitions.faults import Path
from wonder.errors import WonderError
from wonder.language.values import JsonValue

RESERVED: Final = frozenset({"input", "output", "item", "index"})
"""What a ref may begin with besides a step's name, so that no step can be called so."""

_SEGMENT = re.compile(r'\.(?:"((?:[^"]|"")*)"|([^."\[\]]+))|\[(0|[1-9][0-9]{0,14})\]')
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_FIRST = re.compile(r"[^.\[]*")
_OUTPUT = re.compile(r"\.output(?=$|[.\[])")
# Queries have no way to write these.
_CONTROL = re.compile(r"[\x00-\x07\x0b\x0e-\x1f]")
# An inferred input has two levels of schema for each, and schemas may be 100 levels deep.
_SEGMENTS_MAX = 40


class Ref(NamedTuple):
    """What a ref reads: a root, of `step` the step's name, and the path below it; `.output` is no part of that."""

    text: str
    root: Literal["input", "output", "item", "index", "step"]
    step: str
    path: Path


class BadRef(WonderError):
    """A string begins like a ref and is not one; `reason` says why."""

    code = "BAD_REF"

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"'{text[:200]}' is not a ref: {reason}")
        self.text, self.reason = text, reason


def plain_text(text: str) -> str:
    """Give the text that is meant by one that is no ref: `@@x` is `@x`."""
    return text[1:] if text.startswith("@@") else text


def plain_value(value: JsonValue) -> JsonValue:
    """Give a value that holds no refs as it is meant."""
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, dict):
        return {key: plain_value(part) for key, part in value.items()}
    return [plain_value(part) for part in value] if isinstance(value, list) else value


def parse_ref(text: str, steps: Collection[str], item_name: str | None = None) -> Ref:
    """Read a ref; raises BadRef. A step that is not there is read all the same, with the name that was meant.

    `item_name` is what the item of the forEach around it is called besides `item`.
    """
    body = text[1:]
    first = _FIRST.match(body)
    assert first
    if (root := first[0]) in RESERVED or root == item_name:
        path = _path(text, body, first.end())
        if root == "index" and path:
            raise BadRef(text, "the index is a number, which holds nothing; write @index alone")
        meant: Literal["input", "output", "item", "index"] = "item" if root not in RESERVED else root  # type: ignore[assignment]  # one of these four
        return Ref(text, meant, "", path)
    step, end = _step(text, body, steps)
    return Ref(text, "step", step, _path(text, body, end))


def _step(text: str, body: str, steps: Collection[str]) -> tuple[str, int]:
    """Find the name of the step that a ref begins with, and where its path begins, behind `.output`."""
    if quoted := _QUOTED.match(body):
        found = _OUTPUT.match(body, quoted.end())
        if found:
            return quoted[1].replace('""', '"'), found.end()
    known = [name for name in steps if body.startswith(name) and _OUTPUT.match(body, len(name))]
    if known:
        name = max(known, key=len)
        return name, len(name) + len(".output")
    if found := _OUTPUT.search(body):
        if found.start():
            return body[: found.start()], found.end()
    elif body in steps or (body and body.split(".")[0] in steps):
        name = body if body in steps else body.split(".")[0]
        raise BadRef(text, f"what a step gives is its output; write @{name}.output")
    raise BadRef(text, "write @STEP.output.path, @input.path, @item or @index, or @@ for a string that begins with @")


def _path(text: str, body: str, start: int) -> Path:
    if _CONTROL.search(body, start):
        raise BadRef(text, "it holds a control character; choose another name")
    path: list[str | int] = []
    while start < len(body):
        segment = _SEGMENT.match(body, start)
        if not segment:
            raise BadRef(text, f"it can't be read from '{body[start:][:40]}' on; write .name, .\"any name\" or [0]")
        quoted, name, index = segment.groups()
        path.append(int(index) if index is not None else name or quoted.replace('""', '"'))
        start = segment.end()
    if len(path) > _SEGMENTS_MAX:
        raise BadRef(text, f"it has more than {_SEGMENTS_MAX} segments, and values are not nested that deep")
    return tuple(path)
