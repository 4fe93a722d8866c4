"""CMD-13: what a client asks for is tried again while the server can't answer, with one key, so that it counts once."""

import asyncio

import wonder

_GONE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 62\r\nConnection: close\r\n\r\n"
_STOPS = b'{"error": "the server stops; ask again", "code": "STOPPING" }  '
_STARTED = b'{"run_id":"01M7P9D2J8Q0T4X6Z7B1C3E5G9"}'


async def test_cmd_13_a_start_is_tried_again_with_the_same_key_until_the_server_answers() -> None:
    keys: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        await reader.readexactly(int(lines["content-length"]))
        keys.append(lines["idempotency-key"])
        if len(keys) == 2:
            writer.write(_GONE + _STOPS)
        elif len(keys) == 3:
            length = f"HTTP/1.1 201 Created\r\nContent-Length: {len(_STARTED)}\r\nConnection: close\r\n\r\n"
            writer.write(length.encode() + _STARTED)
        # The first connection ends without an answer: nobody can tell whether the run was started.
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as peer:
        port = peer.sockets[0].getsockname()[1]
        async with wonder.connect(f"http://127.0.0.1:{port}") as app:
            run = await app.start("greet", {"name": "Ada"})
    assert run.id == "01M7P9D2J8Q0T4X6Z7B1C3E5G9"
    assert len(keys) == 3
    assert len(set(keys)) == 1
