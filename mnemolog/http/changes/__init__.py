"""The feed of changes over HTTP: its query and its answer, and the route.

`route` reads the query that `models` describes, and asks `mnemolog/changes/feed.py`. Other workers ask by
`/v1/internal/changes`.
"""
