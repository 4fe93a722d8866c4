"""What a `shell_command` takes."""

from typing import Annotated, ClassVar

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from wonder.definitions.records.fields import EnvironmentName, Record
from wonder.definitions.records.implementation_fields import Text


class ShellCommand(Record):
    """A program with its arguments; a single text is given to a shell, and only when `shell` asks for it."""

    # For editors: the validator below is code, which they can't run.
    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {
                    "if": {"properties": {"command": {"type": "string"}}},
                    "then": {"properties": {"shell": {"const": True}}, "required": ["shell"]},
                    "else": {"properties": {"shell": {"const": False}}},
                }
            ]
        }
    )
    secret_fields: ClassVar = frozenset({"env", "stdin"})
    command: Annotated[
        Annotated[list[str], Field(min_length=1), Tag("list")] | Annotated[Text, Tag("text")],
        Discriminator(lambda value: "text" if isinstance(value, str) else "list"),
    ]
    shell: bool = False
    cwd: Text | None = None
    env: dict[EnvironmentName, str] = {}
    stdin: str | None = None
    ok_exit_codes: list[Annotated[int, Field(ge=0, le=255)]] = [0]

    @model_validator(mode="after")
    def _shell_is_asked_for(self) -> "ShellCommand":
        if isinstance(self.command, str) != self.shell:
            raise PydanticCustomError(
                "shell_text", "a command is a list of arguments; a string is a shell command and needs 'shell: true'"
            )
        return self
