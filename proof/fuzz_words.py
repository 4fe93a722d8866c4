"""Targets for what people type and what their terminals show: words of commands, keys, approvals, texts of others."""

import io
import re
import shlex
from base64 import b64encode
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from importlib import import_module
from typing import Any, Final
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from wonder.actions.embedding.texts import digest_of
from wonder.actions.files.project_files import parts_of
from wonder.actions.functions.functions import FunctionRegistry
from wonder.actions.mcp.journal import Journal
from wonder.actions.mcp.permission import allow_command, shown_command
from wonder.actions.write_artifact.kind import _content as artifact_content
from wonder.cli.approving import question_about
from wonder.cli.main import COMMANDS, _no_command, _Parser
from wonder.cli.output import print_faults, print_json, print_table, visible_json, visible_lines
from wonder.cli.progress import ProgressLines, columns
from wonder.cli.questions import event_lines, question_lines
from wonder.definitions.faults import Fault
from wonder.definitions.records.resources import HttpServer, McpServer, McpServerBody, StdioServer
from wonder.definitions.references import inline_name, parse_reference
from wonder.definitions.source import Place
from wonder.engine.moments import moment_ms
from wonder.errors import WonderError
from wonder.executor.retries import _Pattern
from wonder.language.keys import KEY_BYTES_MAX, check_key
from wonder.language.redaction import Redactor
from wonder.language.values import canonical_json, check_value, encode_json, parse_json
from wonder.observe.metrics import prometheus_text
from wonder.observe.watching import Progress
from wonder.operations.run_records import AwaitedEvent, Question
from wonder.storage.mcp_approvals import approval_hash
from wonder.storage.metrics import Total
from wonder.storage.secrets import check_name
from wonder.storage.tool_schemas import connection_hash

_SERVER: Final[TypeAdapter[StdioServer | HttpServer]] = TypeAdapter(McpServerBody)
_REGISTRY: Final = FunctionRegistry((), (), ())
_WIDTH: Final = 60
_SECRET_MIN: Final = 8
_LONG: Final = 2_000
_AROUND: Final = "-around-"
_PROMETHEUS: Final = re.compile(
    r"# TYPE [a-zA-Z_:][\w:]* summary"
    r'|[a-zA-Z_:][\w:]*\{([a-zA-Z_]\w*="([^"\\\n]|\\[\\"n])*",?)*\} [0-9.]+',
    re.ASCII,
)


def command_line(text: str) -> None:
    """Parse the words of a command, one in each line, as every command does."""
    words = text.split("\n")
    if words[0] not in COMMANDS:
        _no_command(words[0])
        return
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(SystemExit):
        _parser_of(words[0]).parse_args(words[1:])


def names(text: str) -> None:
    """Read keys of events, names of secrets, paths of files, types of media, references, moments, patterns."""
    with suppress(WonderError):
        check_key("the key", text)
        assert len(text.encode()) <= KEY_BYTES_MAX, "a key can be indexed"
        assert "\0" not in text, "a key can be stored"
    for read in (
        lambda: check_name(text),
        lambda: _REGISTRY.find(text),
        lambda: artifact_content({"content_type": text}, {}),
        lambda: moment_ms(text),
    ):
        with suppress(WonderError):
            read()
    with suppress(WonderError):
        assert not {"", ".", ".."} & {*parts_of(text)}, "a path stays in its folder"
    if (reference := parse_reference("task", text, ())) is not None:
        assert parse_reference("task", str(reference), ()) == reference, "a reference is read as it was written"
    first, _, rest = text.partition("\n")
    assert not _Pattern(first.replace("*", "")).matches_any([f"{first}x"]), "a pattern without * is a name"
    _Pattern(first).matches_any([rest, first])
    with suppress(WonderError):
        check_value(text)
        assert not {"/", "@"} & {*inline_name(first, rest)}, "a name has no separators"
        digest_of(text)


def approvals(data: bytes) -> None:
    """Read an MCP server, and write what a person is asked before it is started: in ASCII, on lines of its own."""
    given: Any = parse_json(data)
    try:
        server = _SERVER.validate_python(given)
    except ValidationError:
        return
    again = _SERVER.validate_python(parse_json(canonical_json(given)))
    assert approval_hash(server, "/f") == approval_hash(again, "/f"), "the same server is approved"
    connection_hash(server)
    record = McpServer(id="i", project_id="p", name="a 'b'", connection=server, created_at="", updated_at="")
    assert shlex.split(allow_command(record, long_running=True))[3] == "a 'b'", "a command can be typed as it is shown"
    if isinstance(server, StdioServer):
        assert approval_hash(server, "/f") != approval_hash(server, "/g"), "another folder is another program"
        question = question_about("name", server)
        shown = question + shown_command(server)
        assert shown.isascii(), "what is approved is shown in ASCII"
        assert all(line.isprintable() for line in shown.split("\n")), "no sign of it is obeyed"
        assert question.count("\n") == 5 + len(server.env) - 1, "nothing of it begins a line"


def shown(text: str) -> None:
    """Show a text of others in all the ways there are: a terminal obeys nothing of it."""
    value: Any = text
    with suppress(WonderError):
        value = parse_json(text)
    page = io.StringIO()
    with redirect_stdout(page):
        print_table([text, "TITLE"], [[text, "x"]])
        place = Place(text, 1, max(1, len(text) % 300))
        print_faults([Fault("code", (text, 1), text, text, place=place)], [text])
        print(visible_lines(text))
        question = Question(
            id="i",
            run_id="r",
            kind="human",
            prompt=text,
            schema=value,
            due_ms=len(text),
            assignee=text,
            role=text,
            claimed_by=text,
            approvers=[text],
            needed=1,
            answers=[],
        )
        print("\n".join(question_lines(question)))
        with suppress(ValueError):  # not of an event: it can be stored
            check_value(text)
            print("\n".join(event_lines([AwaitedEvent(run_id="r", event=text, key=text)])))
        print(visible_json(value))
        print_json(value)
        lines = ProgressLines()
        told_by_actions: tuple[Any, ...] = (
            value,
            {"text": text, "offset": len(text)},
            {"waiting_for": 1, "ahead": 2},
            {"progress": 1.5, "total": value},
        )
        for told in told_by_actions:
            lines.add([Progress("node", "0", "step", told)])
            beside = lines.beside("line", "node", _WIDTH)
            assert columns(f"line {beside}") <= _WIDTH, "it fits beside the line"
            print(beside, *lines.in_line(["node"]))
    page.seek(0)
    for sign in set(page.read()) - {"\n"}:
        assert sign.isprintable(), f"a terminal would obey {sign!r}"
    for line in prometheus_text([Total("p", text, {text: text, "a": "b"}, 1, 2.5)]).split("\n")[:-1]:
        assert _PROMETHEUS.fullmatch(line), "Prometheus reads a metric of any name"
    journal = Journal("server", "project", lambda: 0.0)
    journal.feed(text.encode("utf-8", "surrogatepass"))
    journal.close()
    assert all(sign.isprintable() or sign in "\n\t" for line in journal.last for sign in line), "no sign is obeyed"


def redaction(text: str) -> None:
    """Redact a secret of any text out of any text, however it is spelled and wherever it stands."""
    secret, _, around = text.partition("\n---\n")
    with suppress(WonderError):
        check_value(secret)
    if len(secret.strip()) < _SECRET_MIN:
        return
    redactor = Redactor()
    redactor.add("KEY", secret)
    raw = secret.encode("utf-8", "surrogatepass")
    spellings = [secret, encode_json(secret)[1:-1], b64encode(raw).decode(), quote(raw, safe=""), raw.hex()]
    # Of a long one, each takes a second.
    for spelled in spellings if len(text) < _LONG else spellings[:1]:
        for before, behind in (("", ""), (around, _AROUND), (_AROUND, around)):
            hidden = redactor.text(f"{before}{spelled}{behind}")
            assert spelled not in hidden or spelled in f"{before}{behind}[secret KEY]", "a secret is redacted"
    redactor.value([text, {text: around}])
    redactor.data(text.encode("utf-8", "surrogatepass"), more=True)


@cache
def _parser_of(name: str) -> _Parser:
    parser = _Parser(prog=f"wonder {name}")
    import_module(f"wonder.cli.{name}").configure(parser)
    return parser
