"""`transform`: pure TypeScript, compiled once and run in a process of its own (PHS-5).

What it is given is held against its `Input`, and what it gives against its `Output`: the compiler has checked the body,
but `any` and `as` are believed.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from wonder.actions.equipment import Equipment, Transforms
from wonder.actions.protocol import ActionContext, ActionFailed, ActionKind, Use
from wonder.actions.transform.declaration import Declaration
from wonder.definitions.records.actions import ActionDef
from wonder.language.schemas import Schema, Validator, ValueFault, compile_validator
from wonder.language.values import JsonValue
from wonder.sandbox.pool_errors import TransformFailed

if TYPE_CHECKING:
    from wonder.sandbox.pool import TransformPool

TIME_MS: Final = 1_000
MEMORY_BYTES: Final = 64 << 20

_SHOWN_MAX: Final = 3
_LINES: Final = "\n//# lines="
_LINE_NUMBER: Final = re.compile("[0-9]{1,9}")


class TransformKind(Declaration, ActionKind):
    """Keeps the processes in which transforms run."""

    def __init__(self, transforms: Transforms | None, pool: "TransformPool | None" = None) -> None:
        self._transforms, self._pool = transforms, pool

    @classmethod
    def made_with(cls, equipment: Equipment) -> "TransformKind":
        """Make the kind with what it needs of a process."""
        return cls(equipment.transforms)

    def compile(self, action: ActionDef, use: Use) -> "TransformAction":
        """Make a transform ready; its JavaScript is looked up when it is first run."""
        execution, implementation = action.execution, self.read(action)
        time_ms = execution.timeout_ms if execution and execution.timeout_ms else TIME_MS
        return TransformAction(self, implementation.source, time_ms)

    def begin(self) -> None:
        """Start a process beside, because a transform is going to be run."""
        self.pool.begin()

    @property
    def pool(self) -> "TransformPool":
        """The processes; none is started before one is needed."""
        if self._pool is None:
            from wonder.sandbox.pool import TransformPool  # takes a moment to load, and many workflows do without

            self._pool = TransformPool()
        return self._pool

    async def load(self, source: str) -> "_Loaded":
        """Give a transform as it can be run; raises InvalidTypeScript."""
        if self._transforms is None:
            raise ActionFailed("TRANSFORMS_MISSING", "transforms can't be compiled here; run it on an engine")
        compiled = await self._transforms.compiled(source)
        return _Loaded(compiled.javascript, _validator(compiled.input_schema), _validator(compiled.output_schema))

    async def close(self) -> None:
        """End all processes."""
        if self._pool:
            await self._pool.close()


class TransformAction:
    """A transform to run."""

    __slots__ = ("_kind", "_loaded", "_source", "_time_ms")

    def __init__(self, kind: TransformKind, source: str, time_ms: int) -> None:
        self._kind, self._source, self._time_ms = kind, source, time_ms
        self._loaded: _Loaded | None = None

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Give what the transform makes of the input; its time counts while it computes, and not in line."""
        context.hold()
        loaded = self._loaded
        if loaded is None:
            loaded = self._loaded = await self._kind.load(self._source)
        if loaded.input and not loaded.input.is_valid(input):
            raise _misfit(
                "ACTION_INPUT_SCHEMA", "input of the transform does not fit Input", loaded.input.faults(input)
            )
        pool, limits = self._kind.pool, {"time_ms": self._time_ms, "memory_bytes": MEMORY_BYTES}
        try:
            output = await pool.run(loaded.javascript, input, **limits, on_start=context.begin)
        except TransformFailed as failed:
            raise loaded.failure(failed) from None
        if loaded.output and not loaded.output.is_valid(output):
            faults = loaded.output.faults(output)
            raise _misfit("ACTION_OUTPUT_SCHEMA", "output of the transform does not fit Output", faults)
        return output


class _Loaded:
    """A compiled transform with the checks of what goes in and comes out."""

    __slots__ = ("_lines", "input", "javascript", "output")

    def __init__(self, javascript: str, input: Validator | None, output: Validator | None) -> None:
        # The compiler says in the last line from where each line comes; the author may have written such a line too.
        before, found, lines = javascript.rpartition(_LINES)
        self.javascript, self._lines = (before, lines) if found else (javascript, "")
        self.input, self.output = input, output

    def failure(self, failed: TransformFailed) -> ActionFailed:
        """Give a failure with the line of the author's source in the place of the one that was run."""
        details, message = failed.details, failed.message
        ran = details.pop("line", None)
        if isinstance(ran, int) and (line := self._line(ran)):
            details["line"] = line
            message += f" (line {line})"
        return ActionFailed(failed.code, message, retryable=failed.retryable, details=details)

    def _line(self, ran: int) -> int:
        lines = self._lines.strip().split(",")
        written = lines[ran - 1] if 0 < ran <= len(lines) else ""
        # The compiler has read hostile sources, and is not trusted to have written numbers.
        return int(written) if _LINE_NUMBER.fullmatch(written) else 0


def _validator(schema: Schema) -> Validator | None:
    """Compile a schema, or return None if it takes anything."""
    return None if schema is True or schema == {} else compile_validator(schema)


def _misfit(code: str, what: str, faults: Sequence[ValueFault]) -> ActionFailed:
    more = f" (and {len(faults) - _SHOWN_MAX} more)" if len(faults) > _SHOWN_MAX else ""
    return ActionFailed(code, f"the {what}: {'; '.join(map(str, faults[:_SHOWN_MAX]))}{more}")
