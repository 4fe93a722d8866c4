"""The tools of a server: their schemas, asked for once and compiled when first used."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mcp_types import Tool as ListedTool

from wonder.actions.mcp.journal import log
from wonder.errors import WonderError
from wonder.language.schemas import Schema, Validator, ValueFault, compile_validator
from wonder.language.values import JsonValue


@dataclass(slots=True)
class Tool:
    """One tool, with the check of what it takes and gives."""

    server: str
    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    only_as_task: bool = False
    """Whether it can be called only as a task of the protocol (`taskSupport: required`), which Wonder does not do."""
    _input: "Validator | bool | None" = field(default=False, repr=False)
    _output: "Validator | bool | None" = field(default=False, repr=False)

    def input_faults(self, value: JsonValue) -> list[ValueFault]:
        """Say where a value is not what the tool takes."""
        if self._input is False:
            self._input = _compiled(self.input_schema, f"the input schema of {self.name!r}", self.server)
        return self._input.faults(value) if isinstance(self._input, Validator) else []

    def output_faults(self, value: JsonValue) -> list[ValueFault]:
        """Say where a value is not what the tool promises to give."""
        if self._output is False:
            schema = self.output_schema
            self._output = _compiled(schema, f"the output schema of {self.name!r}", self.server) if schema else None
        return self._output.faults(value) if isinstance(self._output, Validator) else []


class ToolList:
    """What is known of a server's tools, and since when."""

    def __init__(self, server: str, clock: Callable[[], float], seconds: float) -> None:
        self._server, self._clock, self._seconds = server, clock, seconds
        self._tools: dict[str, Tool] = {}
        self._until = 0.0
        self._since = 0.0

    @property
    def is_known(self) -> bool:
        """Whether the list may still be believed."""
        return self._clock() < self._until

    @property
    def is_new(self) -> bool:
        """Whether the list was asked for only just now, so that asking again would tell nothing else."""
        return self.is_known and self._clock() - self._since < 1.0

    def forget(self) -> None:
        """Believe the list no longer: the server says that it has changed."""
        self._until = 0.0

    def learn(self, listed: list[ListedTool]) -> None:
        """Take a list as the server gives it; what has stayed the same is not compiled again."""
        known = self._tools
        self._tools = {}
        for one in listed:
            only_as_task = one.execution is not None and one.execution.task_support == "required"
            tool = Tool(
                self._server, one.name, one.description or "", one.input_schema, one.output_schema, only_as_task
            )
            before = known.get(one.name)
            is_same = before and _content(before) == _content(tool)
            self._tools[one.name] = before if before and is_same else tool
        self._since = self._clock()
        self._until = self._since + self._seconds

    def find(self, name: str) -> Tool | None:
        """Give a tool by its name."""
        return self._tools.get(name)

    def all(self) -> list[Tool]:
        """Give all tools, by name."""
        return sorted(self._tools.values(), key=lambda tool: tool.name)


def _content(tool: Tool) -> tuple[object, ...]:
    return tool.input_schema, tool.output_schema, tool.only_as_task


def _compiled(schema: Schema, what: str, server: str) -> Validator | None:
    try:
        return compile_validator(schema)
    except WonderError as error:
        # Not the workflow's fault: the tool is called all the same, and checks its input itself.
        log.warning("%s: %s can't be used to check values: %s", server, what, str(error)[:500])
        return None
