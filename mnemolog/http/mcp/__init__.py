"""The MCP server, for models that call memory tools themselves.

`route` has the only route; `server` implements the protocol with the official package, which only this module imports;
`tools` defines the tools in addition to the two in `tool_definitions`. Each call becomes a request to mnemolog's own
routes, so it passes the same checks.
"""
