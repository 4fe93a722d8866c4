"""A server of tools that misbehaves in the way its first argument says; run as a program, over stdio.

It knows nothing of the SDK: what it writes is raw lines.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

WAY = sys.argv[1] if len(sys.argv) > 1 else "well"
REST = sys.argv[2:]
VERSION = "2025-06-18"
OUT = sys.stdout.buffer
SCHEMA: Any = {"type": "object", "properties": {"n": {"type": "integer"}}}
tools = ["do"]


def write(message: Any) -> None:
    OUT.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    OUT.flush()


def raw(data: bytes) -> None:
    OUT.write(data)
    OUT.flush()


def answer(id: Any, **result: Any) -> None:
    write({"id": id, "result": result})


def text(id: Any, said: str) -> None:
    answer(id, content=[{"type": "text", "text": said}])


def note(line: str) -> None:
    """Leave a word in the file that the test looks at."""
    if "LOG_FILE" in os.environ:
        with Path(os.environ["LOG_FILE"]).open("a") as file:
            file.write(line + "\n")


def greet(id: Any) -> None:
    if WAY == "silent":
        return
    if WAY == "wrong-version":
        answer(id, protocolVersion="1999-01-01", capabilities={}, serverInfo={"name": "h", "version": "1"})
    elif WAY == "no-greeting":
        answer(id, hello="there")
    elif WAY == "modern":
        write({"id": id, "error": {"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}}})
    elif WAY == "dies-at-start":
        print("cannot read the file that I need", file=sys.stderr, flush=True)
        sys.exit(3)
    else:
        capabilities = {"tools": {"listChanged": True}}
        answer(id, protocolVersion=VERSION, capabilities=capabilities, serverInfo={"name": "h", "version": "1"})


def list_tools(id: Any, cursor: str | None) -> None:
    schema = SCHEMA
    if WAY == "cyclic-schema":
        schema = {"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}}
    elif WAY == "remote-schema":
        schema = {"type": "object", "properties": {"n": {"$ref": REST[0]}}, "$schema": REST[0]}
    elif WAY == "slow-regex":
        schema = {"type": "object", "properties": {"n": {"type": "string", "pattern": "^(a+)+$"}}}
    elif WAY == "endless-pages":
        number = int(cursor or 0)
        return answer(id, tools=[{"name": f"t{number}", "inputSchema": {"type": "object"}}], nextCursor=str(number + 1))
    elif WAY == "no-list":
        return answer(id, tools="none")
    note("listed")
    listed = [{"name": name, "inputSchema": schema} for name in tools]
    return answer(id, tools=listed, **(CACHED if WAY == "modern" else {}))


def call(id: Any, arguments: Any, token: Any) -> None:
    match WAY:
        case "never":
            pass
        case "twice":
            text(id, "first")
            text(id, "second")
        case "wrong-id":
            text(999, "not yours")
            write({"id": "abc", "result": {}})
            write({"id": None, "error": {"code": -1, "message": "nobody's"}})
            text(id, "yours")
        case "garbage":
            raw(b'\x00\xff\xfenonsense\n{\n[]\n\n\n12\n"text"\n' + b"[" * 5000 + b"\n")
            text(id, "at last")
        case "bad-answer":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"n":%s}}\n' % (id, b"9" * 6000))
        case "not-a-number":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"n":NaN}}}\n' % id)
        case "not-a-result":
            answer(id, content=[{"type": "smell", "of": "roses"}])
        case "giant":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id)
            for _ in range(1024):
                raw(b"x" * 1_048_576)
        case "large":
            text(id, "x" * int(REST[0]))
        case "flood-stderr":
            for _ in range(int(REST[0])):
                sys.stderr.buffer.write(b"E" * 1_000_000 + b"\n" + b"\n" * 1_000_000 + b"line\n" * 100_000)
            text(id, "done")
        case "flood":
            while True:
                raw(json.dumps({"jsonrpc": "2.0", "method": "notifications/message"} | LOG).encode() + b"\n")
        case "flood-progress":
            for n in range(300):
                params = {"progressToken": token, "progress": n, "message": "m" * 10_000}
                write({"method": "notifications/progress", "params": params})
            text(id, "done")
        case "dies":
            raw(b'{"jsonrpc":"2.0","id":%d,"res' % id)
            os._exit(7)
        case "dies-once":
            if Path(REST[0]).exists():
                text(id, "alive")
            else:
                Path(REST[0]).touch()
                os.kill(os.getpid(), signal.SIGKILL)
        case "forks":
            if os.fork() == 0:
                note(f"child {os.getpid()}")
                time.sleep(600)
            time.sleep(0.1)
            os._exit(5)
        case "forks-away":
            if os.fork() == 0:
                os.setsid()
                note(f"child {os.getpid()}")
                time.sleep(600)
            time.sleep(0.1)
            os._exit(5)
        case "has-child":
            if (child := os.fork()) == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(600)
            note(f"child {child}")
            text(id, str(child))
        case "closes-output":
            OUT.flush()
            os.close(1)
            time.sleep(600)
        case "changes-tools":
            tools.append(f"do{len(tools)}")
            write({"method": "notifications/tools/list_changed"})
            text(id, "changed")
        case "changes-silently":
            tools.append("other")
            text(id, "changed")
        case "asks":
            ask = {"messages": [], "maxTokens": 5}
            write({"id": 7001, "method": "sampling/createMessage", "params": ask})
            elicit = {"message": "your password?", "requestedSchema": {"type": "object", "properties": {}}}
            write({"id": 7002, "method": "elicitation/create", "params": elicit})
            write({"id": 7003, "method": "roots/list"})
            write({"id": 7004, "method": "ping"})
            write({"id": 7005, "method": "give/me/all"})
            asked.append(id)
        case "fails":
            answer(id, isError=True, content=[{"type": "text", "text": "no such \x1b[31mcustomer\x1b[0m"}])
        case "refuses":
            write({"id": id, "error": {"code": -32603, "message": "out of order"}})
        case "misfit":
            answer(id, content=[], structuredContent={"n": "text"})
        case "environment":
            answer(id, content=[], structuredContent=dict(os.environ))
        case "slow":
            time.sleep(float(REST[0]))
            text(id, "slept")
        case _:
            said = json.dumps({"n": arguments.get("n", 0) + 1})
            complete = {"resultType": "complete"} if WAY == "modern" else {}
            answer(id, content=[{"type": "text", "text": said}], **complete)


CACHED: Any = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
LOG: Any = {"params": {"level": "info", "data": "over and over"}}
asked: list[Any] = []
answers: list[Any] = []


def discover(id: Any) -> None:
    if WAY == "modern":
        meta = {"io.modelcontextprotocol/serverInfo": {"name": "h", "version": "1"}}
        found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "_meta": meta}
        answer(id, **found, **CACHED)
    else:
        write({"id": id, "error": {"code": -32601, "message": "?"}})


def main() -> None:
    if WAY in ("deaf", "ignores-end"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if WAY == "ends-when-asked":
        signal.signal(signal.SIGTERM, lambda *_: (note("asked"), os._exit(0)))
    note(f"started {os.getpid()}")
    for line in sys.stdin:
        message = json.loads(line)
        method, id = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if method == "initialize":
            greet(id)
        elif method == "server/discover":
            discover(id)
        elif method == "tools/list":
            list_tools(id, params.get("cursor"))
        elif method == "tools/call":
            note("called")
            call(id, params.get("arguments") or {}, (params.get("_meta") or {}).get("progressToken"))
        elif method == "notifications/cancelled":
            note(f"cancelled {params.get('reason')}")
        elif method is None and asked:
            answers.append({"refused": "error" in message, "id": id})
            if len(answers) == 5:
                text(asked.pop(), json.dumps(answers))
        if WAY == "deaf":
            time.sleep(600)
    while WAY in ("deaf", "ignores-end", "ends-when-asked"):
        time.sleep(1)
    note("ended")


if __name__ == "__main__":
    main()
