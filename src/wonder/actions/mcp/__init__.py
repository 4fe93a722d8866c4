"""MCP servers: reaching them, keeping them running, knowing their tools, reading their answers (ACT-2)."""
