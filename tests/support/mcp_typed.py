"""A server of tools that are written in a file: `{name: {input, output, gives, execution}}`; run over stdio.

It knows nothing of the SDK, so that it starts at once. The file is read anew each time that somebody asks for tools.
What a call gives is in `gives`, or its arguments if that is not said. LOG_FILE gets a line for each start.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any


def tools() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
    return read


def listed() -> list[dict[str, Any]]:
    found = []
    for name, tool in tools().items():
        one = {"name": name, "inputSchema": tool.get("input", {"type": "object"})}
        said = {"outputSchema": tool.get("output"), "execution": tool.get("execution")}
        found.append({**one, **{field: value for field, value in said.items() if value}})
    return found


def call(name: str, arguments: Any) -> dict[str, Any]:
    given = tools()[name].get("gives", arguments)
    content = [{"type": "text", "text": json.dumps(given)}]
    return {"content": content, "structuredContent": given} if tools()[name].get("output") else {"content": content}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    match request["method"]:
        case "initialize":
            info = {"name": "typed", "version": "1"}
            # The first version in which a tool can say `execution`.
            spoken = "2025-11-25" if any("execution" in tool for tool in tools().values()) else "2025-06-18"
            return {"protocolVersion": spoken, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": listed()}
        case "tools/call":
            return call(request["params"]["name"], request["params"].get("arguments") or {})
    return {}


if __name__ == "__main__":
    if "LOG_FILE" in os.environ:
        with Path(os.environ["LOG_FILE"]).open("a") as log:
            log.write("started\n")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}), flush=True)
