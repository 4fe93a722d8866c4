"""What a tool can ask for that Wonder does not do."""


def why_only_as_task(server: str, name: str) -> str:
    """Say why a tool can't be called, and what to do."""
    return (
        f"the tool {name!r} of the MCP server {server!r} can be called only as a task of the protocol (it says "
        "taskSupport: required), which Wonder does not do; use another tool, or a server that answers the call itself"
    )
