"""The schema registry, for upstreams that publish Avro with a schema id, and for readers of the ledger.

`registry.SchemaRegistry` does two things: it registers our schemas of inputs and ledger under their subjects at the
start, and it returns the schema of an id that a record names (`WriterSchemas`), waiting while the registry is down.
`NoRegistry` replaces it if none is configured. `requests` is the HTTP client of Confluent's API. `cache` is a file of
known ids, so that a restarted worker reads old records without the registry. `streams.agents.reencode` uses it.
"""
