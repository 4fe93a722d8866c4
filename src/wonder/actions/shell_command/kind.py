"""`shell_command`: a program with exactly these arguments, in a folder and an environment of its own (ACT-7).

The arguments, the folder, the values of the environment and the standard input are templates over the input; secrets
may stand in the last two. A text for a shell is no template: what is put into it would be read as commands, so values
reach it through the environment.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from wonder.actions.artifacts.storing import Artifacts
from wonder.actions.equipment import Equipment
from wonder.actions.files.project_files import files_root, folder, parts_of
from wonder.actions.logs.lines import LogLines
from wonder.actions.logs.redacted_text import redacted_text
from wonder.actions.protocol import ActionContext, ActionFailed, ActionKind, Use
from wonder.actions.resources import Resources, Tenancy
from wonder.actions.secrets.template_names import names_of, secrets_read, with_secrets
from wonder.actions.shell_command.declaration import Declaration
from wonder.actions.shell_command.record import ShellCommand
from wonder.actions.shell_command.removing import remove_folder
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.secret_scopes import Destination
from wonder.language.templates import compile_template
from wonder.language.values import JsonValue
from wonder.storage.artifacts import Artifact

if TYPE_CHECKING:
    from wonder.actions.shell_command.run import CommandResult, CommandRun

_SHELL: Final = ("/bin/sh", "-c")
_STDIN_MAX: Final = 10_000_000
_SHOWN_MAX: Final = 200
_SERVICE: Final = "shell_command"
# So long a command may take where nobody has set a limit.
_SECONDS_MAX: Final = 3_600.0


class ShellCommandKind(Declaration, ActionKind):
    """Starts programs, where the workspace allows it."""

    def __init__(self, resources: Resources, artifacts: Artifacts | None) -> None:
        self._resources, self._artifacts = resources, artifacts
        self._ending: set[asyncio.Task[None]] = set()

    @classmethod
    def made_with(cls, equipment: Equipment) -> "ShellCommandKind":
        """Make the kind with what it needs of a process."""
        return cls(equipment.resources, equipment.artifacts)

    def compile(self, action: ActionDef, use: Use) -> "Command":
        """Compile the templates."""
        return Command(self.read(action), self._resources, self._artifacts, self._ending)

    async def close(self) -> None:
        """Wait for programs that are being ended."""
        if self._ending:
            await asyncio.wait(self._ending)


class _Rendered(Struct, frozen=True):
    """All that a program is started with, but for its folder."""

    arguments: list[str]
    cwd: str | None
    env: dict[str, str]
    stdin: bytes | None


class Command:
    """A program to start."""

    __slots__ = (
        "_arguments",
        "_artifacts",
        "_cwd",
        "_ending",
        "_env",
        "_ok_exit_codes",
        "_resources",
        "_secrets",
        "_shell",
        "_stdin",
    )

    def __init__(
        self,
        configured: ShellCommand,
        resources: Resources,
        artifacts: Artifacts | None,
        ending: "set[asyncio.Task[None]]",
    ) -> None:
        command = configured.command
        self._shell = command if isinstance(command, str) else None
        self._arguments = [compile_template(text) for text in command] if isinstance(command, list) else []
        self._cwd = compile_template(configured.cwd) if configured.cwd is not None else None
        self._env = {name: compile_template(text) for name, text in configured.env.items()}
        self._stdin = None
        if configured.stdin is not None:
            self._stdin = compile_template(configured.stdin, output_max=_STDIN_MAX)
        self._secrets = secrets_read([*self._env.values(), *([self._stdin] if self._stdin else [])])
        self._ok_exit_codes = frozenset(configured.ok_exit_codes)
        self._resources, self._artifacts, self._ending = resources, artifacts, ending

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Run the program to its end, and give its exit code and what it wrote."""
        tenancy = await self._resources.tenancy(context.origin.project_id)
        if not tenancy.workspace.allow_shell:
            message = (
                "the workspace does not allow commands; if its authors are trusted, allow them: "
                "wonder workspace set allow_shell true"
            )
            raise ActionFailed("SHELL_NOT_ALLOWED", message)
        from wonder.actions.shell_command.run import CommandRun  # takes a moment to load, and few workflows need it

        rendered = await self._render(input, context)
        async with _working_folder(tenancy, rendered.cwd) as cwd:
            lines = LogLines(context.say_of(_SERVICE))
            # A secret that stands in several lines is only known for one in the whole text.
            hear = None if self._secrets else lines.feed
            given = (rendered.arguments, rendered.env, cwd, rendered.stdin, self._store(context), bool(self._secrets))
            running = CommandRun(*given, hear)
            try:
                seconds = None if context.deadline_ms is not None else _SECONDS_MAX
                result = await running.result(seconds)
            finally:
                if self._secrets:
                    lines.feed(redacted_text(running.errors()).encode())
                lines.close()
                if not running.is_over:
                    await self._end(running)
        return self._output(rendered, result)

    async def _render(self, input: JsonValue, context: ActionContext) -> _Rendered:
        names = names_of(input)
        arguments = [*_SHELL, self._shell] if self._shell is not None else [t.render(names) for t in self._arguments]
        private = names
        if self._secrets:
            # Started by its path: what was checked is what runs.
            arguments[0] = self._program(arguments[0], names)
            to = Destination("program", arguments[0])
            private = await with_secrets(names, self._secrets, to, self._resources, context.origin)
        env = {"PATH": os.environ.get("PATH", os.defpath)}
        env |= {name: template.render(private) for name, template in self._env.items()}
        if not arguments[0] or any("\0" in text for text in (*arguments, *env.values())):
            message = "the command has no name, or holds the character U+0000; correct what its templates are given"
            raise ActionFailed("BAD_ARGUMENTS", message)
        stdin = self._stdin.render(private).encode() if self._stdin else None
        cwd = self._cwd.render(names) if self._cwd else None
        return _Rendered(arguments, cwd, env, stdin)

    def _program(self, name: str, names: dict[str, JsonValue]) -> str:
        """Give the path of the program as it is going to be found; a name that is no absolute path is shown as it is.

        In the PATH that the program is given, where its definition has one without secrets in it.
        """
        if "/" in name:
            return name
        template = self._env.get("PATH")
        if template is not None and secrets_read([template]):
            return name
        path = template.render(names) if template else os.environ.get("PATH", os.defpath)
        for place in path.split(os.pathsep):
            if not place.startswith("/"):
                break  # It would be looked for where the program runs, which authors may write to.
            found = f"{place.rstrip('/')}/{name}"
            if os.access(found, os.X_OK) and Path(found).is_file():
                return found
        return name

    def _store(self, context: ActionContext) -> "_Storing | None":
        return _Storing(self._artifacts, context) if self._artifacts else None

    async def _end(self, running: "CommandRun") -> None:
        # By a task of its own, because a second cancellation may follow, and the program must end all the same.
        ending = asyncio.get_running_loop().create_task(running.end())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
        await asyncio.shield(ending)

    def _output(self, rendered: _Rendered, result: "CommandResult") -> JsonValue:
        if result.exit_code in self._ok_exit_codes:
            output: dict[str, JsonValue] = {
                "exit_code": result.exit_code,
                "stdout": result.stdout,
                "stderr": result.stderr,
            }
            return output | result.artifacts
        name = self._shell or rendered.arguments[0]
        shown = name if len(name) <= _SHOWN_MAX else name[: _SHOWN_MAX - 1] + "…"
        how = f"exit code {result.exit_code}" if result.exit_code >= 0 else f"signal {-result.exit_code}"
        last = result.stderr_end.strip().rpartition("\n")[2]
        if len(last) > _SHOWN_MAX:
            last = "" if self._secrets else last[:_SHOWN_MAX]
        message = f"the command {shown!r} ended with {how}{': ' + last if last else ''}"
        details: dict[str, JsonValue] = {
            "exit_code": result.exit_code,
            "stdout_end": result.stdout_end,
            "stderr_end": result.stderr_end,
        }
        raise ActionFailed("COMMAND_FAILED", message, details=details | result.artifacts)


class _Storing:
    """Stores a stream of a command as an artifact."""

    def __init__(self, artifacts: Artifacts, context: ActionContext) -> None:
        self._artifacts, self._context = artifacts, context

    async def __call__(self, stream: str, content: AsyncIterator[bytes]) -> Artifact:
        return await self._artifacts.write(content, self._context, content_type="application/octet-stream", part=stream)


@asynccontextmanager
async def _working_folder(tenancy: Tenancy, cwd: str | None) -> AsyncIterator[str]:
    """Open the folder that a program runs in: inside files_root, or one of its own that goes with it."""
    if cwd is None and tenancy.project.files_root is None:
        made = mkdtemp(prefix="wonder-command-")
        try:
            yield made
        finally:
            # In a thread, because there is no knowing how much is in there.
            await asyncio.to_thread(remove_folder, made)
        return
    with folder(files_root(tenancy), parts_of(cwd or "")) as descriptor:
        # By its descriptor, because the folder of that name may be another one, or a link, a moment later.
        is_linux = sys.platform == "linux"
        yield f"/proc/self/fd/{descriptor}" if is_linux else str(Path(files_root(tenancy)) / (cwd or ""))
