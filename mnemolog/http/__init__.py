"""The HTTP front door of a worker.

`app.make_http` assembles it. A request passes `middleware.Edge`, which checks whether a browser may have been tricked
into sending it, refuses by path, then by key, and only then reads its body, all within `bounds`; it measures the
request, and turns bugs into a plain 500. `routing` gives routes strict JSON, a deadline for a silent log, and known
query parameters; `route_plan` reads a request as FastAPI does, by `fastapi_parts`, which FastAPI does not document. A
route (`routes/`) takes the worker, the tenant and the command id from `dependencies` and its body from `models/`, and
calls the worker's collaborators. `forwarding` sends a request on to the worker that has its user. Every refusal is a
problem (`problems`).

`changes/` reports changes, and `docs_page` is the page of /docs. Extensions add routes by `mnemolog.hooks`.
"""
