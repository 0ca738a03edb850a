"""The schema registry, for upstreams that publish Avro with a schema id, and for readers of the ledger.

`protocol` says what the product asks of a registry, and has `NoRegistry`, which replaces it if none is configured;
`streams.agents.reencode` uses it. `confluent` is an extension beside it: a registry with Confluent's API. Its one entry
is `make_registry` in `mnemolog/worker/components.py`, and without a registry's URL nothing loads it.
"""
