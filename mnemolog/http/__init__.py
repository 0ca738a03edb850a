"""The HTTP front door: what may come in, what it is turned into, and how every answer looks.

`app` puts it together. A request passes `edge` (bounds, metrics, bugs), is checked by `asked_for` and `requests`,
belongs to one of `tenants`, and is answered by `publishing`, `conversations`, `memories`, `search`, `agents`, `admin`
or `health`.
Refusals are `problems`. The other files never answer anything by themselves.
"""
