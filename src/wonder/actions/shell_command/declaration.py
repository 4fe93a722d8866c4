"""The declaration of `shell_command`."""

from collections.abc import Iterator
from typing import Final

from wonder.actions.shell_command.record import ShellCommand
from wonder.definitions.checks.texts import check_file_path, check_template
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import TEXT, WHOLE_NUMBER, Kind, Named, object_of
from wonder.definitions.secret_scopes import Destination
from wonder.language.schemas import Schema

_SHELL: Final = "/bin/sh"


class Declaration(Kind):
    """Runs a program with its arguments."""

    kind = "shell_command"
    configuration = ShellCommand
    summary = "runs a program with its arguments"
    gives = "{exit_code, stdout, stderr}; another exit code than ok_exit_codes fails"
    errors = (
        "BAD_ARGUMENTS",
        "COMMAND_FAILED",
        "COMMAND_NOT_FOUND",
        "COMMAND_REFUSED",
        "COMMAND_TIMEOUT",
        "OUTPUT_TOO_LARGE",
        "SHELL_NOT_ALLOWED",
    )
    at_work = "wonder.actions.shell_command.kind:ShellCommandKind"

    def check(self, implementation: ShellCommand, path: Path, findings: Findings) -> None:
        """Report invalid templates, and a folder outside of the project's."""
        if isinstance(implementation.command, str):
            if "{{" in implementation.command:
                message = (
                    "a shell command is not a template, so that no value can become a command: {{…}} is left as it is"
                )
                hint = 'pass values in env, and read them in the command as "$NAME"'
                findings.warning("template_in_shell", (*path, "command"), message, hint)
        else:
            for i, argument in enumerate(implementation.command):
                check_template(argument, (*path, "command", i), findings)
        if implementation.cwd is not None:
            check_file_path(implementation.cwd, (*path, "cwd"), findings)
        for name, value in implementation.env.items():
            check_template(value, (*path, "env", name), findings)
        check_template(implementation.stdin, (*path, "stdin"), findings)

    def output_schema(self, implementation: ShellCommand | None, named: Named) -> Schema:
        """Give the exit code and what was written, of which much becomes an artifact."""
        return object_of(
            exit_code=WHOLE_NUMBER, stdout=TEXT, stderr=TEXT, stdout_artifact_id=TEXT, stderr_artifact_id=TEXT
        )

    def templates(self, implementation: ShellCommand) -> Iterator[tuple[Path, str | None]]:
        """Give the arguments, the folder, the environment and the standard input."""
        if isinstance(implementation.command, list):
            for i, argument in enumerate(implementation.command):
                yield ("command", i), argument
        yield ("cwd",), implementation.cwd
        for name, value in implementation.env.items():
            yield ("env", name), value
        yield ("stdin",), implementation.stdin

    def secrets_go_to(self, implementation: ShellCommand) -> Destination | None:
        """Give the program, if it is written with its path."""
        if isinstance(implementation.command, str):
            return Destination("program", _SHELL)
        program = implementation.command[0]
        return Destination("program", program) if program.startswith("/") and "{{" not in program else None
