"""The MCP server, for models that call the two tools by themselves.

`route` has the one route, `server` speaks the protocol by the official package, which only it imports. Each call of a
tool becomes a request to our own routes (`routes/tools.py`), so it passes the same checks.
"""
