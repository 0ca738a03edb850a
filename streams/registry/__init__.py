"""The schema registry, for upstreams that publish Avro with a schema id, and for readers of the ledger.

`registry.SchemaRegistry` does two things: it registers our schemas of inputs and ledger under their subjects at the
start, and it returns the schema of an id that a record names (`WriterSchemas`), waiting while the registry is down.
`NoRegistry` stands in its place where none is configured. `requests` is the HTTP of Confluent's API, `cache` a file of
known ids, so that a restarted worker reads old records without the registry. `streams.agents.reencode` uses it.
"""
