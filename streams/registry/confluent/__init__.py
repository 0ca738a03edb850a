"""A schema registry with Confluent's API.

`registry.SchemaRegistry` does two things: it registers our schemas of inputs and ledger under their subjects at the
start, and it returns the schema of an id that a record names, waiting while the registry is down. `requests` is its
HTTP client. `cache` is a file of known ids, so that a restarted worker reads old records without the registry.
"""
