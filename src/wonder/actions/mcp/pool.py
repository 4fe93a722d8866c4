"""All sessions of one engine: one per server as it is defined now, shared, and made anew when lost."""

import asyncio
import time
from typing import Final

from mcp.shared.dispatcher import ProgressFnT
from mcp_types import CallToolResult

from wonder.actions.mcp.connections import Connection
from wonder.actions.mcp.limits import Limits
from wonder.actions.mcp.losses import shown
from wonder.actions.mcp.results import is_large, output_of
from wonder.actions.mcp.schemas import Tool
from wonder.actions.mcp.sessions import Session
from wonder.actions.mcp.unsupported import why_only_as_task
from wonder.actions.mcp.wire import SESSION_GONE
from wonder.actions.protocol import ActionContext, ActionFailed
from wonder.actions.threads import Threads
from wonder.language.schemas import closest
from wonder.language.values import JsonValue

_PROGRESS_SECONDS: Final = 0.1
_PROGRESS_TEXT: Final = 500
_NAMED_MAX: Final = 50
_NAME_MAX: Final = 100
_FAULTS_SHOWN: Final = 5


class Pool:
    """Calls tools, and keeps the servers that it has called."""

    def __init__(self, limits: Limits | None = None, threads: Threads | None = None) -> None:
        self.limits, self._threads = limits or Limits(), threads
        self._sessions: dict[str, Session] = {}
        self._ending: set[Session] = set()

    async def call(self, connection: Connection, tool: str, input: JsonValue, context: ActionContext) -> JsonValue:
        """Call a tool once; raises ActionFailed."""
        if not isinstance(input, dict):
            message = f"the tool {tool!r} takes named arguments, so its input must be an object; map an object to it"
            raise ActionFailed("BAD_ARGUMENTS", message, details={"server": connection.name, "tool": tool})
        try:
            return await self._call(connection, tool, input, context)
        except ActionFailed as failure:
            if failure.code != SESSION_GONE:
                raise
        # The server has not done anything: it has only forgotten who we are.
        return await self._call(connection, tool, input, context)

    async def tools(self, connection: Connection) -> list[Tool]:
        """Give the tools of a server; raises ActionFailed."""
        session = self._session(connection)
        session.take()
        try:
            await session.ready()
            await session.learn_tools()
            return session.tools.all()
        finally:
            session.give_back()

    async def close(self) -> None:
        """End all sessions, and wait for it."""
        for session in list(self._sessions.values()):
            session.stop()
        await asyncio.gather(*(session.stopped() for session in list(self._ending)))

    async def _call(
        self, connection: Connection, name: str, input: dict[str, JsonValue], context: ActionContext
    ) -> JsonValue:
        session = self._session(connection)
        session.take()
        try:
            await session.ready()
            if session.places.locked():
                context.hold()
                await session.places.acquire()
                context.begin()
            else:
                await session.places.acquire()
            try:
                tool = await self._checked(session, name, input)
                result = await session.call(name, input, _reporter(context))
            except ActionFailed as failure:
                if failure.code == SESSION_GONE:
                    session.stop()
                raise
            finally:
                session.places.release()
        finally:
            session.give_back()
        if self._threads and is_large(result):
            output: JsonValue = await self._threads.call(lambda: _output(result, tool))
            return output
        return _output(result, tool)

    async def _checked(self, session: Session, name: str, input: dict[str, JsonValue]) -> Tool:
        """Find a tool and check its input, with a list that is asked for again before anything is refused."""
        tools = session.tools
        if not tools.is_known:
            await session.learn_tools()
        tool = tools.find(name)
        faults = tool.input_faults(input) if tool else []
        if (tool is None or faults) and not tools.is_new:
            tools.forget()
            await session.learn_tools()
            tool = tools.find(name)
            faults = tool.input_faults(input) if tool else []
        if tool is None:
            raise _unknown(session, name)
        if tool.only_as_task:
            raise ActionFailed("MCP_TASK_REQUIRED", why_only_as_task(session.name, name), details={"tool": name})
        if faults:
            said = "; ".join(map(str, faults[:_FAULTS_SHOWN]))
            message = f"the input does not fit what the tool {name!r} of the MCP server {session.name!r} takes: {said}"
            details: dict[str, JsonValue] = {
                "server": session.name,
                "tool": name,
                "faults": [str(one) for one in faults],
            }
            raise ActionFailed("BAD_ARGUMENTS", message, details=details)
        return tool

    def _session(self, connection: Connection) -> Session:
        session = self._sessions.get(connection.key)
        if session is None:
            self._make_room(connection)
            session = self._sessions[connection.key] = Session(connection, self.limits, self._ended)
        return session

    def _make_room(self, connection: Connection) -> None:
        idle = [session for session in self._sessions.values() if not session.calls]
        # One of the same server as it was defined before is of no more use.
        for session in [one for one in idle if one.connection.server_id == connection.server_id]:
            session.stop()
        if len(self._sessions) >= self.limits.sessions_max:
            if not (idle := [one for one in idle if not one.loss]):
                message = f"{self.limits.sessions_max} MCP servers are in use, the limit; try again later"
                raise ActionFailed("MCP_TOO_MANY_SERVERS", message, retryable=True)
            idle[0].stop()

    def _ended(self, session: Session) -> None:
        if self._sessions.get(session.connection.key) is session:
            del self._sessions[session.connection.key]
        self._ending.add(session)
        session.on_stopped(self._ending.discard)


def _output(result: CallToolResult, tool: Tool) -> JsonValue:
    output = output_of(result, tool.server, tool.name)
    if result.structured_content is not None and (faults := tool.output_faults(output)):
        message = f"the tool {tool.name!r} of the MCP server {tool.server!r} gave what it does not promise: {faults[0]}"
        details: dict[str, JsonValue] = {"server": tool.server, "tool": tool.name}
        raise ActionFailed("MCP_OUTPUT_MISFIT", message, details=details)
    return output


def _unknown(session: Session, name: str) -> ActionFailed:
    # A server calls its tools whatever it likes.
    names = [shown(tool.name, _NAME_MAX) for tool in session.tools.all()]
    nearest = closest(name, names)
    hint = f"did you mean {nearest!r}? " if nearest else ""
    there = ", ".join(names[:_NAMED_MAX]) + (f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else "")
    message = f"the MCP server {session.name!r} has no tool {name!r}; {hint}it has: {there or 'none'}"
    details: dict[str, JsonValue] = {"server": session.name, "tool": name, "tools": list(names[:_NAMED_MAX])}
    return ActionFailed("MCP_TOOL_UNKNOWN", message, details=details)


def _reporter(context: ActionContext) -> ProgressFnT:
    """Pass a tool's progress on, not more often than anybody could look at it."""
    reported = 0.0

    async def report(progress: float, total: float | None, message: str | None) -> None:
        nonlocal reported
        now = time.monotonic()
        if now - reported < _PROGRESS_SECONDS or context.cancelled:
            return
        reported = now
        told: dict[str, JsonValue] = {"progress": progress}
        if total is not None:
            told["total"] = total
        if message is not None:
            told["message"] = message[:_PROGRESS_TEXT]
        context.report_progress(told)

    return report
