"""Every parser that takes text from outside, each as a function that has to survive any bytes.

A target may raise WonderError, which is how a parser rejects. Anything else that it raises is a finding, and so is an
input that takes seconds or a gigabyte. Where what was read must hold something else (it is written as it was read, it
can be stored, it leads where the filter thinks), the target asserts that.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from proof.fuzz_answers import http_answers, mcp_answers, model_answers
from proof.fuzz_definitions import context_tables, phase_form
from proof.fuzz_operations import operations
from proof.fuzz_places import addresses, queries, settings
from proof.fuzz_processes import compiler_messages, transform_messages
from proof.fuzz_streams import mcp_sessions, provider_streams
from proof.fuzz_values import values
from proof.fuzz_words import approvals, command_line, names, redaction, shown
from wonder.actions.announcing import announce_kinds
from wonder.actions.copied_values import take_value
from wonder.definitions.catalog import Catalog
from wonder.definitions.loading import load_text
from wonder.errors import WonderError
from wonder.language.expressions import Names, compile_expression
from wonder.language.mappings import compile_mapping
from wonder.language.paths import compile_query, parse_dotted
from wonder.language.refs import parse_ref as parse_trigger_ref
from wonder.language.schedules.cron import parse_cron
from wonder.language.schedules.inputs import show_time
from wonder.language.schedules.moments import parse_moment
from wonder.language.schedules.times import CronTimes
from wonder.language.schedules.zones import UTC
from wonder.language.schemas import (
    assignable,
    compile_validator,
    describe,
    disjoint,
    fill_defaults,
    schema_faults,
    shape_at,
)
from wonder.language.targets import parse_target
from wonder.language.templates import compile_template
from wonder.language.values import canonical_json, check_value, encode_json, parse_json
from wonder.phases.node_refs import dotted, query, trigger_ref
from wonder.phases.refs import parse_ref
from wonder.storage.logged_facts import decode_facts, encode_facts
from wonder.storage.pages import CURSOR_LENGTH_MAX, read_cursor, write_cursor
from wonder.storage.sqlite.entries import SLOT_BYTES, entries_in, entry_of, has_name, named_by, page_of, slots_for

Target = Callable[[bytes], None]

SEPARATOR: Final = b"\x1e"
AMPLIFIED_BYTES: Final = 50_000

_SCOPE: Final[Any] = {
    "input": {"n": 3, "s": "text", "list": [1, 2.5, None, "é"], "o": {"a": {"b": True}}},
    "state": {"rows": [{"price": 1}, {"price": 20}], "a b": "x", "big": 2**70},
    "output": {},
    "item": {"price": 7},
}
_NOW_MS: Final = 1_700_000_000_000
_STEPS: Final = ("fetch", "fetch-items", "a.b", "x")


def file_form(data: bytes) -> None:
    """Read and check a definition file."""
    announce_kinds()
    load_text(data, "fuzz.yaml").check(Catalog())


def expressions(data: bytes) -> None:
    """Compile an expression, evaluate it, and ask whether it matches."""
    names = Names(Names().roots | {"item"}, ("state.rows", "input.n"))
    expression = compile_expression(_text(data), names)
    with suppress(WonderError):
        expression.matches(_SCOPE)
    encode_json(expression.evaluate(_SCOPE))


def json_path(data: bytes) -> None:
    """Compile a JSONPath query, a dotted path and a target path, and look the query up."""
    text = _text(data)
    for parse in (parse_dotted, parse_target):
        with suppress(WonderError):
            parse(text)
    compile_mapping({"a": text}).apply(_SCOPE)
    compile_query(text).find(_SCOPE)


def templates(data: bytes) -> None:
    """Compile a template in both ways of escaping, strict or not, and render it."""
    text = _text(data)
    for escape, strict in (("none", False), ("url", True)):
        with suppress(WonderError):
            compile_template(text, escape=escape, strict=strict, output_max=100_000).render(_SCOPE)  # type: ignore[arg-type]


def phase_refs(data: bytes) -> None:
    """Read a ref of the phase form and one of a trigger; written in the other ways, it leads to the same place."""
    text = "@" + _text(data)
    with suppress(WonderError):
        parse_trigger_ref(text)
    parse_ref(text, _STEPS, "user")
    ref = parse_ref(text, _STEPS)
    place = (*((ref.step, "output") if ref.root == "step" else (ref.root,)), *ref.path)
    assert parse_trigger_ref(trigger_ref(text, _STEPS)) == place, "a trigger reads what was meant"
    assert parse_dotted(dotted(place)) == place, "a path is read as it was written"
    compile_query(query(place))


def journal_entries_of_a_file(data: bytes) -> None:
    """Read the journal beside a database, and the facts of its entries."""
    has_name(data)
    named_by(data, 7)
    with suppress(WonderError):
        decode_facts(found.body for found in entries_in(data))
    page = page_of(7, 3, data)
    assert entry_of(page) == (7, 3, data), "an entry is read as it was written"
    assert [*entries_in(page.ljust(SLOT_BYTES * slots_for(len(data)), b"\0") + page)] == [(7, 3, data)] * 2
    at = sum(data[:2]) % len(page)
    damaged = page[:at] + bytes([page[at] ^ (1 + sum(data[2:4]) % 255)]) + page[at + 1 :]
    assert entry_of(damaged) is None, "a changed byte is noticed"
    facts = [fact for of_run in decode_facts([data]).values() for fact in of_run]
    written = encode_facts(facts)
    if written is not None and facts:
        assert encode_facts([fact for of_run in decode_facts([written]).values() for fact in of_run]) == written


def cursors(data: bytes) -> None:
    """Read the cursor of a list."""
    text = _text(data)
    with suppress(WonderError):
        read_cursor(text, "name", "", "")
    with suppress(WonderError):
        read_cursor(urlsafe_b64encode(data).decode().rstrip("="), "name", "", "")
    if len(data) < CURSOR_LENGTH_MAX // 4:
        keys = (check_value(text), text[::-1])
        assert read_cursor(write_cursor("name", *keys), "name", "", "") == keys, "a cursor is read as it was written"


def json_values(data: bytes) -> None:
    """Read JSON, and write it the way it is read again."""
    value = parse_json(data)
    assert parse_json(encode_json(value)) == value, "a value is read as it was written"
    assert parse_json(canonical_json(value)) == value, "and so it is with sorted keys"
    assert take_value(value) == value, "what can be read can be taken from a function"


def schemas(data: bytes) -> None:
    """Read a schema, as definitions and MCP servers give them, check a value by it, and compare it with itself."""
    schema: Any = parse_json(data)
    if [*schema_faults(schema)]:
        return
    compile_validator(schema).faults(_SCOPE["input"])
    describe(schema)
    fill_defaults(schema, {"a": {}})
    shape_at(schema, ("a", 0))
    assignable(schema, schema)
    disjoint(schema, {"type": "object"})


def small_texts(data: bytes) -> None:
    """Read what else people write: cron, with the times that it plans, and moments."""
    text = _text(data)
    with suppress(WonderError):
        assert show_time(parse_moment(text, UTC)), "a moment can be shown"
    times = CronTimes(parse_cron(text), UTC)
    following = times.after(_NOW_MS)
    assert following is None or (following > _NOW_MS and times.before(following + 1) == following), "times are in order"


TARGETS: Final[dict[str, Target]] = {
    "file_form": file_form,
    "expressions": expressions,
    "json_path": json_path,
    "templates": templates,
    "phase_refs": phase_refs,
    "transform_messages": transform_messages,
    "compiler_messages": compiler_messages,
    "journal_entries": journal_entries_of_a_file,
    "cursors": cursors,
    "json_values": json_values,
    "schemas": schemas,
    "small_texts": small_texts,
    "http_answers": http_answers,
    "mcp_answers": mcp_answers,
    "model_answers": model_answers,
    "addresses": lambda data: addresses(_text(data)),
    "settings": lambda data: settings(data, _text(data)),
    "queries": lambda data: queries(_text(data)),
    "values": lambda data: values(_text(data)),
    "phase_form": phase_form,
    "context_tables": context_tables,
    "operations": operations,
    "command_line": lambda data: command_line(_text(data)),
    "names": lambda data: names(_text(data)),
    "approvals": approvals,
    "shown": lambda data: shown(_text(data)),
    "redaction": lambda data: redaction(_text(data)),
    "mcp_sessions": mcp_sessions,
    "provider_streams": provider_streams,
}


def survive(target: str, data: bytes) -> None:
    """Give bytes to a target; a WonderError is a rejection, and everything else gets out."""
    with suppress(WonderError):
        TARGETS[target](amplified(data))


def amplified(data: bytes) -> bytes:
    """Give what an input stands for: what is between its first two separators is repeated very often.

    So a short input shows what takes the square of a length, or is nested deeper than Python's stack.
    """
    before, _, rest = data.partition(SEPARATOR)
    unit, found, after = rest.partition(SEPARATOR)
    return before + unit * (AMPLIFIED_BYTES // len(unit)) + after if found and unit else data


def _text(data: bytes) -> str:
    # Lone surrogates too: they come in from the command line and from JSON.
    return data.decode("utf-8", "surrogatepass" if data[:1] != b"\xff" else "replace") if _is_text(data) else ""


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data[:1] == b"\xff"
    return True
