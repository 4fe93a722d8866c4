"""What can be asked of Wonder, one record each: its input, its output, the role it needs, and one function.

Every door stands on these: the command line parses arguments into an operation's input and prints its output, and a
server, a client or an MCP server derive their routes, types and tools from the same declarations.
"""
