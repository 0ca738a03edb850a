"""The HTTP front door of a worker.

`app.make_http` assembles it. A request passes `middleware.Edge`, whose `_check` is the list of what is checked before a
route, in order: encoding, origin, sender, path, key, role, streams and body, most of them in `bounds`; it measures the
request, and turns bugs into a plain 500. `routing` gives routes strict JSON, a deadline for a silent log, and known
query parameters; `route_plan` reads a request as FastAPI does, by `fastapi_parts`, which FastAPI does not document. A
route (`routes/`) takes the worker, the tenant and the command id from `dependencies` and its body from `models/`, and
calls the worker's collaborators. `forwarding` sends a request on to the worker that has its user. Every refusal is a
problem (`problems`).

`changes/` reports changes, and `docs_page` is the page of /docs. Extensions add routes by `mnemolog.hooks`.
"""
