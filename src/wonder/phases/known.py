"""What is known from outside of the tools and transforms that a phase workflow uses: the schemas of both."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from wonder.language.schemas import Schema


class ToolName(NamedTuple):
    """A tool of an MCP server, by the names that the file gives both."""

    connection_id: str
    tool_name: str


@dataclass(frozen=True, slots=True)
class ToolSchemas:
    """What a tool takes and gives; `output` is None for one that does not say."""

    input: Schema
    output: Schema | None


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A tool that nobody was allowed to ask for: it may take and give anything, and its author is warned."""

    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class TransformTypes:
    """`Input` and `Output` of a transform."""

    input: Schema
    output: Schema


@dataclass(frozen=True, slots=True)
class TypeFault:
    """One thing that the TypeScript compiler refuses, with its place in the author's source, from 1; 0 is no place."""

    message: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Known:
    """All that a check needs: for a tool that can't be known, why; for an invalid transform, its errors."""

    tools: Mapping[ToolName, ToolSchemas | Unchecked | str] = field(default_factory=dict)
    transforms: Mapping[str, TransformTypes | tuple[TypeFault, ...]] = field(default_factory=dict)
