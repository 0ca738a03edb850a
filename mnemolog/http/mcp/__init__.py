"""The MCP server, for models that call memory tools themselves.

`route` has the one route; `server` implements the protocol with the official package, which only it imports; `tools`
defines the tools beside the two in `tool_definitions`. Each call becomes a request to our own routes, so it passes the
same checks.
"""
