"""Phase workflows for tests: a server whose tools are a file, and the words to write workflows with them."""

import json
import sys
from pathlib import Path
from typing import Any

_PROGRAM = Path(__file__).with_name("mcp_typed.py")


def text_of(*required: str, **optional: Any) -> dict[str, Any]:
    """A schema of an object with texts, and other properties that may be missing."""
    properties = {name: {"type": "string"} for name in required}
    return {"type": "object", "required": list(required), "properties": {**properties, **optional}}


class ToolFile:
    """A server of tools in a folder; what its tools are can be changed while it runs."""

    def __init__(self, folder: Path, name: str = "tools") -> None:
        self.folder = folder
        self._file, self._log = folder / f"{name}.json", folder / f"{name}.log"
        self.define(greet={"input": text_of("who"), "output": text_of("line"), "gives": {"line": "hello"}})

    def define(self, **tools: dict[str, Any]) -> None:
        """Give the server these tools instead of those that it had."""
        self._file.write_text(json.dumps(tools))

    @property
    def server(self) -> dict[str, Any]:
        """The server, as it stands in `mcp_servers`."""
        command = [sys.executable, "-I", "-S", str(_PROGRAM), str(self._file)]
        return {"transport": "stdio", "command": command, "env": {"LOG_FILE": str(self._log)}}

    @property
    def starts(self) -> int:
        """How often the server was started."""
        return self._log.read_text().count("started") if self._log.exists() else 0


def tool(name: str, call: str, server: str = "tools", **fields: Any) -> dict[str, Any]:
    """A step that calls a tool."""
    return {"name": name, "tool": {"connectionId": server, "toolName": call}, **fields}


def transform(name: str, takes: str, gives: str, body: str, **input: Any) -> dict[str, Any]:
    """A step that is a transform: types of `input` and of what it gives, and an expression."""
    source = f"interface Input {{ {takes} }}\ninterface Output {{ {gives} }}\n"
    return {"name": name, "transform": f"{source}export default (input: Input): Output => ({body})", "input": input}


def phases(name: str, *steps: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """A workflow in the phase form."""
    return {"name": name, "steps": list(steps), **fields}
