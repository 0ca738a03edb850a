"""The write side: from observations in the input topics to decisions in the ledger.

A turn's way: a transport (`transports`) delivers the record to an agent (`agents`, run by Faust as `agents.app` wires
them). `observe` cuts turns into windows and has them extracted (`extraction`) by the `policies` in force; the answer
goes to the inbox. `remember` takes one inbox item at a time for each user (`delivery.keyed_pool`), asks the pure rules
(`decisions`) and appends one decision to the ledger. `project` then brings shards and index up to date. `ticks` appends
what time makes due to the inbox, `registry` decodes upstreams that write registry Avro, and a record that no agent can
handle becomes a dead letter (`delivery.dead_letter`).
"""
