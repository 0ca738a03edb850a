"""The HTTP front door of a worker.

`app.make_http` puts it together. A request passes `middleware.Edge`, which asks `origin` whether a browser may have
been tricked into it, refuses by path, then by key, and only then reads its body, all within `bounds`; it measures the
request, and turns bugs into a plain 500. `docs_page` is the page of /docs. `routing` gives it strict
JSON, a deadline for a silent log, and known query parameters. A route (`routes/`) takes the worker, the tenant and the
command id from `dependencies` and its body from `models/`, and calls the worker's collaborators. A request about a user
of another worker is sent on by `forwarding`. Every refusal is a problem (`problems`). `mcp/` lets a model call the
tools of `tool_definitions`, `console/` shows a person what is remembered.
"""
